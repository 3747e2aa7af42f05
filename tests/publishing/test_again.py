"""A release is not published again: it would be perturbed twice, in silence."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import ppdm_sql
from ppdm_sql.errors import PpdmError, QueryError, SourceError
from ppdm_sql.publishing import publish

POLICY = {"table": "t", "columns": {"x": {"mechanism": "uniform", "domain": {"min": 0, "max": 3}, "retain": 0.5}}}
KEY = bytes(32)
ORIGINAL = pa.table({"x": np.arange(400) % 4})
AGAIN = r"is a release: its values would be perturbed a second time"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Releases in both formats; beside that in the database are a table of its name that is none, and views."""
    folder = tmp_path_factory.mktemp("releases")
    for name in ("r.parquet", "r.duckdb"):
        publish(ORIGINAL, POLICY, to=folder / name, key=KEY, progress=False)
    (folder / "both").mkdir()
    pq.write_table(ORIGINAL, folder / "both" / "a.parquet")
    (folder / "both" / "b.parquet").write_bytes((folder / "r.parquet").read_bytes())
    (folder / "other").mkdir()
    (folder / "other" / "r.dat").write_bytes((folder / "r.parquet").read_bytes())
    with duckdb.connect(folder / "r.duckdb") as con:
        con.execute("CREATE TABLE main.t AS SELECT x FROM range(40) r(x)")
        con.execute("CREATE VIEW v AS SELECT x FROM perturbed.t WHERE x > 0; CREATE VIEW w AS FROM v")
        con.execute(f"CREATE VIEW file AS FROM '{folder / 'r.parquet'}'")
    return folder


@pytest.mark.parametrize("name", ["two words", "order", 'a "b".c', "Große"])
def test_whatever_it_is_called(name, tmp_path):
    """DuckDB quotes some names in its plans."""
    path = tmp_path / "r.duckdb"
    publish(ORIGINAL, POLICY | {"table": name}, to=path, key=KEY)
    quoted = name.replace('"', '""')
    with duckdb.connect() as con:
        con.execute(f"""ATTACH '{path}' AS "a b" (READ_ONLY)""")
        for source in (f"{path}::perturbed.{name}", (con, f'SELECT x FROM "a b".perturbed."{quoted}"')):
            with pytest.raises(SourceError, match=AGAIN):
                publish(source, POLICY, to=tmp_path / "again.parquet", key=KEY)


def again(source, folder: Path, to: str = "again.parquet"):
    try:
        return publish(source, POLICY, to=folder / to, key=KEY, progress=False)
    except PpdmError:
        assert not (folder / to).exists()
        raise


@pytest.mark.parametrize(
    "name",
    ["r.parquet", "r*.parquet", "both/*.parquet"]
    + [f"r.duckdb::{table}" for table in ("perturbed.t", "v", "w", "file")],
)
def test_files(name, folder):
    with pytest.raises(SourceError, match=AGAIN):
        again(str(folder / name), folder)


def test_a_release_that_lost_its_manifest(folder):
    content = (folder / "r.parquet").read_bytes()
    (folder / "lost.parquet").write_bytes(content.replace(b"ppdm_manifest", b"ppdm_manifesX"))
    with pytest.raises(SourceError, match=AGAIN):
        again(folder / "lost.parquet", folder)


def test_arrow(folder):
    file = folder / "r.parquet"
    sources = [pq.read_table(file), pads.dataset(file), pads.dataset(folder / "both"), pq.read_table(file).to_reader()]
    for source in [*sources, pq.read_table(file).to_batches()[0]]:
        with pytest.raises(SourceError, match=AGAIN):
            again(source, folder)


@pytest.mark.parametrize(
    "query",
    [
        "FROM '{}/r.parquet'",
        "SELECT x FROM read_parquet(['{}/both/a.parquet', '{}/both/b.parquet'])",
        "WITH a AS (FROM r.perturbed.t) SELECT x FROM a JOIN range(3) b(i) ON x = i",
        "FROM r.w",
        "FROM r.file",
        "FROM called(0)",
        "FROM query('FROM r.perturbed.t')",
        "FROM read_parquet('{}/r.parq?et')",
        "FROM parquet_scan('{}/other/r.dat')",
        "FROM read_parquet('{}/other/r.da[t]')",
        "FROM read_parquet('{}/both')",
        "FROM read_parquet(['{}/other/r.dat'])",
        "FROM read_parquet($${}/other/r.dat$$)",
        "FROM read_parquet('file://{}/r.parquet')",
        "FROM read_parquet('file://localhost{}/r.parquet')",
        "FROM `{}/r.parquet`",
        "FROM query('FROM ''{}/r.parquet''')",
    ],
)
def test_queries(query, folder):
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{folder / 'r.duckdb'}' AS r (READ_ONLY)")
        con.execute("CREATE MACRO called(a) AS TABLE SELECT x + a AS x FROM r.perturbed.t")
        text = query.replace("{}", str(folder))
        for source in [(con, text), con.sql(text).filter("x >= 0")]:
            with pytest.raises(SourceError, match=AGAIN):
                again(source, folder)
        with pytest.raises(SourceError, match=AGAIN):
            again(con.read_parquet(str(folder / "both" / "*.parquet")).order("x"), folder)


