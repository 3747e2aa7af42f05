"""Stored answers do not outlive the release that they are answers to."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import AnswersDropped
from ppdm_sql.publishing import publish

KEY = bytes(range(32))
ANSWER = "AS SELECT count(*) AS n FROM t WHERE x > 2"


def table() -> pa.Table:
    return pa.table({"id": range(600), "x": [i % 5 for i in range(600)]})


def policy(retain: float, name: str = "t") -> dict:
    rule = {"mechanism": "uniform", "domain": {"min": 0, "max": 4}, "retain": retain}
    return {"table": name, "identity": ["id"], "columns": {"x": rule}}


def views(path) -> list[str]:
    with duckdb.connect(str(path), read_only=True) as con:
        return [name for (name,) in con.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()]


@pytest.fixture
def release(tmp_path):
    """Two tables with a stored answer each."""
    path = tmp_path / "r.duckdb"
    publish(table(), policy(0.8), to=path, key=KEY)
    publish(table(), policy(0.8, "other"), to=path, key=KEY)
    with ppdm_sql.connect(path) as con:
        con.execute(f"CREATE RECONSTRUCTED VIEW big {ANSWER}")
        con.execute(f"CREATE RECONSTRUCTED VIEW elsewhere {ANSWER.replace('FROM t ', 'FROM other ')}")
    return path


def test_they_go_where_the_release_is_replaced(release):
    with pytest.warns(AnswersDropped, match=r"the view 'big' held an answer to the earlier release of 't'"):
        publish(table(), policy(0.4), to=release, key=KEY, replace=True)
    assert views(release) == ["elsewhere"]
    with ppdm_sql.connect(release) as con:
        con.execute(f"CREATE RECONSTRUCTED VIEW big {ANSWER}")
        stored = con.execute("SELECT n FROM big").fetchone()
        assert stored == con.execute(ANSWER.removeprefix("AS ")).fetchone()


def test_a_further_table_leaves_them(release):
    publish(table(), policy(0.4, "third"), to=release, key=KEY)
    assert sorted(views(release)) == ["big", "elsewhere"]


@pytest.mark.parametrize("change", ["CREATE OR REPLACE PERTURBED TABLE t AS FROM o {clause}", "DROP PERTURBED TABLE t"])
def test_they_go_in_sql_too(change, tmp_path):
    clause = "PERTURB (x UNIFORM RETAIN 0.4 DOMAIN (0 TO 4)) IDENTIFIED BY (id)"
    with ppdm_sql.connect() as con:
        con.execute(f"SET ppdm_key = '{tmp_path / 'a.key'}'")
        con.register("given", table())
        con.execute(f"CREATE TABLE o AS FROM given; CREATE PERTURBED TABLE t AS FROM o {clause}")
        con.execute(f"CREATE RECONSTRUCTED VIEW big {ANSWER}")
        with pytest.warns(AnswersDropped, match="'big'"):
            con.execute(change.format(clause=clause))
        with pytest.raises(duckdb.CatalogException, match="big"):
            con.execute("SELECT n FROM big")
