"""A locked connection answers every query on its release, and SQL finds no way out of it."""

from __future__ import annotations

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.errors import Locked, PpdmError, ReleaseError, Unsupported
from ppdm_sql.publishing.release import publish

ANSWERS = [
    "SELECT count(*) FROM people WHERE age > 30 AND married",
    "SELECT id % 1000 AS g, count(*) FROM people WHERE age > 30 GROUP BY g ORDER BY g",
    "SELECT age, count(*), ppdm_low(count(*)) FROM people GROUP BY age ORDER BY age",
    "SELECT quantile_cont(hours, 0.5), avg(age) FROM people WHERE sex = 'F'",
    "SELECT sex, avg(p.age) FROM people AS p JOIN (SELECT 'F' AS sex) USING (sex) GROUP BY sex",
    "WITH old AS (SELECT age, hours FROM people WHERE age > 50) SELECT count(*), avg(hours) FROM old",
    "SELECT id, age FROM people WHERE id = 20",
    "SELECT count(*) FROM people",
    "FROM range(3)",
    "DESCRIBE people",
    "FROM (SHOW TABLES) WHERE name = 'people'",
    "SELECT table_name FROM information_schema.tables WHERE table_name = 'people'",
    "PIVOT (FROM range(3)) ON range USING count(*)",
    "EXPLAIN SELECT 1",
    "SELECT repeat('x', 5), lpad('1', 3, '0'), [x + 1 FOR x IN range(4)], current_date > DATE '2020-01-01'",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    key = write_key(folder, 1)
    for name in ("r.duckdb", "part-1.parquet"):
        publish(people(2000), policy(0.5), to=folder / name, key=key, replace=True)
    (folder / "secret.csv").write_text("a,b\n1,2\n")
    with duckdb.connect(str(folder / "other.duckdb")) as con:
        con.execute("CREATE TABLE other AS SELECT 1 AS a")
    return folder


@pytest.fixture(scope="module")
def both(folder):
    """To a database, and to files by a pattern."""
    limits = {"locked": True, "timeout": 60, "max_rows": 5000, "max_memory": "1GB"}
    with (
        ppdm_sql.connect(folder / "r.duckdb", **limits) as database,
        ppdm_sql.connect(folder / "part-*.parquet", **limits) as files,
    ):
        yield database, files


@pytest.fixture(params=[0, 1], ids=["database", "files"])
def con(both, request):
    return both[request.param]


@pytest.fixture(scope="module")
def free(folder):
    with ppdm_sql.connect(folder / "part-1.parquet") as free:
        yield free


@pytest.mark.parametrize("sql", ANSWERS)
def test_every_answer_works(both, free, sql):
    expected = free.execute(sql).to_arrow_table().to_pylist()
    for con in both:
        for rows in (con.execute(sql).to_arrow_table(), con.cursor().sql(sql).to_arrow_table()):
            assert [list(map(_rounded, row.values())) for row in rows.to_pylist()] == [
                list(map(_rounded, row.values())) for row in expected
            ]


def _rounded(value):
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("method", ["inversion", "bayes"])
def test_settings_of_ours_can_be_made(con, method):
    con.execute(f"SET ppdm_method = '{method}'; SET ppdm_errors = 'columns'")
    assert len(con.execute("SELECT count(*) FROM people WHERE age > 30").fetchall()[0]) == 3
    con.execute("RESET ppdm_method; RESET ppdm_errors")


WAYS_OUT = [
    "FROM '{folder}/secret.csv'",
    "FROM read_csv('{folder}/secret.csv')",
    "FROM read_csv_auto(['{folder}/secret.csv'])",
    "FROM read_text('{folder}/key1')",
    "FROM read_blob('{folder}/*')",
    "FROM read_json('{folder}/secret.csv')",
    "FROM read_parquet('{folder}/other.parquet')",
    "FROM parquet_metadata('{folder}/part-1.parquet')",
    "FROM parquet_kv_metadata('{folder}/part-1.parquet')",
    "FROM read_duckdb('{folder}/other.duckdb')",
    "FROM '{folder}/other.duckdb'",
    "FROM glob('{folder}/*')",
    "FROM sniff_csv('{folder}/secret.csv')",
    "FROM 'https://example.com/x.parquet'",
    "FROM 's3://bucket/x.parquet'",
    "FROM '/etc/passwd'",
    "SELECT (SELECT content FROM read_text('{folder}/secret.csv'))",
    "SELECT count(*) FROM people WHERE age > (SELECT count(*) FROM read_text('{folder}/secret.csv'))",
    "WITH x AS (FROM read_text('{folder}/secret.csv')) FROM x",
    "DESCRIBE FROM read_csv('{folder}/secret.csv')",
    "SUMMARIZE FROM read_csv('{folder}/secret.csv')",
    "EXPLAIN ANALYZE FROM read_csv('{folder}/secret.csv')",
    "PIVOT read_csv('{folder}/secret.csv') ON a USING sum(b)",
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY people TO '{folder}/out.parquet'",
    "COPY (SELECT 1 AS a) TO '{folder}/part-1.parquet'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.duckdb' AS o",
    "ATTACH ':memory:' AS o",
    "ATTACH '{folder}/r.duckdb' AS again (READ_ONLY)",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/x.duckdb_extension'",
    "LOAD icu",
    "UPDATE EXTENSIONS",
    "SET threads = 1",
    "SET GLOBAL threads = 1",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "SET allowed_paths = ['{folder}/secret.csv']",
    "SET allowed_directories = ['{folder}']",
    "SET memory_limit = '100GB'",
    "SET temp_directory = '{folder}'",
    "SET search_path = 'memory'",
    "SET perfect_ht_threshold = 20",
    "SET profiling_output = '{folder}/out.json'",
    "SET log_query_path = '{folder}/out.log'",
    "SET python_enable_replacements = true",
    "SET python_scan_all_frames = true",
    "SET VARIABLE a = 1",
    "SET ppdm_key = '{folder}/other.key'",
    "RESET threads",
    "RESET memory_limit",
    "PRAGMA threads = 1",
    "PRAGMA enable_profiling",
    "PRAGMA database_list",
    "PRAGMA table_info('people')",
    "CALL enable_logging()",
    "CALL query('SELECT 1')",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "DEALLOCATE p",
    "CREATE TABLE t (a INTEGER)",
    "CREATE TEMP TABLE t AS FROM range(10)",
    "CREATE TEMP VIEW v AS FROM range(10)",
    "CREATE VIEW memory.main.v AS FROM range(10)",
    "CREATE TEMP MACRO m() AS 1",
    "CREATE SCHEMA memory.s",
    "CREATE SEQUENCE memory.s",
    "CREATE TYPE memory.e AS ENUM ('a')",
    "CREATE SECRET s (TYPE http)",
    "CREATE PERSISTENT SECRET s (TYPE http)",
    "CREATE RECONSTRUCTED VIEW memory.main.v AS SELECT count(*) FROM people WHERE age > 30",
    "CREATE PERTURBED TABLE p AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))",
    "CREATE PERTURBED TABLE p TO '{folder}/p.duckdb' AS SELECT 1 AS a PERTURB (a UNIFORM RETAIN 0.5 DOMAIN (1 TO 2))",
    "DROP PERTURBED TABLE people",
    "INSERT INTO people SELECT * FROM people",
    "DELETE FROM people",
    "UPDATE people SET age = 1",
    "DROP VIEW people",
    "TRUNCATE people",
    "ALTER TABLE people RENAME TO p",
    "COMMENT ON TABLE people IS 'x'",
    "CHECKPOINT",
    "FORCE CHECKPOINT",
    "VACUUM",
    "ANALYZE",
    "EXPLAIN ANALYZE CREATE TEMP TABLE t AS FROM range(10)",
    "WITH t AS (SELECT 1) INSERT INTO people FROM t",
    "SELECT current_setting('allowed_paths')",
    "SELECT getenv('HOME')",
    "SELECT getvariable('a')",
    "SELECT write_log('x')",
    "SHOW allowed_paths",
    "SHOW secret_directory",
    "FROM duckdb_settings()",
    "FROM duckdb_secrets()",
    "FROM duckdb_databases()",
    "FROM duckdb_databases",
    "FROM duckdb_logs",
    "FROM duckdb_extensions()",
    "FROM duckdb_external_file_cache()",
    "FROM duckdb_temporary_files()",
    "FROM duckdb_table_sample('people')",
    "FROM pragma_database_list",
    "FROM pragma_storage_info('people')",
    "FROM pg_settings",
    "FROM pg_catalog.pg_settings",
    "SELECT * FROM which_secret('s3://x', 's3')",
    "FROM query('FROM duckdb_settings()')",
    "FROM query_table('people')",
    "FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))",
    "SELECT json_serialize_plan('SELECT 1')",
    "FROM frame",
    "FROM arrow",
    "FROM test_all_types()",
    "FROM seq_scan('people')",
    "SELECT range(10000000000)",
    "SELECT len(generate_series(1, 10000000000))",
    "SELECT unnest(range(10000000000))",
    "SELECT repeat('x', 2000000000)",
    "SELECT 'x'.repeat(2000000000)",
    "SELECT lpad('x', 2000000000, 'y')",
    "SELECT list_resize([1], 2000000000)",
    "SELECT repeat('x', range) FROM range(1000000000)",
    "SELECT 1; SET threads = 1",
    "SELECT 1; /* SELECT */ COPY (SELECT 1) TO '{folder}/out.csv'",
]


@pytest.mark.parametrize("sql", WAYS_OUT)
def test_there_is_no_way_out(both, folder, sql):
    frame, arrow = pd.DataFrame({"a": [1]}), pa.table({"a": [1]})
    before = sorted(folder.iterdir())
    for con in both:
        with pytest.raises((PpdmError, duckdb.Error)) as refused:
            con.execute(sql.replace("{folder}", str(folder)))
        assert not isinstance(refused.value, duckdb.ResourceInUseException | duckdb.InternalException)
    assert sorted(folder.iterdir()) == before
    assert len(frame) == arrow.num_rows == 1


def test_relations_and_cursors_are_no_way_out_either(both, folder):
    for sql in WAYS_OUT[::7]:
        for run in (both[0].sql, both[1].cursor().execute):
            with pytest.raises((PpdmError, duckdb.Error)):
                run(sql.replace("{folder}", str(folder)))


def test_a_refusal_says_why(con):
    with pytest.raises(Locked, match="this connection is locked: ATTACH is not allowed, only queries"):
        con.execute("ATTACH 'x.duckdb'")
    with pytest.raises(ppdm_sql.ProgrammingError, match="duckdb_settings could tell of the machine"):
        con.execute("FROM duckdb_settings()")
    with pytest.raises(Locked, match="nothing is published"):
        con.execute("DROP PERTURBED TABLE people")


def test_the_release_of_files_is_seen_as_one_by_its_path_too(both, folder):
    con, path = both[1], folder / "part-1.parquet"
    expected = con.execute("SELECT avg(age) FROM people").fetchall()
    for source in (f"'{path}'", f"read_parquet('{path}')", f"read_parquet(['{path}'])"):
        assert con.execute(f"SELECT avg(age) FROM {source}").fetchall() == expected
        with pytest.raises(Unsupported):
            con.execute(f"SELECT max(age) FROM {source}")


def test_parts_of_queries_are_held_to_the_same(con, folder):
    con.execute("")
    answer = con.sql("SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY sex")
    assert len(answer.filter("n > 0").order("sex").fetchall()) == 2
    for call in (
        lambda: answer.filter("n > (SELECT count(*) FROM duckdb_settings())"),
        lambda: answer.project("current_setting('threads')"),
        lambda: answer.query("a", "COPY a TO 'x.csv'"),
        lambda: answer.query("a", "SET threads = 1"),
        lambda: answer.create("kept"),
        lambda: answer.to_view("kept"),
        lambda: answer.write_csv(str(folder / "out.csv")),
        lambda: answer.write_parquet(str(folder / "out.parquet")),
        lambda: con.explain("COPY people TO 'x.csv'"),
        lambda: con.compile("COPY people TO 'x.csv'"),
        lambda: con.executemany("INSERT INTO people VALUES (?)", [[1]]),
    ):
        with pytest.raises(PpdmError):
            call()
    assert con.explain("SELECT count(*) FROM people WHERE age > 30")
    assert con.compile("SELECT count(*) FROM people WHERE age > 30")


def test_the_embedding_program_keeps_its_own_ways(con):
    con.register("mine", pa.table({"sex": ["F"], "label": ["woman"]}))
    con.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT")
    sql = "SELECT label, twice(3), count(*) FROM people JOIN mine USING (sex) WHERE age > 0 GROUP BY label"
    assert [row[:2] for row in con.execute(sql).fetchall()] == [("woman", 6)]
    con.unregister("mine")
    con.remove_function("twice")


def test_locking_one_connection_locks_no_other(folder):
    path = folder / "r.duckdb"
    with ppdm_sql.connect(path, read_only=True) as free, ppdm_sql.connect(path, locked=True) as con:
        free.execute("SET threads = 1")
        assert free.execute(f"SELECT a FROM '{folder / 'secret.csv'}'").fetchall() == [(1,)]
        with pytest.raises(PpdmError):
            con.execute("SET threads = 1")


def test_what_cannot_be_opened(folder):
    for path in ("absent.duckdb", "absent.parquet", "secret.csv"):
        with pytest.raises(ReleaseError):
            ppdm_sql.connect(folder / path, locked=True)
    assert not (folder / "absent.duckdb").exists()


def test_transactions(con):
    con.begin()
    before = con.execute("SELECT count(*) FROM people WHERE age > 30").fetchall()
    con.execute("ROLLBACK")
    assert con.execute("BEGIN; SELECT count(*) FROM people WHERE age > 30").fetchall() == before
    con.commit()
