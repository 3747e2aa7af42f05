"""Releases that are not as they were written, and manifests that do not fit their rows: one ReleaseError each."""

from __future__ import annotations

import json
from datetime import datetime

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import with_digest

import ppdm_sql
from ppdm_sql.engine.duckdb.release_files import manifests
from ppdm_sql.errors import ReleaseError
from ppdm_sql.publishing.release import publish
from ppdm_sql.release.seal import seal

KEY = bytes(32)
ROWS = 600


def policy(column):
    return {"table": "t", "identity": ["id"], "columns": {"x": column}}


SMALL = {"mechanism": "small_domain", "domain": {"min": 0, "max": 5}, "privacy": {"rho1": 0.2, "rho2": 0.5}}
BASKET = {
    "mechanism": "select_a_size",
    "domain": {"values": ["a", "b", "c"]},
    "privacy": {"rho1": 0.1, "rho2": 0.6},
    "max_size": 2,
}
UNIFORM = {"mechanism": "uniform", "domain": {"min": 0, "max": 5}, "retain": 0.4}
BASKETS = pa.array([["a", "b"][: i % 3] for i in range(ROWS)], pa.list_(pa.string()))


def rewritten(path, change):
    """The release with another manifest, whose digest and seal fit."""
    table = pq.read_table(path)
    body = json.loads(pq.read_metadata(path).metadata[b"ppdm_manifest"])
    change(next(column for column in body["columns"] if column["name"] == "x"))
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"ppdm_manifest": with_digest(body)})
    seal(path)


def forget_a_value(column):
    part = next(part for part in column["parts"] if len(part["places"]) > 1)
    del part["places"][0]


def rename_an_item(column):
    column["items"]["values"][0] = "z"


@pytest.mark.parametrize(
    ("rule", "values", "change"),
    [(SMALL, np.arange(ROWS) % 6, forget_a_value), (BASKET, BASKETS, rename_an_item)],
)
def test_a_manifest_that_does_not_fit_the_rows(tmp_path, rule, values, change):
    path = tmp_path / "r.parquet"
    publish(pa.table({"id": np.arange(ROWS), "x": values}), policy(rule), to=path, key=KEY, progress=False)
    rewritten(path, lambda column: None)
    with ppdm_sql.connect(path) as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (ROWS,)
    rewritten(path, change)
    with pytest.raises(ReleaseError, match="'x' has values that its mechanism never gives"):
        ppdm_sql.connect(path)


@pytest.mark.parametrize("size", [51, 52, 60, 100, 500, 1_000])
def test_a_manifest_with_a_larger_domain(tmp_path, size):
    """Of 50 values that rows are redrawn from, none is missing; of more, all of the others are."""
    path = tmp_path / "r.parquet"
    rule = {"mechanism": "uniform", "domain": {"min": 0, "max": 49}, "retain": 0.5}
    table = pa.table({"id": np.arange(6_000), "x": np.arange(6_000) % 50})
    publish(table, policy(rule), to=path, key=KEY, progress=False)
    rewritten(path, lambda column: None)
    with ppdm_sql.connect(path) as con:
        assert con.execute("SELECT count(*) FROM t").fetchone() == (6_000,)
    rewritten(path, lambda column: column["domain"].update(size=size))
    with pytest.raises(ReleaseError, match="'x' lacks values that its mechanism would have drawn"):
        ppdm_sql.connect(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE perturbed.t SET x = x + 100", "'x' has values that its mechanism never gives"),
        ("UPDATE perturbed.t SET x = NULL WHERE id = 3", "'x' has values that its mechanism never gives"),
        ("UPDATE perturbed.t SET x = 3", "'x' lacks values that its mechanism would have drawn"),
        ("DELETE FROM perturbed.t WHERE id % 2 = 0", "tells of 6,000 rows, and there are 3,000"),
        ("INSERT INTO perturbed.t FROM perturbed.t LIMIT 1", "tells of 6,000 rows, and there are 6,001"),
        ("ALTER TABLE perturbed.t ALTER x TYPE VARCHAR", "'x' is BIGINT by the manifest, and VARCHAR in the rows"),
        ("ALTER TABLE perturbed.t RENAME x TO y", "tells of a column 'x' where the rows have 'y'"),
        ("ALTER TABLE perturbed.t DROP id", "tells of a column 'id' where the rows have 'x'"),
        ("ALTER TABLE perturbed.t ADD y INTEGER", "tells of 2 columns, and the rows have 3"),
        ("DROP TABLE perturbed.t", "its rows are not there"),
    ],
)
def test_rows_of_a_database_that_somebody_changed(tmp_path, change, said):
    path = tmp_path / "r.duckdb"
    table = pa.table({"id": np.arange(6_000), "x": np.arange(6_000) % 6})
    publish(table, policy(UNIFORM), to=path, key=KEY, progress=False)
    with ppdm_sql.connect(path) as con:
        before = con.execute("SELECT count(*) FROM t WHERE x > 2").fetchall()
    with duckdb.connect(str(path)) as con:
        con.execute(change)
    for options in ({}, {"read_only": True}, {"locked": True}):
        with ppdm_sql.connect(path, **options) as con, pytest.raises(ReleaseError, match=f"fit its manifest.*{said}"):
            con.execute("SELECT count(*) FROM t WHERE x > 2")
    publish(table, policy(UNIFORM), to=path, key=KEY, progress=False, replace=True)
    with ppdm_sql.connect(path) as con:
        assert con.execute("SELECT count(*) FROM t WHERE x > 2").fetchall() == before
        con.execute("CREATE TABLE mine AS SELECT 1 AS a")
        con.execute("DROP TABLE mine")  # each reads the catalog again
        assert con.execute("SELECT count(*) FROM t WHERE x > 2").fetchall() == before


