"""GROUPING SETS on a release: each set's groups are those of a query that groups by it alone, errors included."""

from __future__ import annotations

import pytest

import ppdm_sql

BOUNDS = "count(*), ppdm_low(count(*)), ppdm_error(avg(hours))"
GROUPINGS = [
    ("ROLLUP (sex, region)", ["sex, region", "sex, NULL", "NULL, NULL"]),
    ("GROUPING SETS ((region), (sex))", ["NULL, region", "sex, NULL"]),
    ("CUBE (sex, region)", ["sex, region", "sex, NULL", "NULL, region", "NULL, NULL"]),
]


@pytest.fixture(scope="module")
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        yield con


@pytest.mark.parametrize(("together", "alone"), GROUPINGS)
def test_sets_of_exact_columns(con, together, alone):
    where = "FROM people WHERE age > 30 GROUP BY"
    rows = con.execute(f"SELECT sex, region, {BOUNDS} {where} {together}").fetchall()
    single = []
    for keys in alone:
        by = ", ".join(key for key in keys.split(", ") if key != "NULL") or "()"
        single += con.execute(f"SELECT {keys}, {BOUNDS} {where} {by}").fetchall()
    assert sorted(rows, key=repr) == sorted(single, key=repr)


def test_sets_of_perturbed_columns(con):
    rows = con.execute(
        f"SELECT married, grade, {BOUNDS} FROM people GROUP BY GROUPING SETS ((married), (grade), ())"
    ).fetchall()
    single = con.execute(f"SELECT married, NULL, {BOUNDS} FROM people GROUP BY married").fetchall()
    single += con.execute(f"SELECT NULL, grade, {BOUNDS} FROM people GROUP BY grade").fetchall()
    single += con.execute(f"SELECT NULL, NULL, {BOUNDS} FROM people").fetchall()
    assert len(rows) == 2 + 3 + 1
    for row, other in zip(sorted(rows, key=repr), sorted(single, key=repr), strict=True):
        assert row[:2] == other[:2]
        assert row[2:] == pytest.approx(other[2:])


def test_groupings_of_columns_in_parentheses_are_one_grouping(con):
    rows = con.execute("SELECT sex, region, count(*) FROM people WHERE age > 30 GROUP BY (sex, region)").fetchall()
    same = con.execute("SELECT sex, region, count(*) FROM people WHERE age > 30 GROUP BY sex, region").fetchall()
    assert sorted(rows, key=repr) == sorted(same, key=repr)
