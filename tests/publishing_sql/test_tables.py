"""CREATE and DROP PERTURBED TABLE: in the connection's own database, and in a file of its own."""

from __future__ import annotations

import duckdb
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import PolicyError, PpdmError, QueryError, SourceError, TargetError, Unsupported
from ppdm_sql.publishing_sql.database import changing
from ppdm_sql.release.stored import Place, stored_manifests

from .conftest import AGE, BY_ID, CLAUSE, ROWS, TOML, names_in, releases_in

ALL = f"CREATE PERTURBED TABLE adult_public AS SELECT * FROM adult {CLAUSE}"


def rows_of(con, table="adult_public"):
    return con.execute(f"SELECT * FROM {table}").fetchall()


def rows_in_file(path, table="adult_public"):
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute(f"SELECT * FROM perturbed.{table}").fetchall()


@pytest.fixture
def published(con, key, tmp_path):
    """The release that publish() writes for the same policy in TOML."""
    path = tmp_path / "from_toml.duckdb"
    ppdm_sql.publish((con._con, "SELECT * FROM adult"), TOML, to=path, key=key)
    return rows_in_file(path)


def test_sql_and_toml_give_the_same_values(con, published):
    con.execute(ALL)
    assert rows_of(con) == published
    types = con.execute("SELECT column_name, column_type FROM (DESCRIBE adult_public)").fetchall()
    assert dict(types)["grade"] == "ENUM('low', 'middle', 'high')" and "ssn" not in dict(types)


def test_sql_to_a_file_gives_the_same_values(con, published, tmp_path):
    path = tmp_path / "public.duckdb"
    query = ALL.replace("adult_public AS", f"adult_public TO '{path}' AS")
    assert con.sql(query) is None
    assert rows_in_file(path) == published
    with duckdb.connect(str(path)) as other:
        assert names_in(other) == ["adult_public"]
    assert releases_in(con) == []
    with pytest.raises(TargetError, match="already"):
        con.execute(query)
    con.execute(query.replace("CREATE", "CREATE OR REPLACE"))
    assert rows_in_file(path) == published


def test_a_parquet_file_of_its_own(con, tmp_path):
    path = tmp_path / "public.parquet"
    con.execute(f"CREATE PERTURBED TABLE p TO '{path}' AS SELECT id, age FROM adult {AGE.replace(', ssn DROP', '')}")
    with ppdm_sql.connect(path) as other:
        assert other.execute("SELECT count(*) FROM p WHERE age < 1000").fetchone() == (ROWS,)


def test_the_file_of_the_connection_is_no_target(key, tmp_path):
    path = tmp_path / "own.duckdb"
    with ppdm_sql.connect(path) as con:
        con.execute(f"SET ppdm_key = '{key}'; CREATE TABLE t AS SELECT 1 AS id, 20 AS age, 'x' AS ssn")
        with pytest.raises(TargetError, match="is open in this connection"):
            con.execute(f"CREATE PERTURBED TABLE p TO '{path}' AS FROM t {BY_ID}")
        con.execute(f"CREATE PERTURBED TABLE p AS FROM t {BY_ID}")
    with ppdm_sql.connect(path) as con:
        assert releases_in(con) == ["p"]


def test_the_release_is_answered_on_the_same_connection(con):
    con.execute(ALL)
    estimate, low, high = con.execute(
        "SELECT count(*), ppdm_low(count(*)), ppdm_high(count(*)) FROM adult_public WHERE age BETWEEN 25 AND 45"
    ).fetchone()
    truth = con.execute("SELECT count(*) FROM adult WHERE age BETWEEN 25 AND 45").fetchone()[0]
    assert isinstance(estimate, float) and low < truth < high
    with pytest.raises(Unsupported, match="DELETE"):
        con.execute("DELETE FROM adult_public")
    assert con.sql("SELECT count(*) FROM adult_public WHERE kind = 3").fetchall() == [(429,)]


def test_without_identity_the_position_counts(con, key, tmp_path):
    con.execute(f"CREATE PERTURBED TABLE p AS SELECT age, ssn FROM adult ORDER BY id {AGE}")
    policy = {"table": "p", "columns": {"age": {"mechanism": "uniform", "domain": {"min": 17, "max": 90}}}}
    policy["columns"]["age"]["retain"] = 0.5
    path = tmp_path / "p.duckdb"
    ppdm_sql.publish((con._con, "SELECT age FROM adult ORDER BY id"), policy, to=path, key=key)
    assert rows_of(con, "p") == rows_in_file(path, "p")


