"""Long lists of constants are answered as DuckDB does at retention 1, however their numbers are written."""

from __future__ import annotations

import duckdb
import pytest
from answers_compared import same
from keys import write_key

import ppdm_sql
from ppdm_sql.publishing.release import publish

ROWS = """SELECT i AS id, (i * i * 7 % 1009 - 500)::INTEGER AS w, (i * 3 % 700 / 2)::DOUBLE AS x, i % 3 AS k,
    CASE WHEN i % 7 <> 2 THEN (i * 11 % 900)::INTEGER END AS m FROM range(2000) AS t(i)"""
POLICY = {
    "table": "t",
    "identity": ["id"],
    "columns": {
        "w": {"mechanism": "uniform", "domain": {"min": -500, "max": 600}, "retain": 1},
        "x": {"mechanism": "uniform", "domain": {"min": 0, "max": 350, "step": 0.5}, "retain": 1},
        "m": {"mechanism": "uniform", "domain": {"min": 0, "max": 899}, "retain": 1, "nulls": "value"},
    },
}
EVEN = ", ".join(str(2 * i - 450) for i in range(400))
WRITTEN = ",\n".join(f"{'+' if i % 2 else ' - '}{i * 3}" for i in range(150))
HALVES = ", ".join(f"{i}.50" if i % 2 else f"{i}e0" for i in range(300))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The original and its release."""
    folder = tmp_path_factory.mktemp("lists")
    with duckdb.connect() as original:
        original.execute(f"CREATE TABLE t AS {ROWS}")
        publish(original.table("t"), POLICY, to=folder / "r.duckdb", key=write_key(folder, 1))
        with ppdm_sql.connect(folder / "r.duckdb", read_only=True) as con:
            yield original, con


@pytest.mark.parametrize("listed", [EVEN, WRITTEN, HALVES, f"{EVEN}, NULL", f"{EVEN}, {10**20}", f"{EVEN}, {EVEN}"])
@pytest.mark.parametrize("column", ["w", "x", "m"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), sum(k) FROM t WHERE {column} IN ({listed})",
        "SELECT k, count(*) FILTER (WHERE {column} NOT IN ({listed})) FROM t GROUP BY k ORDER BY k",
        "SELECT count(*) FROM t WHERE {column} IN ({listed}) OR w > 400 AND NOT id IN ({listed})",
        "SELECT count_if(({column}) IN ({listed})), count_if({column} + 1 IN ({listed})) FROM t WHERE m < 800",
        "SELECT sum(CASE WHEN {column} IN ({listed}) THEN 2 ELSE -1 END) FROM t",
        "SELECT {column} IN ({listed}) AS g, count(*) FROM t GROUP BY g ORDER BY g NULLS LAST",
        "SELECT count(*) FROM (SELECT {column} AS v FROM t) WHERE v IN ({listed})",
    ],
)
def test_as_duckdb(both, sql, column, listed):
    original, con = both
    asked = sql.format(column=column, listed=listed)
    assert same(con.execute(asked).fetchall(), original.execute(asked).fetchall())
