"""CREATE RECONSTRUCTED VIEW: answers stored in the release, read by any DuckDB client."""

from __future__ import annotations

import shutil
import subprocess
import sys

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import PpdmError, Unsupported

QUERY = "SELECT sex, count(*) AS n, ppdm_error(count(*)) AS e FROM people WHERE age > 40 AND hours > 30 GROUP BY sex"


@pytest.fixture
def path(release, tmp_path):
    copy = tmp_path / "people.duckdb"
    shutil.copy(release(0.5), copy)
    return copy


def test_a_stock_client_reads_the_estimates(path):
    with ppdm_sql.connect(path) as con:
        expected = sorted(con.execute(QUERY).fetchall())
        con.execute(f'CREATE RECONSTRUCTED VIEW "older people" AS {QUERY};')
        assert sorted(con.execute('SELECT * FROM "older people"').fetchall()) == expected
        assert con.execute('SELECT max(n) FROM "older people"').fetchone() == (max(row[1] for row in expected),)
    code = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1], read_only=True); "
        "print(sorted(con.execute('SELECT * FROM \"older people\"').fetchall())); con.close(); "
        "print('ppdm_sql' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [str(expected), "False"]


def test_it_can_be_replaced_and_dropped(path):
    with ppdm_sql.connect(path) as con:
        con.execute("CREATE RECONSTRUCTED VIEW v AS SELECT count(*) AS n FROM people WHERE age > ?", [40])
        first = con.execute("FROM v").fetchall()
        with pytest.raises(duckdb.Error, match="already exists"):
            con.execute("CREATE RECONSTRUCTED VIEW v AS SELECT count(*) AS n FROM people WHERE age > 60")
        con.execute("create or replace reconstructed view main.v as SELECT count(*) AS n FROM people WHERE age > 60")
        assert con.execute("FROM v").fetchall() < first
        con.execute("DROP VIEW v")
        with pytest.raises(duckdb.Error):
            con.execute("FROM v")


def test_what_cannot_be_one_statement_is_refused_and_nothing_is_stored(path):
    with ppdm_sql.connect(path) as con:
        for query in ("SELECT max(age) FROM people", "SELECT age, count(*) FROM people GROUP BY age", "SELECT 1"):
            with pytest.raises(PpdmError):
                con.execute(f"CREATE RECONSTRUCTED VIEW v AS {query}")
        assert con._con.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'v'").fetchall() == [(0,)]


def test_a_compiled_answer_is_not_reconstructed_twice(path):
    with ppdm_sql.connect(path) as con:
        text = con.compile(QUERY)
        with pytest.raises(Unsupported, match="reconstructed twice"):
            con.execute(text)
        con._con.execute(f"CREATE VIEW pasted AS {text}")
        con.execute("CREATE TEMP TABLE other (a INTEGER)")
        with pytest.raises(Unsupported, match="reconstructed twice"):
            con.execute("SELECT * FROM pasted")


CHANGING = [
    "age < getvariable('bound')",
    "age > 20 AND NOT age < (SELECT max(bound) FROM bounds)",
    "age IN (SELECT bound FROM bounds)",
    "birth < current_date - INTERVAL 40 YEAR",
    "seen < now() OR married",
    "extract(year FROM age(birth)) > 40",
]


@pytest.mark.parametrize("condition", CHANGING)
def test_what_may_mean_something_else_later_is_not_stored(condition, path):
    with ppdm_sql.connect(path) as con:
        con.execute("SET VARIABLE bound = 30; CREATE TABLE bounds AS SELECT 30 AS bound")
        query = f"SELECT count(*) AS n FROM people WHERE {condition}"
        with pytest.raises(Unsupported, match="may have another value when the statement runs later"):
            con.execute(f"CREATE RECONSTRUCTED VIEW v AS {query}")
        with pytest.raises(Unsupported, match="may have another value when the statement runs later"):
            con.compile(query)
        assert con.execute(query).fetchone() is not None


def test_exact_columns_may_be_compared_with_what_changes(path):
    with ppdm_sql.connect(path) as con:
        con.execute("SET VARIABLE sex = 'F'")
        query = "SELECT count(*) AS n FROM people WHERE married AND sex = getvariable('sex')"
        con.execute(f"CREATE RECONSTRUCTED VIEW v AS {query}")
        con.execute("SET VARIABLE sex = 'M'")
        assert con.execute("FROM v").fetchall() == con.execute(query).fetchall()


@pytest.mark.parametrize("condition", CHANGING[:3])
def test_a_relation_keeps_the_answer_of_its_making(condition, path):
    with ppdm_sql.connect(path) as con:
        con.execute("SET VARIABLE bound = 30; CREATE TABLE bounds AS SELECT 30 AS bound")
        query = f"SELECT count(*) AS n FROM people WHERE {condition}"
        expected = con.execute(query).fetchall()
        made = con.sql(query)
        con.execute("SET VARIABLE bound = 60; UPDATE bounds SET bound = 60")
        assert made.fetchall() == expected


@pytest.mark.parametrize("name", ["people", "main.People", '"PEOPLE"'])
@pytest.mark.parametrize("create", ["CREATE", "CREATE OR REPLACE"])
def test_an_answer_does_not_take_the_name_of_its_release(create, name, path):
    with ppdm_sql.connect(path) as con:
        with pytest.raises(PpdmError, match="is the release itself"):
            con.execute(f"{create} RECONSTRUCTED VIEW {name} AS {QUERY}")
        assert con._con.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
