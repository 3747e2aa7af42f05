"""Statements that hold SQL, names or files as text lead to no perturbed value, and none changes a release."""

from __future__ import annotations

import shutil

import duckdb
import pandas as pd
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.errors import PpdmError
from ppdm_sql.publishing.release import publish

HIDDEN = "query('FROM peo' || 'ple')"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, release):
    folder = tmp_path_factory.mktemp("text")
    shutil.copy(release(0.5), folder / "half.duckdb")
    with duckdb.connect() as raw:
        raw.execute(f"COPY (SELECT 1 AS a) TO '{folder / 'mine.parquet'}'")
    return folder


@pytest.fixture(scope="module")
def con(folder, request):
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    request.addfinalizer(patch.undo)
    with ppdm_sql.connect() as con:
        con.execute("CREATE TABLE mine AS SELECT range AS a FROM range(5)")
        con.execute("ATTACH 'half.duckdb' AS half; USE half")
        yield con


@pytest.mark.parametrize(
    "sql",
    [
        "EXPORT DATABASE 'out'",
        "EXPORT DATABASE half TO 'out' (FORMAT parquet)",
        "export /* x */ database 'out'",
        "IMPORT DATABASE 'out'",
        "COPY FROM DATABASE half TO memory",
        f"PREPARE p AS SELECT max(age) FROM {HIDDEN}",
        "PREPARE p AS SELECT max(age) FROM people",
        "PREPARE p AS FROM query_table($1)",
        "PREPARE p AS FROM read_parquet($1)",
        f"CALL {HIDDEN}",
        "CALL query_table('people')",
        "CALL pragma_storage_info('peo' || 'ple')",
        f"CREATE TYPE memory.main.e AS ENUM (SELECT DISTINCT age::VARCHAR FROM {HIDDEN})",
        f"EXPLAIN ANALYZE CREATE TEMP TABLE t AS FROM {HIDDEN}",
        f"EXPLAIN (ANALYZE, FORMAT json) CREATE TEMP TABLE t AS FROM {HIDDEN}",
        f"EXPLAIN PREPARE p AS FROM {HIDDEN}",
        "EXPLAIN SELECT max(age) FROM people",
        "PRAGMA storage_info('people')",
        "PRAGMA storage_info('peo' || 'ple')",
        "PRAGMA json_execute_serialized_sql(json_serialize_sql('SELECT max(age) FROM peo' || 'ple'))",
        "PRAGMA copy_database(half, memory)",
        "FROM pragma_storage_info('people')",
        "FROM pragma_storage_info('peo' || 'ple')",
        "FROM duckdb_table_sample('people')",
        "SELECT json_serialize_plan('SELECT max(age) FROM people', optimize := true)",
        "SELECT max(age) FROM 'half.duckdb'",
        "SELECT max(age) FROM half.duckdb",
        "SELECT max(age) FROM '*.duckdb'",
        "VACUUM ANALYZE people",
        f"SET VARIABLE v = (SELECT max(age) FROM {HIDDEN})",
    ],
)
def test_a_form_that_cannot_be_read_is_refused(con, sql):
    with pytest.raises(PpdmError):
        con.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP MACRO perturbed.ppdm_manifest_people",
        'DROP MACRO IF EXISTS half."Perturbed"."PPDM_Manifest_People"',
        "DROP FUNCTION perturbed.ppdm_manifest_people",
        "USE perturbed; DROP MACRO ppdm_manifest_people",
        "CREATE OR REPLACE MACRO perturbed.ppdm_manifest_people() AS 'x'",
        "CREATE TEMP MACRO ppdm_manifest_people() AS 'x'",
        "COMMENT ON MACRO perturbed.ppdm_manifest_people IS 'x'",
        "PREPARE p AS DELETE FROM perturbed.people",
        "DELETE FROM people",
        "WITH t AS (SELECT 1) DELETE FROM half.perturbed.people",
        "TRUNCATE perturbed.people",
        "UPDATE people SET age = 1",
        "INSERT INTO perturbed.people SELECT * FROM people",
        "ALTER TABLE perturbed.people RENAME TO gone",
        "CREATE TABLE perturbed.other (a INTEGER)",
        "CREATE VIEW perturbed.other AS SELECT 1",
        "CREATE INDEX i ON people (age)",
        "COMMENT ON TABLE people IS 'x'",
        "COMMENT ON COLUMN people.age IS 'x'",
        "COMMENT ON COLUMN perturbed.people.age IS 'x'",
        "COMMENT ON COLUMN half.main.people.age IS 'x'",
        "COPY people FROM 'x.csv'",
        "EXPLAIN ANALYZE DELETE FROM people",
        "DROP SCHEMA perturbed CASCADE",
        "DROP SCHEMA half.perturbed CASCADE",
        "DROP SCHEMA main CASCADE",
        "DROP SCHEMA half.main CASCADE",
        "DROP TABLE people",
        "ALTER TABLE people RENAME TO gone",
        "CREATE OR REPLACE VIEW people AS SELECT 1 AS age",
    ],
)
def test_no_statement_changes_a_release_or_its_manifest(con, sql):
    before = con.execute("SELECT avg(age) FROM people").fetchall()
    with pytest.raises(PpdmError, match="a release"):
        con.execute(sql)
    assert con.execute("SELECT avg(age) FROM people").fetchall() == before