def test_words_of_ours_in_the_select(con):
    con.execute('CREATE TABLE "PERTURB" AS SELECT id, age AS "IDENTIFIED BY", 1 AS perturb FROM adult')
    con.execute(
        """CREATE PERTURBED TABLE odd AS
        SELECT id, "IDENTIFIED BY", perturb, 'PERTURB (x DROP) IDENTIFIED BY (y); --' AS text -- PERTURB (
        FROM "PERTURB" /* IDENTIFIED BY */ -- last
        PERTURB ("identified by" UNIFORM RETAIN 0.5 DOMAIN (17 TO 90)) IDENTIFIED BY (id);"""
    )
    assert con.execute("SELECT DISTINCT text, perturb FROM odd").fetchall() == [
        ("PERTURB (x DROP) IDENTIFIED BY (y); --", 1)
    ]


@pytest.mark.parametrize("name", ['"My Table"', '"Zoës ""größe"""', "ÅDULT", '"select"', '"a.b"'])
def test_awkward_names(con, name):
    con.execute(f"CREATE PERTURBED TABLE {name} AS FROM adult {BY_ID}")
    assert con.execute(f"SELECT count(*) FROM {name} WHERE age > 0").fetchall() == [(ROWS,)]
    assert len(con.sql(f"DESCRIBE PERTURBED {name}").fetchall()) == 11
    con.execute(f"DROP PERTURBED TABLE {name}")
    assert releases_in(con) == []


def test_schemas_and_databases(con, tmp_path):
    con.execute(f"CREATE SCHEMA s; ATTACH '{tmp_path / 'other.duckdb'}' AS other")
    con.execute("CREATE TABLE other.adult AS FROM adult")
    for name in ("s.p", "other.p", "other.main.q", "memory.S.r"):
        database = "other" if name.startswith("other") else "memory"
        con.execute(f"CREATE PERTURBED TABLE {name} AS FROM {database}.main.adult {BY_ID}")
        assert con.execute(f"SELECT count(*) FROM {name} WHERE age > 0").fetchall() == [(ROWS,)]
    found = con.sql("SHOW PERTURBED TABLES").fetchall()
    assert sorted(row[4:] + row[:1] for row in found) == [
        ("memory", "s", "p"), ("memory", "s", "r"), ("other", "main", "p"), ("other", "main", "q")
    ]  # fmt: skip
    con.execute("DROP PERTURBED TABLE s.p; DROP PERTURBED TABLE other.main.p")
    assert sorted(releases_in(con)) == ["q", "r"]
    with pytest.raises(TargetError, match="there is no schema 'nowhere' for 'p'"):
        con.execute(f"CREATE PERTURBED TABLE nowhere.p AS FROM adult {BY_ID}")


def test_a_file_of_releases_alone_is_written_by_another_process(con, tmp_path):
    """What this process writes may hold parts of what it has read."""
    path = tmp_path / "public.duckdb"
    query = f"AS FROM memory.main.adult {BY_ID}"
    con.execute(f"CREATE PERTURBED TABLE p TO '{path}' {query}; ATTACH '{path}' AS public")
    before = path.read_bytes()
    with pytest.raises(TargetError, match=f"is a file without other tables.* must not write .* Say .* TO '{path}' AS"):
        con.execute(f"CREATE PERTURBED TABLE public.q {query}")
    with pytest.raises(TargetError, match="is open in this connection: DETACH it"):
        con.execute(f"CREATE PERTURBED TABLE q TO '{path}' {query}")
    con.execute(f"DETACH public; CREATE PERTURBED TABLE q TO '{path}' {query}")
    assert path.read_bytes() != before
    with ppdm_sql.connect(path) as other:
        assert sorted(releases_in(other)) == ["p", "q"]


def test_a_file_that_does_not_hold_the_original_is_not_written(con, tmp_path):
    """Not either where there are tables beside the releases, which anybody may see."""
    path, parquet = tmp_path / "public.duckdb", tmp_path / "o.parquet"
    con.execute(f"COPY adult TO '{parquet}'; ATTACH '{path}' AS public; CREATE TABLE public.codes AS SELECT 1 AS id")
    con.execute(f"CREATE TEMP TABLE mine AS FROM adult; CREATE VIEW public.shown AS FROM '{parquet}'")
    con.execute('CREATE TABLE "public.x" AS FROM adult')
    sources = (f"FROM '{parquet}'", "FROM public.shown", "FROM adult", "FROM mine", 'FROM "public.x"')
    for query in (*sources, "SELECT adult.* FROM adult JOIN public.codes USING (id)"):
        with pytest.raises(TargetError, match=r"reads what is not in database 'public': .* Say .* TO 'a file of"):
            con.execute(f"CREATE PERTURBED TABLE public.q AS {query} {BY_ID}")
    name = 'public."the ""original"""'
    con.execute(f"CREATE TABLE {name} AS FROM adult")
    con.execute(
        f"CREATE PERTURBED TABLE public.q AS WITH w AS MATERIALIZED (FROM {name}) "
        f"SELECT w.* FROM w JOIN range(100000) AS r(i) ON i = id {BY_ID}"
    )
    assert con.execute("SELECT count(*) FROM public.q WHERE age >= 0").fetchall() == [(ROWS,)]


