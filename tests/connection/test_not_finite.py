"""Infinities and NaN in exact columns and in expressions: answered as DuckDB does at retention 1, or refused."""

from __future__ import annotations

import duckdb
import pytest
from answers_compared import same
from keys import write_key

import ppdm_sql
from ppdm_sql.publishing.release import publish

ROWS = """SELECT i AS id, (i * i % 17 % 10)::INTEGER AS age, i % 3 AS k, CASE WHEN i % 20 = 7 THEN 'nan'::DOUBLE
    WHEN i % 20 = 9 THEN '-inf'::DOUBLE WHEN i % 20 = 11 THEN 'inf'::DOUBLE WHEN i % 9 <> 4 THEN i / 8 END AS x
    FROM range(200) AS t(i)"""
POLICY = {
    "table": "t",
    "identity": ["id"],
    "columns": {"age": {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": 1}},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The original and its release."""
    folder = tmp_path_factory.mktemp("finite")
    with duckdb.connect() as original:
        original.execute(f"CREATE TABLE t AS {ROWS}")
        publish(original.table("t"), POLICY, to=folder / "r.duckdb", key=write_key(folder, 1))
        with ppdm_sql.connect(folder / "r.duckdb", read_only=True) as con:
            yield original, con


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT var_pop(x), stddev(x), corr(x, id) FROM t WHERE age > 2 AND isfinite(x)",
        "SELECT var_samp(x) FILTER (isfinite(x)), corr(age, x) FILTER (isfinite(x)) FROM t WHERE age > 2",
        "SELECT k, covar_pop(age, x) FROM t WHERE isfinite(x) GROUP BY k",
        "SELECT var_pop(x) FROM t WHERE age > 2 AND x IS NULL",
    ],
)
def test_spreads_of_what_is_finite_do_not_depend_on_the_rest(both, sql):
    original, con = both
    assert same(con.execute(sql).fetchall(), original.execute(sql).fetchall())
