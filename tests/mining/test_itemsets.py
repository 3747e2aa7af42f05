from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import QueryError
from ppdm_sql.mining import association_rules, frequent_itemsets

ITEMS = ["milk", "bread", "O'Brien", "tea", "soap", "salt"]


def receipts(rows: int = 20_000, seed: int = 1) -> list[list[str]]:
    """Milk and bread go together, tea with both; soap and salt are as they come."""
    rng = np.random.default_rng(seed)
    milk = rng.random(rows) < 0.4
    bread = rng.random(rows) < np.where(milk, 0.7, 0.1)
    tea = rng.random(rows) < np.where(milk & bread, 0.6, 0.1)
    others = rng.random((3, rows)) < np.array([[0.05], [0.2], [0.3]])
    shown = np.stack([milk, bread, others[0], tea, others[1], others[2]])
    return [[ITEMS[i] for i in np.flatnonzero(column)] for column in shown.T]


def policy(gamma: float, **more) -> dict:
    column = {"mechanism": "select_a_size", "domain": {"values": ITEMS}, "gamma": gamma, "max_size": 6, **more}
    return {"table": "sales", "columns": {"items": column}}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    path = tmp_path_factory.mktemp("baskets") / "sales.duckdb"
    table = pa.table({"items": pa.array(receipts(), pa.list_(pa.string()))})
    ppdm_sql.publish(table, policy(40.0), to=path, key=hashlib.sha256(b"sales").digest())
    return str(path)


def by_mlxtend(baskets, least):
    from mlxtend.frequent_patterns import apriori

    frame = pd.DataFrame([[item in basket for item in ITEMS] for basket in baskets], columns=ITEMS)
    found = apriori(frame, min_support=least, use_colnames=True, max_len=3)
    return frame, {frozenset(row.itemsets): row.support for row in found.itertuples()}


@pytest.mark.filterwarnings("ignore")
def test_itemsets_against_mlxtend_on_the_originals(release):
    frame, truth = by_mlxtend(receipts(), 0.15)
    with ppdm_sql.connect(release, read_only=True) as con:
        found = frequent_itemsets(con, "sales", "items", min_support=0.15, uncertain=True).to_pylist()
    certain = {frozenset(row["itemset"]) for row in found if row["certain"]}
    assert certain and certain <= set(truth)
    assert {frozenset(["milk", "bread"]), frozenset(["milk"])} <= certain
    inside = 0
    for row in found:
        share = frame[row["itemset"]].all(axis=1).mean()
        assert 0 <= row["low"] <= row["support"] <= row["high"] <= 1
        inside += row["low"] <= share <= row["high"]
    assert inside >= 0.8 * len(found)


@pytest.mark.filterwarnings("ignore")
def test_rules_against_the_originals(release):
    frame, _ = by_mlxtend(receipts(), 0.15)
    with ppdm_sql.connect(release, read_only=True) as con:
        rules = association_rules(
            con, "sales", "items", min_support=0.15, min_confidence=0.5, uncertain=True
        ).to_pylist()
    assert rules
    pairs = {(tuple(rule["if"]), tuple(rule["then"])): rule for rule in rules}
    rule = pairs[("milk",), ("bread",)]
    truth = frame[["milk", "bread"]].all(axis=1).sum() / frame["milk"].sum()
    assert rule["low"] <= truth <= rule["high"]
    assert rule["certain"]
    assert rule["lift"] == pytest.approx(truth / frame["bread"].mean(), rel=0.3)
    for (given, then), one in pairs.items():
        share = frame[[*given, *then]].all(axis=1).sum() / frame[list(given)].all(axis=1).sum()
        assert not one["certain"] or share >= 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min_support": 0.0}, "min_support = 0 must lie between"),
        ({"min_support": 0.5, "confidence": 1.0}, "confidence = 1 must lie"),
        ({"min_support": 0.5, "max_items": 9}, "max_items = 9 must lie"),
    ],
)
def test_bad_numbers(release, arguments, message):
    with ppdm_sql.connect(release, read_only=True) as con, pytest.raises(QueryError, match=message):
        frequent_itemsets(con, "sales", "items", **arguments)


def test_bad_names(release):
    with ppdm_sql.connect(release, read_only=True) as con:
        with pytest.raises(QueryError, match="Columns of baskets: items"):
            frequent_itemsets(con, "sales", "nothing", min_support=0.5)
        with pytest.raises(QueryError, match="min_confidence = 0 must lie"):
            association_rules(con, "sales", "items", min_support=0.5, min_confidence=0)


def test_command_line(release, capsys):
    from ppdm_sql.cli.main import main

    assert main(["mine", "itemsets", release, "--min-support", "0.2"]) == 0
    assert "milk" in capsys.readouterr().out
    assert main(["mine", "rules", release, "--min-support", "0.2", "--format", "json"]) == 0
    assert any(rule["if"] == ["milk"] for rule in json.loads(capsys.readouterr().out))
    assert main(["mine", "itemsets", release, "--min-support", "2"]) == 2
    assert "min_support = 2 must lie" in capsys.readouterr().err