def test_or_replace(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    with pytest.raises(TargetError, match="already: say CREATE OR REPLACE PERTURBED TABLE"):
        con.execute(f"CREATE PERTURBED TABLE P AS FROM adult {BY_ID}")
    con.execute(f"CREATE OR REPLACE PERTURBED TABLE P AS SELECT id, age, ssn FROM adult LIMIT 10 {BY_ID}")
    assert [row[:2] for row in con.sql("SHOW PERTURBED TABLES").fetchall()] == [("P", 10)]
    assert len(stored_manifests(con._con)) == 1
    with pytest.raises(TargetError, match="not a release: OR REPLACE never takes the place of an original"):
        con.execute(f"CREATE OR REPLACE PERTURBED TABLE adult AS FROM adult {BY_ID}")


def test_drop(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    with pytest.raises(TargetError, match="is a perturbed table: say DROP PERTURBED TABLE"):
        con.execute("DROP PERTURBED VIEW p")
    with pytest.raises(TargetError, match="'adult' is not a release"):
        con.execute("DROP PERTURBED TABLE IF EXISTS adult")
    con.execute("DROP PERTURBED TABLE P")
    assert names_in(con) == ["adult"] and releases_in(con) == []
    with pytest.raises(TargetError, match="'p' does not exist"):
        con.execute("DROP PERTURBED TABLE p")
    con.execute("DROP PERTURBED TABLE IF EXISTS p")


@pytest.mark.parametrize(
    ("query", "clause", "kind", "said"),
    [
        ("FROM adult", "PERTURB (agee DROP)", PolicyError, "column 'agee' .* Did you mean 'age'"),
        ("FROM adult", "PERTURB (age UNIFORM RETAIN 1 DOMAIN ('a'))", PolicyError, "does not fit this type"),
        (
            "FROM adult",
            "PERTURB (wage UNIFORM RETAIN 1 DOMAIN (0 TO 50))",
            PolicyError,
            "a column of reals needs a step",
        ),
        ("FROM adult", "PERTURB (age UNIFORM RETAIN 1 DOMAIN (17 TO 80))", SourceError, "outside its declared domain"),
        ("FROM adult", "PERTURB (married UNIFORM RETAIN 1 DOMAIN (TRUE, FALSE))", SourceError, "is NULL where"),
        ("FROM adult", BY_ID.replace("(id)", "(kind)"), SourceError, "repeat the identity"),
        ("FROM adult", BY_ID.replace("(id)", "(married)"), SourceError, "has no identity"),
        (
            "SELECT age * 2 AS a FROM adult",
            "PERTURB (a UNIFORM RETAIN 1 DOMAIN (1 TO 900))",
            SourceError,
            "plus a mult",
        ),
        (
            "SELECT ssn::INT AS a FROM adult",
            "PERTURB (a UNIFORM RETAIN 1 DOMAIN (1 TO 9))",
            SourceError,
            "does not fit",
        ),
        ("SELECT nothing FROM adult", BY_ID, QueryError, "SELECT before PERTURB: .*nothing"),
        ("FROM nowhere", BY_ID, QueryError, "SELECT before PERTURB: .*nowhere"),
        ("SELEC 1", BY_ID, QueryError, "SELECT before PERTURB: "),
        ("DROP TABLE adult", BY_ID, QueryError, "must be one SELECT"),
        ("SELECT 1 AS a, 2 AS A", "PERTURB (a DROP)", PpdmError, "."),
    ],
)
def test_an_error_leaves_nothing(con, key, query, clause, kind, said):
    for to in ("", f" TO '{key.parent / 'public.duckdb'}'"):
        with pytest.raises(kind, match=said) as caught:
            con.execute(f"CREATE PERTURBED TABLE p{to} AS {query} {clause}")
        assert "secret" not in str(caught.value)
        assert names_in(con) == ["adult"] and [p.name for p in key.parent.iterdir()] == [key.name]
        assert con.execute("SELECT count(*) FROM adult").fetchall() == [(ROWS,)]


def test_an_error_while_replacing_leaves_the_old_release(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    before = rows_of(con, "p")
    with pytest.raises(SourceError):
        con.execute(f"CREATE OR REPLACE PERTURBED TABLE p AS SELECT 1 AS id, 1 AS age, 1 AS ssn {BY_ID}")
    assert rows_of(con, "p") == before and con.execute("SELECT count(*) FROM p WHERE age > 0").fetchone() == (ROWS,)


def test_a_disk_that_does_not_take_the_release_is_one_plain_error(tmp_path, key):
    path = tmp_path / "original.duckdb"
    with ppdm_sql.connect(path) as con:
        con.execute(f"SET ppdm_key = '{key}'; CREATE TABLE o AS SELECT i AS id, i % 10 AS x FROM range(9) AS r(i)")
        con.execute("CHECKPOINT")
        path.with_name("original.duckdb.wal").mkdir()  # so that COMMIT, and nothing before it, cannot be written
        with pytest.raises(TargetError, match="'p' cannot be written"):
            con.execute("CREATE PERTURBED TABLE p AS FROM o PERTURB (x UNIFORM RETAIN 0.5 DOMAIN (0 TO 9))")
        path.with_name("original.duckdb.wal").rmdir()
        assert names_in(con) == ["o"] and releases_in(con) == []


def test_an_interrupt_while_duckdb_writes_is_one():
    def interrupted():
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        changing(Place("d", "main", "p"), interrupted)


def test_the_callers_transaction_decides(con):
    con.execute("BEGIN; INSERT INTO adult (id, age, ssn) VALUES (-1, 20, 'x')")
    con.execute(f"CREATE PERTURBED TABLE p AS SELECT id, age, ssn FROM adult {BY_ID}")
    assert len(rows_of(con, "p")) == ROWS + 1
    assert releases_in(con) == ["p"]
    con.execute("ROLLBACK")
    assert releases_in(con) == [] and names_in(con) == ["adult"]
    con.execute(f"BEGIN; CREATE PERTURBED TABLE p AS SELECT id, age, ssn FROM adult {BY_ID}; COMMIT")
    assert rows_of(con.cursor(), "p") == rows_of(con, "p")


def test_a_release_is_not_perturbed_again(con, key, tmp_path):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {AGE.replace(', ssn DROP', '')} IDENTIFIED BY (id)")
    for query in ("FROM p", "SELECT * FROM (SELECT * FROM p)", "WITH a AS (FROM p) FROM a"):
        with pytest.raises(QueryError, match="reads a release"):
            con.execute(f"CREATE PERTURBED TABLE q AS {query} {BY_ID}")
    con.execute(f"CREATE OR REPLACE PERTURBED TABLE p AS FROM adult {BY_ID}")


def test_parameters(con):
    query = f"CREATE PERTURBED TABLE p AS SELECT id, age, ssn FROM adult WHERE kind = ? {BY_ID}"
    con.execute(query, [3])
    assert len(rows_of(con, "p")) == 429
    con.sql(query.replace("CREATE", "CREATE OR REPLACE").replace("?", "$k"), params={"k": 6})
    assert len(rows_of(con, "p")) == 428


def test_no_rows(con):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult WHERE FALSE {BY_ID}")
    assert con.sql("SHOW PERTURBED TABLES").fetchall()[0][:2] == ("p", 0)
    assert rows_of(con, "p") == []


def test_more_rows_than_wait_in_memory(con, monkeypatch):
    monkeypatch.setattr("ppdm_sql.publishing_sql.in_database._IN_MEMORY", 1_000)
    con.execute(ALL)
    assert con.execute("SELECT count(*) FROM adult_public WHERE age > 0").fetchone() == (ROWS,)


def test_a_result_that_was_not_fetched_is_no_hindrance(con):
    con.execute("SELECT * FROM adult")
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    con.execute("SELECT * FROM p")
    con.execute("DROP PERTURBED TABLE p; SHOW PERTURBED TABLES")
    assert con.fetchall() == []


def test_a_database_that_is_only_read(key, tmp_path):
    path = tmp_path / "file.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE t AS SELECT 1 AS id, 20 AS age, 'x' AS ssn")
    with ppdm_sql.connect(path, read_only=True) as con:
        con.execute(f"SET ppdm_key = '{key}'")
        with pytest.raises(TargetError, match="open for reading only"):
            con.execute(f"CREATE PERTURBED TABLE p AS FROM t {BY_ID}")


def test_two_keys_give_two_releases(con, tmp_path):
    con.execute(f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}")
    one = rows_of(con, "p")
    con.execute(f"SET ppdm_key = '{write_key(tmp_path, 2)}'; CREATE OR REPLACE PERTURBED TABLE p AS FROM adult {BY_ID}")
    assert rows_of(con, "p") != one
