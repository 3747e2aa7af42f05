"""What is said of itemsets and rules holds as often as it is promised, over many keys, and never leaves [0, 1]."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ppdm_udfs import Grid, SelectASize, SizeOperator, position_blocks, randomize

import ppdm_sql
from ppdm_sql.cli.main import main
from ppdm_sql.itemsets import best_operator
from ppdm_sql.itemsets.patterns import Baskets, pattern_counts
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mining import association_rules, frequent_itemsets
from ppdm_sql.mining.apriori import apriori
from ppdm_sql.mining.ratios import Ratio

GROCERIES = Path(__file__).parents[3] / "shared" / "data" / "groceries.parquet"
ITEMS, ROWS, KEYS, NORMAL = 6, 1_500, 300, 1.959964
PAIRS = np.array([[0, 1], [0, 2], [1, 2], [3, 4], [0, 5]])


def held() -> np.ndarray:
    rng = np.random.default_rng(11)
    rows = rng.random((ROWS, ITEMS)) < [0.5, 0.3, 0.6, 0.4, 0.2, 0.05]
    rows[:, 1] |= rows[:, 0] & (rng.random(ROWS) < 0.7)
    return rows


@pytest.fixture(scope="module")
def releases() -> list[tuple[Baskets, list]]:
    lists = pa.array([np.flatnonzero(row).tolist() for row in held()], pa.list_(pa.int32()))
    operators = [best_operator(m, 30.0) for m in range(ITEMS + 1)]
    how = SelectASize(Grid(0, 1, ITEMS), tuple(SizeOperator(o.rho, o.keep) for o in operators))
    found = []
    for number in range(KEYS):
        key = hashlib.sha256(b"certain %d" % number).digest()
        seen = randomize(lists, how, key=key, table="t", column="c", rows=position_blocks(0, ROWS))
        offsets = seen.values.offsets.to_numpy().astype(np.int64)
        items = seen.values.values.to_numpy().astype(np.int64)
        found.append((Baskets(seen.sizes.to_numpy().astype(np.int64), offsets, items), operators))
    return found


def covered(inside: np.ndarray) -> None:
    """95 %, by itemset and for all: a quantile that is 10 % off does not pass."""
    assert abs(inside.mean() - 0.95) < 0.015, inside.mean()
    assert np.abs(inside.mean(axis=0) - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / KEYS), inside.mean(axis=0)


def test_intervals_of_ratios_cover_what_they_promise(releases):
    rows = held()
    inside, widths = [], []
    truths = [[rows[:, pair].all(axis=1).sum() / rows[:, pair[b]].sum() for pair in PAIRS] for b in range(2)]
    for baskets, operators in releases:
        known = Supports(operators, pattern_counts(baskets, PAIRS, ITEMS))
        for mask, truth in ((1, truths[0]), (2, truths[1])):
            ratio = Ratio.of(known, mask)
            low, high = ratio.interval(NORMAL)
            assert ((low <= ratio.estimate) & (ratio.estimate <= high) & (low >= 0) & (high <= 1)).all()
            inside.append((low <= truth) & (truth <= high))
            widths.append(high - low)
    covered(np.array(inside).reshape(KEYS, -1))
    assert np.median(widths) < 0.8  # they say something


def test_intervals_of_supports_cover_what_they_promise(releases):
    rows = held()
    inside, wrong = [], 0
    least = 0.3 * ROWS
    for baskets, operators in releases:
        levels = apriori(
            lambda sets, baskets=baskets, operators=operators: Supports(
                operators, pattern_counts(baskets, sets, ITEMS)
            ),
            ITEMS,
            -np.inf,
            largest=2,
            confidence=0.95,
            baskets=ROWS,
        )
        for level in levels:
            truth = np.array([rows[:, itemset].all(axis=1).sum() for itemset in level.itemsets])
            assert ((level.low <= level.support) & (level.support <= level.high)).all()
            assert ((level.low >= 0) & (level.high <= ROWS)).all()
            inside.append((level.low <= truth) & (truth <= level.high))
    ones, pairs = np.array(inside[::2]), np.array(inside[1::2])
    covered(np.concatenate([ones, pairs], axis=1))
    for baskets, operators in releases:
        count = Supports(operators, pattern_counts(baskets, np.arange(ITEMS).reshape(-1, 1), ITEMS))
        [level] = apriori(lambda sets, count=count: count, ITEMS, least, largest=1, confidence=0.95, baskets=ROWS)
        wrong += any(rows[:, item].sum() < least for item in level.itemsets[level.certain][:, 0])
    assert wrong <= 0.05 * KEYS + 4 * np.sqrt(0.05 * 0.95 * KEYS)


def test_nothing_is_known_of_a_ratio_whose_divisor_may_be_zero():
    numbers = (np.array([each]) for each in (5.0, 8.0, 30.0, 10.0, 40.0))
    ratio = Ratio(*numbers)
    assert not ratio.settled(NORMAL).any() and not ratio.exceeds(0.1, NORMAL).any()
    assert [end.tolist() for end in ratio.interval(NORMAL)] == [[0.0], [1.0]]


@pytest.fixture(scope="module")
def groceries(tmp_path_factory):
    if not GROCERIES.exists():
        pytest.skip("needs ../shared/data/groceries.parquet")
    table = pq.read_table(GROCERIES, columns=["items"])
    values = sorted(set(table["items"].combine_chunks().flatten().to_pylist()))
    items = {"mechanism": "select_a_size", "domain": {"values": values}, "gamma": 19.0, "max_size": 10}
    path = tmp_path_factory.mktemp("groceries") / "g.duckdb"
    key = hashlib.sha256(b"groceries").digest()
    ppdm_sql.publish(table, {"table": "g", "columns": {"items": items}}, to=path, key=key)
    return str(path)


def test_groceries(groceries):
    """No estimate outside of its interval, no confidence above 1, no lift that is no number."""
    asked = {"min_support": 0.05, "max_items": 2}
    with ppdm_sql.connect(groceries, read_only=True) as con:
        for mined, name in ((frequent_itemsets, "support"), (association_rules, "confidence")):
            found = mined(con, "g", "items", **asked, uncertain=True)
            estimate, low, high = (found[each].to_numpy() for each in (name, "low", "high"))
            assert len(found)
            assert ((low >= 0) & (low <= estimate) & (estimate <= high) & (high <= 1)).all()
            if "lift" in found.column_names:
                assert np.isfinite(found["lift"].drop_null().to_numpy()).all()
            certain = mined(con, "g", "items", **asked)
            assert certain.num_rows == sum(found["certain"].to_pylist()) < found.num_rows


def test_the_command_says_where_nothing_can_be_told(groceries, capsys):
    asked = ["mine", "rules", groceries, "--min-support", "0.05", "--max-items", "2", "--format", "json"]
    assert main(asked) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == "[]"
    assert "nothing can be told at this privacy" in shown.err and "--all lists" in shown.err
    assert main([*asked, "--all"]) == 0
    shown = capsys.readouterr()
    assert '"certain": false' in shown.out
    assert "a larger gamma (less privacy).\n" in shown.err and "--all" not in shown.err
