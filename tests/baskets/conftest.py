"""A shop: its baskets, some of them NULL, and releases of it as lists and as seeds."""

from __future__ import annotations

import hashlib

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql

ITEMS = ["milk", "bread", "eggs", "it's", "beer", "ünï", "tea"]
ROWS = 1_500
LARGEST = 4


def shop(rows: int = ROWS) -> pa.Table:
    """Baskets of up to four items, in which milk and bread come together."""
    rng = np.random.default_rng(11)
    held = rng.random((rows, len(ITEMS))) < [0.5, 0.35, 0.25, 0.15, 0.2, 0.1, 0.05]
    held[:, 1] |= held[:, 0] & (rng.random(rows) < 0.4)
    lists = [[ITEMS[i] for i in rng.permutation(np.flatnonzero(row))[:LARGEST]] for row in held]
    lists = [None if i % 40 == 7 else one for i, one in enumerate(lists)]
    return pa.table(
        {
            "id": range(rows),
            "till": pa.array([["north", "south", None][i % 3] for i in range(rows)]),
            "age": pa.array(rng.integers(18, 28, rows), pa.int16()),
            "price": pa.array(np.round(rng.gamma(2, 10, rows), 2)),
            "items": pa.array(lists, pa.list_(pa.string())),
        }
    )


def policy(**changes) -> dict:
    """The shop's policy; ages are perturbed, too."""
    items = {"mechanism": "select_a_size", "domain": {"values": ITEMS}, "gamma": 19.0, "max_size": LARGEST}
    age = {"mechanism": "uniform", "domain": {"min": 18, "max": 27}, "retain": 0.5}
    return {"table": "shop", "columns": {"items": {**items, "nulls": "keep", **changes}, "age": age}}


@pytest.fixture(scope="session")
def original():
    with duckdb.connect() as con:
        con.register("generated", shop())
        con.execute("CREATE TABLE shop AS SELECT *, len(items) AS items_size FROM generated")
        yield con


@pytest.fixture(scope="session")
def release(tmp_path_factory):
    """Releases under numbered keys, as lists or as seeds; each is made once."""
    folder = tmp_path_factory.mktemp("baskets")

    def make(kind: str = "lists", number: int = 0):
        path = folder / f"{kind}-{number}.parquet"
        if not path.exists():
            changes = {"lists": {}, "seeds": {"compress": True, "rho": 0.25}, "one rho": {"rho": 0.3}}[kind]
            key = hashlib.sha256(f"shop {number}".encode()).digest()
            ppdm_sql.publish(shop(), policy(**changes), to=path, key=key)
        return path

    return make
