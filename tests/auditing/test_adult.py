"""What the audit finds in real data: UCI Adult, where a number stands for the education, and 40 hours for a week."""

from __future__ import annotations

from pathlib import Path

import pytest

from ppdm_sql.auditing import audit

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.parquet"
SCHOOLS = (
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm Bachelors Masters "
    "Prof-school Doctorate"
)
POLICY = {
    "table": "adult",
    "columns": {
        "education": {"mechanism": "uniform", "domain": {"values": SCHOOLS.split()}, "retain": 0.3},
        "hours_per_week": {"mechanism": "uniform", "domain": {"min": 1, "max": 99}, "retain": 0.3},
        "age": {"mechanism": "uniform", "domain": {"min": 17, "max": 90}, "retain": 0.3},
    },
}


@pytest.mark.skipif(not ADULT.exists(), reason="the Adult data is not beside this project (../shared/data)")
def test_adult():
    found = audit(ADULT, POLICY)
    assert [(heap.column, heap.words) for heap in found.heaps] == [("hours_per_week", "the value 40")]
    assert found.heaps[0].prior == pytest.approx(0.467, abs=0.001)
    determined = [(each.column, each.by) for each in found.dependences if each.determined]
    assert determined == [("education", ("education_num",))]
    assert "age" not in {heap.column for heap in found.heaps}
    assert found.uniqueness.identifying == ()
    assert found.uniqueness.unique > 20_000
