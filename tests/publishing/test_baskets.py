"""Baskets from a source to a release: lists and seeds, both kinds of file, the sizes, what is cut, what is refused."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.engine.duckdb.basket_rows import supports_of
from ppdm_sql.errors import PolicyError, PpdmError, QueryError, SourceError

KEY = bytes(range(32))
ITEMS = ["milk", "bread", "eggs", "it's", "ünï"]


def policy(**changes):
    items = {"mechanism": "select_a_size", "domain": {"values": ITEMS}, "gamma": 19.0, "max_size": 3, **changes}
    return {"table": "baskets", "identity": ["id"], "columns": {"items": items}}


def shop(rows=3_000):
    rng = np.random.default_rng(4)
    held = rng.random((rows, 5)) < [0.6, 0.4, 0.3, 0.2, 0.1]
    lists = [[ITEMS[i] for i in np.flatnonzero(row)] for row in held]
    return pa.table({"id": range(rows), "items": pa.array(lists, pa.list_(pa.string())), "till": [1, 2] * (rows // 2)})


@pytest.mark.parametrize("compress", [False, True])
def test_both_kinds_of_file_hold_the_same(tmp_path, compress):
    manifests, rows = [], []
    for ending in ("duckdb", "parquet"):
        path = tmp_path / f"r.{ending}"
        manifests.append(ppdm_sql.publish(shop(), policy(compress=compress), to=path, key=KEY))
        with ppdm_sql.connect(path) as con:
            rows.append(con.sql("SELECT * FROM baskets ORDER BY id").fetchall())
            assert con.execute("SELECT sum(items_size) FROM baskets").fetchone() == (
                sum(min(len(one), 3) for one in shop().column("items").to_pylist()),
            )
    assert rows[0] == rows[1]
    assert manifests[0] == manifests[1]
    assert [column.name for column in manifests[0].columns] == ["id", "items", "till", "items_size"]
    basket = manifests[0].perturbed[0]
    assert basket.cut == sum(len(one) > 3 for one in shop().column("items").to_pylist())
    assert basket.type.name == ("BLOB" if compress else "VARCHAR[]")


def test_seeds_are_shorter_by_the_paper_s_factor(tmp_path):
    """1,000 items at rho = 1/2 take 1,000 bits as a bitmap, and a seed 80 for baskets of 5 and itemsets of 3."""
    rng = np.random.default_rng(0)
    lists = [rng.choice(1_000, 5, replace=False).tolist() for _ in range(4_000)]
    table = pa.table({"items": pa.array(lists, pa.list_(pa.int32()))})
    sizes = {}
    for compress in (False, True):
        body = {"mechanism": "select_a_size", "domain": {"min": 0, "max": 999}, "gamma": 19.0, "max_size": 5}
        body |= {"rho": 0.5, "compress": compress}
        path = tmp_path / f"{compress}.parquet"
        manifest = ppdm_sql.publish(table, {"table": "b", "columns": {"items": body}}, to=path, key=KEY)
        sizes[compress] = path.stat().st_size
    code = manifest.perturbed[0].code
    assert code.degree * code.powers == 40
    assert sizes[True] < sizes[False] * 40 / 1_000 * 2  # twice for the sizes and the file's own frame


def test_supports_from_a_release(tmp_path):
    table = shop(20_000)
    truth = [set(one[:3]) for one in table.column("items").to_pylist()]
    for compress in (False, True):
        path = tmp_path / f"{compress}.duckdb"
        manifest = ppdm_sql.publish(table, policy(compress=compress, max_size=5), to=path, key=KEY)
        truth = [set(one) for one in table.column("items").to_pylist()]
        with duckdb.connect(str(path), read_only=True) as con:
            column, rows = manifest.perturbed[0], "perturbed.baskets"
            for itemsets in ([["milk"], ["it's"]], [["milk", "bread"], ["eggs", "ünï"]], [["milk", "bread", "eggs"]]):
                found = supports_of(con, rows, column, itemsets)
                held = [sum(set(one) <= basket for basket in truth) for one in itemsets]
                assert (np.abs(found.estimate() - held) < 4 * found.errors()).all()
                half = supports_of(con, rows, column, itemsets, "till = 2")
                held = [sum(set(one) <= basket for basket in truth[1::2]) for one in itemsets]
                assert (np.abs(half.estimate() - held) < 4 * half.errors()).all()
            with pytest.raises(QueryError, match="'beer' is not an item"):
                supports_of(con, rows, column, [["beer"]])
            with pytest.raises(QueryError, match="twice"):
                supports_of(con, rows, column, [["milk", "milk"]])
            with pytest.raises(QueryError, match="same number"):
                supports_of(con, rows, column, [["milk"], ["milk", "eggs"]])
            if compress:
                with pytest.raises(QueryError, match="up to 3 items"):
                    supports_of(con, rows, column, [ITEMS[:4]])


@pytest.mark.parametrize(
    ("lists", "changes", "error", "message"),
    [
        ([["milk"], ["beer"], ["ale"]], {}, SourceError, "row 2 is the first of at least 2"),
        ([["milk"], None], {}, SourceError, "row 2 is the first of at least 1"),
        ([["milk"], ["bread", None]], {"nulls": "keep"}, SourceError, "an item in one, that is NULL"),
        ([["milk"]], {"max_size": 9}, PolicyError, "at least max_size = 9"),
    ],
)
def test_what_is_refused_writes_nothing_and_quotes_nothing(tmp_path, lists, changes, error, message):
    table = pa.table({"id": range(len(lists)), "items": pa.array(lists, pa.list_(pa.string()))})
    with pytest.raises(error, match=message) as caught:
        ppdm_sql.publish(table, policy(**changes), to=tmp_path / "r.duckdb", key=KEY)
    assert "beer" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_the_sizes_is_taken(tmp_path):
    table = shop(10).append_column("ITEMS_SIZE", pa.array(range(10)))
    with pytest.raises(PolicyError, match="the source has one: rename"):
        ppdm_sql.publish(table, policy(), to=tmp_path / "r.duckdb", key=KEY)


def test_null_baskets_and_no_baskets(tmp_path):
    lists = pa.array([None, [], ["milk"]], pa.list_(pa.string()))
    table = pa.table({"id": [1, 2, 3], "items": lists})
    manifest = ppdm_sql.publish(table, policy(nulls="keep"), to=tmp_path / "r.parquet", key=KEY)
    with ppdm_sql.connect(tmp_path / "r.parquet") as con:
        rows = con.sql("SELECT id, items IS NULL, items_size FROM baskets ORDER BY id").fetchall()
    assert rows == [(1, True, None), (2, False, 0), (3, False, 1)]
    assert manifest.perturbed[0].cut == 0
    empty = ppdm_sql.publish(table.slice(0, 0), policy(), to=tmp_path / "e.duckdb", key=KEY)
    assert empty.rows == 0


def test_publishing_in_sql(tmp_path):
    with ppdm_sql.connect() as con:
        con.register("source", shop(500))
        con.execute(f"SET ppdm_key = '{tmp_path / 'k.key'}'")
        con.execute(
            "CREATE PERTURBED TABLE baskets AS SELECT * FROM source PERTURB (items SELECT_A_SIZE GAMMA 19 MAX_SIZE 3 "
            "DOMAIN ('milk', 'bread', 'eggs', 'it''s', 'ünï')) IDENTIFIED BY (id)"
        )
        assert con.execute("SELECT count(*) FROM baskets WHERE items_size > 3").fetchone() == (0,)
        with pytest.raises(PpdmError, match="CREATE PERTURBED TABLE"):
            con.execute(
                "CREATE PERTURBED VIEW v AS SELECT * FROM source PERTURB (items SELECT_A_SIZE GAMMA 19 MAX_SIZE 3 "
                "COMPRESS ITEMSETS 2 RHO 0.5 DOMAIN ('milk', 'bread', 'eggs', 'it''s', 'ünï')) IDENTIFIED BY (id)"
            )
