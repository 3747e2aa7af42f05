"""Every kind of source gives the same release, and every source that cannot be read is named."""

import gzip
import re

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing import publish
from ppdm_sql.publishing.sources import open_source

from .conftest import KEY, POLICY, files_in, rows_of


@pytest.fixture(scope="module")
def expected(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("expected") / "release.duckdb"
    publish(table, POLICY, to=path, key=KEY)
    return sorted(rows_of(path))


class Stream:
    """What polars and others offer."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def as_parquet(table, folder):
    pq.write_table(table, folder / "source.parquet", row_group_size=777)
    return folder / "source.parquet"


def as_pattern(table, folder):
    for name, part in {"b": table.slice(1000, 500), "c": table.slice(1500), "a": table.slice(0, 1000)}.items():
        pq.write_table(part, folder / f"part-{name}.parquet")
    return str(folder / "part-*.parquet")


def as_csv(table, folder):
    pacsv.write_csv(table, folder / "source.csv")
    return folder / "source.csv"


def as_gzip(table, folder):
    plain = as_csv(table, folder)
    (folder / "source.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    return folder / "source.csv.gz"


def as_tabs(table, folder):
    pacsv.write_csv(table, folder / "source.tsv", pacsv.WriteOptions(delimiter="\t"))
    return folder / "source.tsv"


def as_strange_name(table, folder):
    pq.write_table(table, folder / "so'urce [1]*.parquet")
    return folder / "so'urce [1]*.parquet"


def as_database(table, folder):
    with duckdb.connect(str(folder / "source.duckdb")) as con:
        con.register("given", table)
        con.execute('CREATE SCHEMA "my schema"; CREATE TABLE "my schema"."the.table" AS FROM given')
        con.execute("CREATE TABLE people AS FROM given")
    return f"{folder / 'source.duckdb'}::people"


def as_database_schema(table, folder):
    return as_database(table, folder).replace("::people", "::my schema.the.table")


def as_relation(table, folder):
    return duckdb.connect().from_arrow(table)


def as_query(table, folder):
    con = duckdb.connect()
    con.register("given", table)
    return con, "SELECT * FROM given WHERE id >= 0"


def as_enum(table, folder):
    con = duckdb.connect()
    con.register("given", table)
    return con.sql("SELECT * REPLACE (job::ENUM('03', 'x', '02', '01') AS job) FROM given")


SOURCES = {
    "parquet": as_parquet,
    "pattern": as_pattern,
    "strange name": as_strange_name,
    "csv": as_csv,
    "csv.gz": as_gzip,
    "tsv": as_tabs,
    "database": as_database,
    "database schema": as_database_schema,
    "relation": as_relation,
    "query": as_query,
    "enum": as_enum,
    "arrow": lambda table, _: table,
    "batch": lambda table, _: table.combine_chunks().to_batches()[0],
    "reader": lambda table, _: table.to_reader(max_chunksize=500),
    "dataset": lambda table, folder: pads.dataset(as_parquet(table, folder)),
    "pandas": lambda table, _: table.to_pandas(),
    "stream": lambda table, _: Stream(table),
    "int32": lambda table, _: table.set_column(0, "ID", table["id"].cast(pa.int32())),
    "dictionary": lambda table, _: table.set_column(3, "job", table["job"].dictionary_encode()),
}


@pytest.mark.parametrize("name", SOURCES)
def test_the_same_rows_from_every_source(name, table, expected, tmp_path):
    source = SOURCES[name](table, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    manifest = publish(source, POLICY, to=tmp_path / "release.duckdb", key=KEY)
    assert sorted(rows_of(tmp_path / "release.duckdb")) == expected
    assert manifest.rows == table.num_rows
    assert {path: path.read_bytes() for path in before} == before
    assert len(files_in(tmp_path)) == len(before) + 1


@pytest.mark.parametrize("to", ["r.duckdb", "r.parquet"])
def test_a_connection_is_free_again_after_a_failure(to, tmp_path):
    """Its own rows are read ahead: a result of theirs that stayed open would keep it from anything else."""
    policy = {"table": "t", "columns": {"v": {"mechanism": "uniform", "domain": {"min": 0, "max": 8}, "retain": 0.5}}}
    with duckdb.connect() as con:
        con.execute("CREATE TABLE o AS SELECT (range % 10)::INTEGER AS v FROM range(1000000)")
        with pytest.raises(SourceError):
            publish((con, "FROM o"), policy, to=tmp_path / to, key=bytes(32), progress=False)
        assert con.execute("SELECT count(*) FROM o").fetchall() == [(1_000_000,)]


def test_order_of_rows_and_batches_does_not_matter(table, expected, tmp_path):
    shuffled = table.take(pa.array(sorted(range(table.num_rows), key=lambda i: i * 7919 % 3001)))
    publish(shuffled, POLICY, to=tmp_path / "a.duckdb", key=KEY)
    assert rows_of(tmp_path / "a.duckdb") == expected
    publish(table, POLICY, to=tmp_path / "a.parquet", key=KEY)
    assert rows_of(tmp_path / "a.parquet") == expected


def test_batch_size_does_not_matter(table, expected, tmp_path, monkeypatch):
    monkeypatch.setattr("ppdm_sql.publishing.layout.ROWS_A_BATCH", 2048)
    publish(table, POLICY, to=tmp_path / "a.duckdb", key=KEY)
    assert rows_of(tmp_path / "a.duckdb") == expected


def test_positions_name_rows_where_nothing_else_does(table, tmp_path):
    text = POLICY.replace('identity = ["id"]\n', "")
    for name, source in {"a": table, "b": table.to_reader(max_chunksize=100)}.items():
        publish(source, text, to=tmp_path / f"{name}.parquet", key=KEY)
    first = rows_of(tmp_path / "a.parquet")
    assert first == rows_of(tmp_path / "b.parquet")
    publish(table.slice(1), text, to=tmp_path / "c.parquet", key=KEY)
    assert first[1:] != rows_of(tmp_path / "c.parquet")


def test_an_empty_table(table, tmp_path):
    for ending in ("duckdb", "parquet"):
        assert publish(table.slice(0, 0), POLICY, to=tmp_path / f"a.{ending}", key=KEY).rows == 0
        assert rows_of(tmp_path / f"a.{ending}") == []


def bad_file(name, content=b""):
    def make(folder):
        (folder / name).write_bytes(content)
        return folder / name

    return make


def bad_csv(folder):
    lines = ["id,age,wage,job,born,seen,secret,kind"]
    lines += [f"{i},20,1.25,01,1950-01-01,2020-01-01 00:00:00,s,true" for i in range(60_000)]
    lines += ["60000,CONFIDENTIAL,1.25,01,1950-01-01,2020-01-01 00:00:00,s,true"]
    (folder / "bad.csv").write_text("\n".join(lines))
    return folder / "bad.csv"


def database(folder):
    with duckdb.connect(str(folder / "a.duckdb")) as con:
        con.execute("CREATE TABLE people (x INTEGER)")
    return folder / "a.duckdb"


def failing_reader(folder):
    def batches():
        yield pa.record_batch({"id": [1], "age": [20]})
        raise ValueError("CONFIDENTIAL")

    return pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64(), "age": pa.int64()}), batches())


TWICE = pa.table({"id": [1], "age": [20], "AGE": [20]})
UNREADABLE = {
    "missing": (lambda f: f / "no.parquet", "does not exist. Check the name"),
    "no match": (lambda f: str(f / "*.parquet"), "no file matches this pattern"),
    "directory": (lambda f: f, "is a directory: name its files, such as"),
    "directory.csv": (lambda f: (f / "d.csv").mkdir() or f / "d.csv", "is a directory: name its files"),
    "ending": (bad_file("a.xlsx"), "has an ending that is not known. Name a Parquet or CSV file"),
    "not parquet": (bad_file("a.parquet", b"CONFIDENTIAL" * 99), "cannot be read"),
    "empty csv": (bad_file("a.csv"), "is not in source"),
    "not a database": (bad_file("a.duckdb", b"CONFIDENTIAL" * 999), "is a database: name its table too"),
    "broken database": (lambda f: f"{bad_file('a.duckdb', b'CONFIDENTIAL' * 999)(f)}::t", "cannot be read"),
    "no table named": (database, "is a database: name its table too"),
    "no such table": (lambda f: f"{database(f)}::poeple", "has no such table. Did you mean 'people'?"),
    "table in csv": (lambda f: f"{f / 'a.csv'}::people", "a table can be named in a DuckDB file only"),
    "bad cell": (bad_csv, "cannot be read: a value does not fit the type of its column"),
    "bad query": (lambda f: (duckdb.connect(), "SELECT CONFIDENTIAL"), "the source query cannot be read"),
    "no query": (lambda f: (duckdb.connect(), "SET threads = 2"), "the source query"),
    "late error": (
        lambda f: (duckdb.connect(), "SELECT i AS id, CAST(error('CONFIDENTIAL') AS INT) AS age FROM range(9) t(i)"),
        "the source query cannot be read",
    ),
    "failing reader": (failing_reader, "the source (pyarrow.RecordBatchReader) cannot be read"),
    "a number": (lambda f: 3, "a source cannot be 'int'"),
    "same name twice": (lambda f: TWICE, "has the columns 'age' and 'AGE'"),
    "twice in pandas": (lambda f: TWICE.to_pandas(), "has the columns 'age' and 'AGE'"),
    "twice in a stream": (lambda f: Stream(TWICE), "has the columns 'age' and 'AGE'"),
    "twice in parquet": (lambda f: as_parquet(TWICE, f), "has the columns 'age' and 'AGE'"),
    "twice in csv": (lambda f: as_csv(TWICE, f), "has the columns 'age' and 'AGE'"),
    "twice in a query": (lambda f: (duckdb.connect(), "SELECT 1 AS id, 1 AS age, 1 AS AGE"), "'age' and 'AGE'"),
}
SMALL = """
table = "t"
identity = ["id"]
[columns.age]
mechanism = "uniform"
domain = { min = 17, max = 90 }
retain = 0.5
"""


@pytest.mark.parametrize("name", UNREADABLE)
def test_sources_that_cannot_be_read(name, tmp_path):
    make, message = UNREADABLE[name]
    source = make(tmp_path)
    before = files_in(tmp_path)
    with pytest.raises((SourceError, PolicyError)) as caught:
        publish(source, SMALL, to=tmp_path / "release.parquet", key=tmp_path / "a.key")
    assert message in str(caught.value)
    assert set(files_in(tmp_path)) - {"a.key"} == set(before)
    error = caught.value
    while error is not None:  # whatever a traceback would show
        assert "CONFIDENTIAL" not in str(error)
        error = error.__cause__ or error.__context__


def test_near_names_are_offered(table, tmp_path):
    for text in (POLICY.replace("columns.wage", "columns.wages"), POLICY.replace('["id"]', '["id", "wages"]')):
        with pytest.raises(
            PolicyError, match=re.escape("column 'wages' of the policy is not in the source (pyarrow.Table)")
        ):
            publish(table, text, to=tmp_path / "a.duckdb", key=KEY)
        with pytest.raises(PolicyError, match="Did you mean 'wage'"):
            publish(table, text, to=tmp_path / "a.duckdb", key=KEY)


def test_a_database_that_is_open_can_be_given_as_a_query(table, tmp_path):
    name = as_database(table, tmp_path)
    with duckdb.connect(str(tmp_path / "source.duckdb")) as con:
        with pytest.raises(SourceError, match=r"\(connection, query\)"):
            publish(name, POLICY, to=tmp_path / "a.parquet", key=KEY)
        publish((con, "FROM people"), POLICY, to=tmp_path / "a.parquet", key=KEY)
        assert con.sql("SELECT count(*) FROM people").fetchall() == [(table.num_rows,)]
    assert len(rows_of(tmp_path / "a.parquet")) == table.num_rows


def test_codes_in_a_csv_stay_text_where_their_domain_is_text(tmp_path):
    (tmp_path / "a.csv").write_text("id,code,number\n1,1,1\n2,2,2\n")
    text = 'table = "t"\n[columns.CODE]\nmechanism = "uniform"\ndomain = { values = ["1", "2"] }\nretain = 0.5\n'
    with open_source(tmp_path / "a.csv", load_policy(text)) as source:
        assert [str(kind) for kind in source.types] == ["BIGINT", "VARCHAR", "BIGINT"]


def test_pandas_categories_are_enums(tmp_path):
    frame = pd.DataFrame({"job": pd.Categorical(["b", "a"] * 50, categories=["z", "b", "a"])})
    text = 'table = "t"\n[columns.job]\nmechanism = "uniform"\ndomain = { values = ["a", "b"] }\nretain = 0.5\n'
    manifest = publish(frame, text, to=tmp_path / "a.duckdb", key=KEY)
    assert manifest.columns[0].type.name == "ENUM('b', 'a')"


def test_a_connection_with_rows_that_were_not_fetched_is_named(table, tmp_path):
    with duckdb.connect() as con:
        con.register("source", table)
        con.execute("FROM range(100000)").fetchone()
        with pytest.raises(SourceError, match=r"a result whose rows were not all fetched. Fetch them, or close it"):
            publish(con.sql("FROM source"), POLICY, to=tmp_path / "release.duckdb", key=KEY)
