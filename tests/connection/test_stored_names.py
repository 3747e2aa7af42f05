"""Rows are stored as perturbed.people: stock clients are told so, and our connection shows people."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import ReleaseError, TargetError, Unsupported
from ppdm_sql.publishing import publish

CLIENTS = Path(__file__).parents[3] / "shared" / "clients" / "catalog_statements.yaml"
QUERY = "SELECT count(*) FROM {} WHERE age > 40"


@pytest.fixture
def path(release, tmp_path):
    copy = tmp_path / "half.duckdb"
    shutil.copy(release(0.5), copy)
    return copy


@pytest.fixture(scope="module")
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        yield con


@pytest.fixture(scope="module")
def database(con):
    return f'"{con.execute("SELECT current_database()").fetchone()[0]}"'


def test_a_stock_client_gets_no_number_without_a_word(path):
    with duckdb.connect(str(path), read_only=True) as stock:
        for name in ("people", "main.people", "half.people"):
            with pytest.raises(duckdb.CatalogException, match=r'Did you mean "perturbed.people"'):
                stock.execute(QUERY.format(name))
        assert stock.execute("SHOW TABLES").fetchall() == []
        listed = stock.execute("SELECT schema, name FROM (SHOW ALL TABLES)").fetchall()
        assert listed == [("perturbed", "people")]  # and no manifest
        listed = stock.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
        assert listed == [("perturbed", "people")]
    with duckdb.connect() as stock:
        stock.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
        with pytest.raises(duckdb.CatalogException, match=r'Did you mean "r.perturbed.people"'):
            stock.execute(QUERY.format("r.people"))


def test_comments_say_what_is_perturbed_and_how_to_ask(path):
    with duckdb.connect(str(path), read_only=True) as stock:
        [(table,)] = stock.execute("SELECT comment FROM duckdb_tables()").fetchall()
        columns = dict(stock.execute("SELECT column_name, comment FROM duckdb_columns() WHERE NOT internal").fetchall())
    assert "age (0.5 kept)" in table and "Exact: id" in table
    assert "is wrong" in table and "ppdm_sql.connect(FILE)" in table and "ppdm-sql query FILE" in table
    assert (
        columns["age"].startswith("Perturbed (uniform: 0.5 kept; domain: 17 to 90).") and "ppdm-sql" in columns["age"]
    )
    assert columns["id"] == "Exact: as in the original."
    assert all(columns.values())


def test_every_name_of_a_release_is_answered_alike(con, database, path):
    expected = con.execute(QUERY.format("people")).fetchall()
    for name in ("main.people", f"{database}.people", f"{database}.main.people", "PEOPLE", "perturbed.people"):
        assert con.execute(QUERY.format(name)).fetchall() == expected
    assert con.execute(QUERY.format(f"{database}.perturbed.people")).fetchall() == expected
    assert con.execute("SELECT count(*) FROM main.people WHERE main.people.age > 40").fetchall() == expected
    assert con.execute("WITH t AS (FROM people) SELECT count(*) FROM t WHERE age > 40").fetchall() == expected
    with ppdm_sql.connect() as other:
        other.execute(f"ATTACH '{path}' AS r")
        for name in ("r.people", "r.main.people", "r.perturbed.people", "people"):
            assert other.execute(QUERY.format(name)).fetchall() == expected
        other.execute("USE r.perturbed")
        assert other.execute(QUERY.format("people")).fetchall() == expected
        assert other.execute("SHOW TABLES").fetchall() == [("people",)]


def test_rows_and_descriptions(con):
    assert len(con.execute("SELECT id, age FROM people LIMIT 3").fetchall()) == 3
    expected = con.execute("DESCRIBE people").fetchall()
    assert [row[:2] for row in expected][:1] == [("id", "BIGINT")]
    for sql in (
        "DESCRIBE main.people",
        "SHOW people",
        "DESCRIBE FROM people",
        "DESCRIBE perturbed.people",
        "SHOW perturbed.people",
    ):
        assert con.execute(sql).fetchall() == expected
    info = con.execute("PRAGMA table_info('people')").fetchall()
    assert [row[1] for row in info] == [row[0] for row in expected]
    assert con.execute("FROM pragma_table_info('main.people')").fetchall() == info
    assert con.execute("CALL pragma_table_info('people')").fetchall() == info
    assert len(con.execute("DESCRIBE SELECT age + ? FROM people", [1]).fetchall()) == 1


def test_describe_tells_the_types_of_the_answer(con):
    for sql in (
        "SELECT sex, count(*) AS n, count(*) FILTER (WHERE age > 30) AS m FROM people GROUP BY sex",
        "SELECT age, count(*) FROM people GROUP BY age",
        "WITH a AS (SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY sex) SELECT sum(n), max(n) FROM a",
        "SELECT id, age FROM people LIMIT 3",
    ):
        con.execute(sql)
        expected = [(column[0], str(column[1])) for column in con.description]
        con.fetchall()
        assert [row[:2] for row in con.execute(f"DESCRIBE {sql}").fetchall()] == expected
        if "LIMIT" not in sql:  # rows are not handed on
            assert [row[:2] for row in con.execute(f"FROM (DESCRIBE {sql})").fetchall()] == expected
    with pytest.raises(Unsupported, match="cannot be reconstructed"):
        con.execute("DESCRIBE SELECT max(age) FROM people")


def test_schemas_are_made_and_dropped(path):
    with ppdm_sql.connect(path) as con:
        con.execute("CREATE SCHEMA s")
        con.execute("CREATE SCHEMA IF NOT EXISTS s")
        con.execute("CREATE TABLE s.t AS SELECT 1 AS a")
        assert con.execute("FROM s.t").fetchall() == [(1,)]
        con.execute("DROP SCHEMA s CASCADE")
        with pytest.raises(duckdb.Error):
            con.execute("FROM s.t")


LISTINGS = (
    "SHOW TABLES",
    "SHOW TABLES FROM main",
    "PRAGMA show_tables",
    "SELECT name FROM sqlite_master WHERE type = 'table'",
    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main'",
    "SELECT information_schema.tables.table_name FROM information_schema.tables WHERE table_type = 'BASE TABLE'",
    "SELECT DISTINCT table_name FROM information_schema.columns WHERE table_schema NOT IN ('information_schema')",
    "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'main'",
    "SELECT t.table_name FROM duckdb_tables t WHERE NOT internal",
    "SELECT DISTINCT table_name FROM system.main.duckdb_columns() WHERE NOT internal AND schema_name = 'main'",
    "SELECT tablename FROM pg_tables WHERE schemaname = 'main'",
    "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE c.relkind = 'r' AND n.nspname = 'main'",
    "SELECT DISTINCT c.relname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE attname = 'married'",
)


@pytest.mark.parametrize("sql", LISTINGS)
def test_our_connection_lists_it_in_main(con, sql):
    assert con.execute(sql).fetchall() == [("people",)]
    assert con.sql(sql).fetchall() == [("people",)]


def test_neither_the_schema_nor_the_manifest_is_listed(con, database):
    listed = con.execute("SHOW ALL TABLES").fetchall()
    assert [row[:3] for row in listed] == [(database.strip('"'), "main", "people")]
    for sql in (
        "SELECT schema_name FROM information_schema.schemata",
        "SELECT nspname FROM pg_namespace",
        "SELECT function_name FROM duckdb_functions()",
        "SELECT proname FROM pg_proc",
    ):
        names = [name for (name,) in con.execute(sql).fetchall()]
        assert names and not any("perturbed" in name or "ppdm" in name for name in names)
    table = "SELECT table_name FROM information_schema.tables WHERE table_schema = ?"
    assert con.execute(table, ["main"]).fetchall() == [("people",)]
    assert con.execute(table, ["perturbed"]).fetchall() == []


@pytest.mark.skipif(not CLIENTS.exists(), reason="what clients send is not here")
def test_statements_of_clients_run_as_in_duckdb(con, path):
    """Every catalog statement that DuckDB runs, ours runs, with as many columns."""
    texts = CLIENTS.read_text().split("\n- suite: ")[1:]
    statements = [" ".join(text.split("sql:", 1)[1].replace(">-", "").split()) for text in texts if "sql:" in text]
    ran = 0
    with duckdb.connect(str(path), read_only=True) as stock:
        for sql in statements:
            try:
                expected = stock.execute(sql).description
            except duckdb.Error:
                continue
            assert con.execute(sql).description == expected
            ran += 1
    assert ran > 20


def test_reconstructed_views_are_in_main(path):
    with ppdm_sql.connect(path) as con:
        con.execute(f"CREATE RECONSTRUCTED VIEW v AS {QUERY.format('people')}")
        expected = con.execute(QUERY.format("people")).fetchall()
        assert con.execute("SHOW TABLES").fetchall() == [("people",), ("v",)]
    for name in ("half", "renamed"):
        path = path.rename(path.with_name(f"{name}.duckdb"))
        with duckdb.connect(str(path), read_only=True) as stock:
            assert stock.execute("FROM v").fetchall() == expected
            assert stock.execute("SHOW TABLES").fetchall() == [("v",)]
    with duckdb.connect() as stock:
        stock.execute(f"ATTACH '{path}' AS r (READ_ONLY)")
        assert stock.execute("FROM r.main.v").fetchall() == expected


def test_a_file_called_perturbed(path):
    path = path.rename(path.with_name("perturbed.duckdb"))
    with ppdm_sql.connect(path, read_only=True) as con:
        assert con.execute("SHOW TABLES").fetchall() == [("people",)]
        expected = con.execute(QUERY.format("people")).fetchall()
        assert con.execute(QUERY.format("perturbed.people")).fetchall() == expected
        assert len(con.execute("SELECT age FROM people LIMIT 2").fetchall()) == 2


def test_what_another_engine_is_given_names_no_schema(con):
    query = "SELECT count(*) AS n FROM people WHERE age > 40"
    assert "perturbed" not in con.compile(query, dialect="spark")
    assert '"perturbed".people' in con.compile(query)


def test_releases_of_the_older_layout_are_refused(tmp_path):
    old = tmp_path / "old.duckdb"
    with duckdb.connect(str(old)) as raw:
        raw.execute(
            "CREATE TABLE people AS SELECT 1 AS age; CREATE TABLE ppdm_manifest (table_name VARCHAR, manifest VARCHAR)"
        )
    with ppdm_sql.connect(old) as con, pytest.raises(ReleaseError, match=r"older version.*Publish it again"):
        con.execute("SELECT count(*) FROM people")
    with pytest.raises(TargetError, match=r"older version.*Publish it again"):
        publish(pa.table({"age": [1]}), {"table": "t", "columns": {}}, to=old, key=bytes(32))
