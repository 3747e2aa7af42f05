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


ALIKE, KINDS = 2_000, 120


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Releases of rows that are all the same, a tenth or half of whose values are redrawn."""
    folder = tmp_path_factory.mktemp("alike")
    table = pa.table({"id": range(ALIKE), **{f"c{i}": [4] * ALIKE for i in range(KINDS)}})
    for retain in (0.9, 0.5):
        column = {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": retain}
        policy = {"table": "w", "identity": ["id"], "columns": {f"c{i}": column for i in range(KINDS)}}
        publish(table, policy, to=folder / f"{retain}.duckdb", key=write_key(folder, 1), progress=False)
    return folder


@pytest.mark.parametrize(("retain", "columns"), [(0.9, 100), (0.9, KINDS), (0.5, 12), (0.5, 40), (0.5, KINDS)])
def test_conditions_that_hardly_any_row_would_show_are_refused(alike, retain, columns):
    where = " AND ".join(f"c{i} = 4" for i in range(columns))
    for asked in ("count(*)", "sum(c0)", "count(*) FILTER (WHERE c0 = 4)"):
        with (
            ppdm_sql.connect(alike / f"{retain}.duckdb") as con,
            pytest.raises(Unsupported, match=f"{columns} perturbed columns at once .* would be expected to show it"),
        ):
            con.execute(f"SELECT {asked} FROM w WHERE {where}")


@pytest.mark.parametrize(("retain", "columns"), [(0.9, 40), (0.9, 60), (0.5, 6), (0.5, 8)])
def test_as_many_as_rows_still_show_are_answered(alike, retain, columns):
    where = " AND ".join(f"c{i} = 4" for i in range(columns))
    with ppdm_sql.connect(alike / f"{retain}.duckdb") as con:
        con.execute("SET ppdm_errors = 'columns'")
        _, low, high = con.execute(f"SELECT count(*) FROM w WHERE {where}").fetchone()
        assert low < ALIKE < high
        either = " OR ".join(f"c{i} = 4" for i in range(20))  # nearly every row shows that it meets one of them
        _, low, high = con.execute(f"SELECT count(*) FROM w WHERE {either}").fetchone()
        assert low <= ALIKE <= high
