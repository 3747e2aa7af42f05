"""Infinities and NaN in exact columns and in expressions: answered as DuckDB does at retention 1, or refused."""

from __future__ import annotations

import duckdb
import pytest
from answers_compared import same
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import Unsupported
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


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT median(x), quantile_disc(x, 0.9) FROM t WHERE age > 2 AND isfinite(x)",
        "SELECT k, quantile_disc(x, 0.9) FILTER (isfinite(x)) FROM t WHERE age > 2 GROUP BY k",
        "SELECT median(CASE WHEN isfinite(x) THEN x END) FROM t WHERE age > 2",
        "SELECT median(10 / age) FROM t WHERE age > 0",
        "SELECT median(10 / nullif(age, 0)), median(age) FROM t",
    ],
)
def test_quantiles_of_what_is_finite(both, sql):
    original, con = both
    assert same(con.execute(sql).fetchall(), original.execute(sql).fetchall())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT median(x) FROM t WHERE age > 2",
        "SELECT k, quantile_disc(x, 0.99) FROM t WHERE age > 2 GROUP BY k",
        "SELECT median(x) FROM t WHERE age > 2 AND isnan(x)",
        "SELECT median(10 / age) FROM t",
        "SELECT quantile_disc(CASE WHEN age = 3 THEN 'nan'::DOUBLE ELSE age END, 0.9) FROM t",
    ],
)
def test_quantiles_leave_no_value_out_in_silence(both, sql):
    with pytest.raises(Unsupported, match="infinite or no number"):
        both[1].execute(sql)
