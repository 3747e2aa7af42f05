"""attack says of a column with Gaussian noise what the best linear guess is left with."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ppdm_sql
from ppdm_sql.cli.main import main


def test_the_linear_attack_is_told(tmp_path, capsys):
    rng = np.random.default_rng(3)
    table = pa.table({"id": np.arange(500), "age": rng.integers(18, 70, 500), "pay": rng.normal(3000, 500, 500)})
    pq.write_table(table, tmp_path / "t.parquet")
    policy = {
        "table": "t",
        "identity": ["id"],
        "columns": {
            "age": {"mechanism": "uniform", "domain": {"min": 18, "max": 69}, "retain": 0.5},
            "pay": {"mechanism": "gaussian", "noise": 1, "deviation": 500, "step": 1},
        },
    }
    ppdm_sql.publish(table, policy, to=tmp_path / "r.parquet", key=bytes(32))
    assert main(["attack", str(tmp_path / "r.parquet"), "--source", str(tmp_path / "t.parquet")]) == 0
    told = capsys.readouterr().out
    name, alone, error, expected, _ = next(line for line in told.splitlines() if line.startswith("pay")).split("|")
    assert name.strip() == "pay" and "left out" not in told
    assert float(error) ** 2 / float(alone) ** 2 == pytest.approx(0.5, abs=0.08)
    assert float(expected) == pytest.approx(float(error), rel=0.1)