@pytest.mark.parametrize(
    ("kind", "domain", "values", "bad"),
    [
        ("DOUBLE", {"min": 0, "max": 5, "step": 0.5}, "r % 11 / 2", ["1e300", "-1e308", "'inf'", "'nan'"]),
        ("FLOAT", {"min": 0, "max": 5, "step": 0.5}, "r % 11 / 2", ["3e38", "'-inf'", "'nan'"]),
        (
            "TIMESTAMP",
            {"min": datetime(2000, 1, 1), "max": datetime(2001, 1, 1), "step": "1 hour"},
            "make_timestamp(2000, 1, 1, r % 24, 0, 0)",
            ["'infinity'", "'-infinity'", "'290309-12-22 (BC) 00:00:00'"],
        ),
        (
            "HUGEINT",
            {"min": -(2**127), "max": -(2**127) + 20, "step": 2},
            f"{-(2**127)} + r % 11 * 2",
            [f"{2**127 - 1}"],
        ),
    ],
)
def test_values_that_no_domain_holds(tmp_path, kind, domain, values, bad):
    path = tmp_path / "r.duckdb"
    rule = {"mechanism": "uniform", "domain": domain, "retain": 0.4, "nulls": "keep"}
    with duckdb.connect() as con:
        some = con.sql(f"SELECT r AS id, CASE WHEN r > 9 THEN ({values})::{kind} END AS x FROM range({ROWS}) AS t(r)")
        publish(some, policy(rule), to=path, key=KEY, progress=False)
    for value in bad:
        with duckdb.connect(str(path)) as con:
            con.execute(f"UPDATE perturbed.t SET x = {value}::{kind} WHERE id = 3")
        with ppdm_sql.connect(path) as con, pytest.raises(ReleaseError, match="does not fit its manifest"):
            con.execute("SELECT count(*) FROM t WHERE x IS NOT NULL")
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE perturbed.t SET x = NULL WHERE id = 3")
    with ppdm_sql.connect(path) as con:
        assert con.execute("SELECT count(*) FROM t WHERE x IS NOT NULL").fetchone() == (ROWS - 10,)


def test_a_release_that_takes_the_place_of_another_is_looked_at(tmp_path):
    table = pa.table({"id": np.arange(6_000), "x": np.arange(6_000) % 6})
    for name in ("good.duckdb", "bad.duckdb"):
        publish(table, policy(UNIFORM), to=tmp_path / name, key=KEY, progress=False)
    with duckdb.connect(str(tmp_path / "bad.duckdb")) as con:
        con.execute("UPDATE perturbed.t SET x = 77 WHERE id = 5")
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'good.duckdb'}' AS r (READ_ONLY)")
        con.execute("SELECT count(*) FROM r.t WHERE x > 2")
        con.execute("DETACH r")
        con.execute(f"ATTACH '{tmp_path / 'bad.duckdb'}' AS r (READ_ONLY)")
        with pytest.raises(ReleaseError, match="never gives"):
            con.execute("SELECT count(*) FROM r.t WHERE x > 2")
        con.execute("DETACH r")
        assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_damaged_block_of_a_database(tmp_path):
    """DuckDB reads blocks when they are asked for, so that the damage is met by a query."""
    path = tmp_path / "r.duckdb"
    rows = 20_000
    table = pa.table({"id": np.random.default_rng(1).permutation(rows), "x": np.arange(rows) % 6})
    publish(table, policy(UNIFORM), to=path, key=KEY, progress=False)
    whole = path.read_bytes()
    found = []
    for place in range(20_000, len(whole), 60_000):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            with ppdm_sql.connect(path, read_only=True) as con:
                con.execute("SELECT count(*), sum(id) FROM t WHERE x > 2").fetchall()
        except ReleaseError as error:
            found.append(str(error))
        except duckdb.Error as error:
            pytest.fail(f"{type(error).__name__}: {error}")
    assert any("a file that this reads is damaged (Corrupt database file" in said for said in found)


def test_what_a_release_tells_of_itself_where_its_rows_are_damaged(tmp_path):
    path = tmp_path / "r.duckdb"
    rows = 20_000
    table = pa.table({"id": np.random.default_rng(1).permutation(rows), "x": np.arange(rows) % 6})
    publish(table, policy(UNIFORM), to=path, key=KEY, progress=False)
    whole = path.read_bytes()
    met = 0
    for place in range(20_000, len(whole), 200_000):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        for look in (lambda con: con.manifests(), lambda con: con.manifest("t"), lambda con: manifests(str(path))):
            try:
                with ppdm_sql.connect(path, read_only=True) as con:
                    look(con)
            except ReleaseError:
                met += 1
    assert met