@pytest.mark.parametrize(
    "query",
    [
        "FROM '{}'",
        "FROM read_duckdb('{}')",
        "SELECT x FROM read_duckdb(['{}'], schema_name := 'perturbed', table_name := 't') WHERE x > 0",
    ],
)
def test_databases_that_are_read_as_files(query, folder):
    """DuckDB reads the only table of a database that way, and tells no name of it."""
    path = folder / "one.duckdb"
    publish(ORIGINAL, POLICY, to=path, key=KEY, progress=False, replace=path.exists())
    with duckdb.connect(folder / "plain.duckdb") as con:
        con.execute("CREATE OR REPLACE TABLE t AS SELECT range % 4 AS x FROM range(40)")
    with duckdb.connect() as con:
        with pytest.raises(SourceError, match=AGAIN):
            again((con, query.replace("{}", str(path))), folder)
        plain = query.replace("{}", str(folder / "plain.duckdb")).replace("perturbed", "main")
        publish((con, plain), POLICY, to=folder / "read.parquet", key=KEY, progress=False, replace=True)


def test_texts_that_name_a_folder_and_are_not_read(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with duckdb.connect() as con:
        con.execute("CREATE TABLE o AS SELECT range % 4 AS x FROM range(40)")
        query = "SELECT x FROM o WHERE split('a.b/c', '.')[1] = 'a' AND split('a/b', '/')[1] = 'a'"
        publish((con, query), POLICY, to=folder / "split.parquet", key=KEY, progress=False)


def test_originals_beside_releases(folder):
    domain = {"min": 0, "max": 40}
    policy = {"table": "t", "columns": {"x": {"mechanism": "uniform", "domain": domain, "retain": 0.5}}}
    publish(f"{folder}/r.duckdb::t", policy, to=folder / "plain.parquet", key=KEY, progress=False)
    with duckdb.connect() as con:
        con.execute(f"ATTACH '{folder / 'r.duckdb'}' AS r (READ_ONLY)")
        con.execute("CREATE SCHEMA perturbed; CREATE TABLE perturbed.t AS SELECT x FROM range(40) r(x)")
        for i, query in enumerate(["FROM r.main.t", "FROM perturbed.t", f"FROM '{folder}/both/a.parquet'"]):
            publish((con, query), policy, to=folder / f"plain{i}.parquet", key=KEY, progress=False)
        con.execute("BEGIN")
        publish((con, "FROM perturbed.t"), policy, to=folder / "within.parquet", key=KEY, progress=False)
        con.execute("ROLLBACK")


def test_sql(folder, tmp_path):
    perturb = "PERTURB (x UNIFORM RETAIN 0.5 DOMAIN (0 TO 3))"
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{folder / 'r.duckdb'}' AS r (READ_ONLY); SET ppdm_key = '{tmp_path / 'k'}'")
        for source in ["r.t", "r.perturbed.t", "r.v", f"'{folder}/r.parquet'"]:
            for to in ("", f"TO '{tmp_path / 'x.parquet'}' "):
                with pytest.raises(QueryError, match=r"reads a release: its values would be perturbed a second time"):
                    con.execute(f"CREATE PERTURBED TABLE x {to}AS SELECT * FROM {source} {perturb}")
    assert not (tmp_path / "x.parquet").exists()


def test_a_registered_original_beside_a_release_of_a_short_name(tmp_path):
    with ppdm_sql.connect() as con:
        con.register("people", ORIGINAL)
        con.execute(f"SET ppdm_key = '{tmp_path / 'k'}'")
        for name in ("p", "s", "arrow", "people_public"):
            con.execute(f"CREATE PERTURBED TABLE {name} AS FROM people PERTURB (x UNIFORM RETAIN 0.5 DOMAIN (0 TO 3))")
        assert len(con.execute("SHOW PERTURBED TABLES").fetchall()) == 4