@pytest.mark.parametrize("write", ["append", "insert_into", "create"])
def test_no_method_writes_into_a_release(con, write):
    frame = pd.DataFrame({"age": [1]})
    with pytest.raises(PpdmError, match="may not name a release"):
        if write == "append":
            con.append("perturbed.people", frame)
        else:
            getattr(con.from_df(frame), write)("perturbed.people")


def test_what_leads_to_no_release_runs(con, folder):
    con.execute("PREPARE p AS SELECT sum(a) FROM memory.mine WHERE a > $1")
    assert con.execute("EXECUTE p(2)").fetchall() == [(7,)]
    con.execute("DEALLOCATE p")
    for sql in (
        "EXPLAIN FROM memory.mine",
        "EXPLAIN (FORMAT json) FROM 'mine.parquet'",
        "CALL pragma_table_info('memory.mine')",
        "PRAGMA table_info('people')",
        "PRAGMA database_size",
        "PRAGMA storage_info('memory.mine')",
        "FROM pragma_storage_info('memory.mine')",
        "CHECKPOINT",
        "SHOW people",
        "SHOW DATABASES",
        "VACUUM",
        "CALL enable_logging()",
        "CALL disable_logging()",
        "SET threads = 2",
        "RESET threads",
        "PIVOT memory.mine ON a USING count(*)",
        "VALUES (1)",
        "CREATE TYPE memory.main.color AS ENUM ('red', 'green')",
        "CREATE TYPE memory.main.number AS ENUM (SELECT a::VARCHAR FROM memory.mine)",
        "DROP TYPE memory.main.color",
        "SELECT perturbed.ppdm_manifest_people()",
    ):
        con.execute(sql).fetchall()


def test_what_was_prepared_is_read_again_when_it_runs(folder, release):
    with duckdb.connect(str(folder / "plain.duckdb")) as raw:
        raw.execute("CREATE TABLE people AS SELECT 1::SMALLINT AS age")
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{folder / 'plain.duckdb'}' AS x; PREPARE p AS SELECT max(age) FROM x.people")
        assert con.execute("EXECUTE p").fetchall() == [(1,)]
        con.execute(f"DETACH x; ATTACH '{release(0.5)}' AS x (READ_ONLY)")
        with pytest.raises(PpdmError, match="EXECUTE reads"):
            con.execute("EXECUTE p")


@pytest.fixture(scope="module")
def parts(folder):
    """Parquet releases: two of different retention, each of 600 rows."""
    for name, retain in (("a", 0.3), ("b", 0.5)):
        publish(people(600), policy(retain), to=folder / f"{name}.parquet", key=write_key(folder, 1))
    return folder


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT max(age) FROM a.parquet",
        'SELECT max(age) FROM "a.parquet"',
        "SELECT max(age) FROM '[a]?parquet'",
        "SELECT max(age) FROM read_parquet(['mine.parquet', 'a.parquet'])",
        "SELECT avg(age) FROM read_parquet(['a.parquet', 'b.parquet'])",
        "SELECT avg(weight) FROM read_parquet('a.parquet', schema = MAP {1: {name: 'weight', type: 'SMALLINT'}})",
        "PREPARE p AS SELECT max(age) FROM 'a.parquet'",
        "PREPARE p AS SELECT max(age) FROM a.parquet",
        "EXPLAIN ANALYZE SELECT max(age) FROM 'a.parquet'",
        "CREATE TYPE e AS ENUM (SELECT DISTINCT age::VARCHAR FROM 'a.parquet')",
        "CALL read_parquet('a.parquet')",
        "CALL parquet_scan('a.par' || 'quet')",
    ],
)
def test_a_file_is_a_release_however_it_is_named(parts, monkeypatch, sql):
    monkeypatch.chdir(parts)
    with ppdm_sql.connect() as con, pytest.raises(PpdmError):
        con.execute(sql)


def test_a_file_without_quotes_is_reconstructed(parts, monkeypatch):
    monkeypatch.chdir(parts)
    sql = "SELECT avg(age) FROM {}"
    with ppdm_sql.connect() as con:
        assert con.sql(sql.format("a.parquet")).fetchall() == con.sql(sql.format("'a.parquet'")).fetchall()


def test_rows_of_a_release_are_not_written_where_they_would_pass_for_true_ones(con, tmp_path):
    rows = con.sql("SELECT age, sex FROM people")
    for write in (rows.write_parquet, rows.to_parquet, rows.write_csv, rows.to_csv):
        with pytest.raises(PpdmError, match="perturbed values for true ones"):
            write(str(tmp_path / "rows"))
    con.sql("SELECT sex, count(*) FROM people WHERE age > 30 GROUP BY sex").write_csv(str(tmp_path / "answer.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["answer.csv"]


def test_an_unknown_kind_of_statement_is_an_error(con):
    with pytest.raises(PpdmError, match="UPDATE"):
        con.execute("UPDATE EXTENSIONS")


def test_a_setting_is_reset_whatever_the_release_is_called(tmp_path):
    called = policy(0.5).replace('table = "people"', 'table = "order"')
    publish(people(500), called, to=tmp_path / "r.duckdb", key=write_key(tmp_path, 1))
    with ppdm_sql.connect(tmp_path / "r.duckdb", read_only=True) as con:
        con.execute("SET default_order = 'DESC'; RESET default_order; RESET SESSION default_null_order")
        rows = con.execute('SELECT id FROM "order" ORDER BY id LIMIT 2').fetchall()
        assert rows == sorted(rows)
