"""Releases that are not as they were written, and manifests that do not fit their rows: one ReleaseError each."""

from __future__ import annotations

import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import with_digest

import ppdm_sql
from ppdm_sql.engines.seal import seal
from ppdm_sql.errors import ReleaseError
from ppdm_sql.publishing.release import publish

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
