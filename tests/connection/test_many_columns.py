"""Conditions on very many perturbed columns at once: intervals that are as wide as they must be, or a refusal."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import Unsupported
from ppdm_sql.publishing.release import publish

ROWS, COLUMNS, SIZE = 300, 50, 10_000


def wide(folder, retain):
    """A release of many columns, almost all of whose values are above 3; and how many rows have only such."""
    rng = np.random.default_rng(3)
    values = {f"c{i}": rng.integers(0, SIZE, ROWS) for i in range(COLUMNS)}
    column = {"mechanism": "uniform", "domain": {"min": 0, "max": SIZE - 1}, "retain": retain}
    policy = {"table": "wide", "identity": ["id"], "columns": dict.fromkeys(values, column)}
    table = pa.table({"id": range(ROWS), **values})
    publish(table, policy, to=folder / "wide.duckdb", key=write_key(folder, 1), progress=False)
    above = np.logical_and.reduce([each > 3 for each in values.values()])
    return folder / "wide.duckdb", int(above.sum())


def all_of(columns):
    return " AND ".join(f"c{i} > 3" for i in range(columns))


def test_intervals_do_not_collapse_where_weights_are_small(tmp_path):
    path, truth = wide(tmp_path, 0.3)
    with ppdm_sql.connect(path) as con:
        con.execute("SET ppdm_errors = 'columns'")
        for columns in (20, 30, 44, COLUMNS):
            estimate, low, high = con.execute(f"SELECT count(*) FROM wide WHERE {all_of(columns)}").fetchone()
            assert low < estimate - 5 < estimate + 5 < high
        assert low < truth < high


def test_what_no_number_can_hold_is_refused(tmp_path):
    path, _ = wide(tmp_path, 0.001)
    with ppdm_sql.connect(path) as con:
        assert con.execute(f"SELECT count(*) FROM wide WHERE {all_of(20)}").fetchone()
        with pytest.raises(Unsupported, match=r"50 perturbed columns at once \(c0, c1, c10, c11, c12 and 45 more\)"):
            con.execute(f"SELECT count(*) FROM wide WHERE {all_of(COLUMNS)}")
