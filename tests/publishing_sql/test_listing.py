"""SHOW PERTURBED TABLES and DESCRIBE PERTURBED."""

from __future__ import annotations

import math

import pytest

import ppdm_sql
from ppdm_sql.errors import QueryError

from .conftest import BY_ID, CLAUSE, ROWS


def test_nothing_to_show(bare):
    found = bare.sql("SHOW PERTURBED TABLES")
    assert found.fetchall() == []
    assert found.columns == ["table", "rows", "perturbed", "kind", "database", "schema"]
    assert [str(kind) for kind in found.types][:2] == ["VARCHAR", "BIGINT"]


def test_show(con, key, tmp_path):
    con.execute(f"CREATE PERTURBED TABLE Adult_P AS FROM adult {BY_ID}; CREATE PERTURBED VIEW v AS FROM adult {BY_ID}")
    assert con.execute("show perturbed tables").fetchall() == [
        ("Adult_P", ROWS, "age", "table", "memory", "main"),
        ("v", ROWS, "age", "view", "memory", "main"),
    ]
    path = tmp_path / "p.parquet"
    con.execute(f"CREATE PERTURBED TABLE p TO '{path}' AS SELECT id, age, ssn FROM adult {BY_ID}")
    with ppdm_sql.connect(path) as other:
        assert other.sql("SHOW PERTURBED TABLES").fetchall() == [("p", ROWS, "age", "file", "memory", "main")]


def test_describe(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {CLAUSE}")
    found = con.sql("DESCRIBE PERTURBED P")
    assert found.columns == (
        ["column", "type", "mechanism", "domain", "size", "retention", "gamma", "epsilon", "nulls", "outside", "clause"]
    )
    rows = {row[0]: row[1:] for row in found.fetchall()}
    assert rows["id"] == ("BIGINT", "exact", *[None] * 8)
    assert rows["age"][:5] == ("INTEGER", "uniform", "17 to 90", 74, 0.5)
    assert rows["age"][5:7] == (75.0, math.log(75))
    assert rows["age"][7:] == ("error", "error", "age UNIFORM RETAIN 0.5 DOMAIN (17 TO 90)")
    assert rows["wage"][2:4] == ("0 to 50 by 0.25", 201)
    assert rows["pay"][2:4] == ("0 to 99.99 by 0.01", 10_000)
    assert rows["pay"][6] == pytest.approx(2.2)
    assert rows["job"][2:4] == ("01, 02, 03, it's", 4)
    assert rows["job"][5] == pytest.approx(9)
    assert rows["married"][2:4] == ("true, false, or NULL", 3)
    assert rows["married"][7] == "value"
    assert rows["born"][2:4] == ("1950-01-01 to 1950-12-31", 365)
    assert rows["seen"][2:4] == ("2020-01-01T00:00:00 to 2020-01-31T00:00:00 by 1 hour", 721)
    assert rows["huge"][2:4] == ("-5 to 99", 105)
    assert "ssn" not in rows


def test_describe_what_protects_nothing_and_what_is_long(con):
    values = ", ".join(str(i) for i in range(100))
    con.execute(f"CREATE PERTURBED TABLE p AS SELECT kind FROM adult PERTURB (kind UNIFORM RETAIN 1 DOMAIN ({values}))")
    row = con.sql("DESCRIBE PERTURBED memory.main.p").fetchall()[0]
    assert row[3:8] == ("0, 1, 2, 3, 4, 5, 6, 7, ..", 100, 1.0, math.inf, math.inf)


def test_describe_what_is_no_release(con):
    con.execute(f"CREATE PERTURBED TABLE adult_public AS FROM adult {BY_ID}")
    with pytest.raises(QueryError, match=r"there is no release 'adult_publik'\. Did you mean 'adult_public'"):
        con.execute("DESCRIBE PERTURBED adult_publik")
    with pytest.raises(QueryError, match=r"there is no release 's\.adult_public'"):
        con.execute("DESCRIBE PERTURBED s.adult_public")


def test_explain_runs_nothing(con):
    said = con.explain(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    assert "CREATE PERTURBED TABLE p" in said
    assert con.sql("SHOW PERTURBED TABLES").fetchall() == []
    with pytest.raises(QueryError):
        con.executemany(f"CREATE PERTURBED TABLE p AS FROM adult WHERE kind = ? {BY_ID}", [[1], [2]])


def test_a_script(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}; SELECT 1; DROP PERTURBED TABLE p; SELECT 42 AS a")
    assert con.fetchall() == [(42,)]
    assert con.sql("SHOW PERTURBED TABLES").fetchall() == []
