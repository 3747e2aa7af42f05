"""Counts of patterns and supports from them: against counting one by one, and against the truth over many draws."""

from itertools import product

import numpy as np
import pytest

from ppdm_sql.itemsets import Operator, best_operator
from ppdm_sql.itemsets.patterns import Baskets, pattern_counts
from ppdm_sql.itemsets.supports import Supports

ITEMS = 12


def _baskets(rng, count):
    lists = [rng.choice(ITEMS, rng.integers(0, ITEMS + 1), replace=False) for _ in range(count)]
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in lists])))
    items = np.concatenate(lists) if lists else np.zeros(0, int)
    return Baskets(rng.integers(0, 5, count), offsets.astype(np.int64), items.astype(np.int64)), lists


@pytest.mark.parametrize("items", [1, 2, 3, 4])
@pytest.mark.parametrize("count", [0, 1, 63, 700])
def test_counts_of_patterns(items, count):
    rng = np.random.default_rng(items * 1000 + count)
    baskets, lists = _baskets(rng, count)
    itemsets = np.stack([rng.choice(ITEMS, items, replace=False) for _ in range(9)])
    found = pattern_counts(baskets, itemsets, 4)
    expected = np.zeros_like(found)
    for i, itemset in enumerate(itemsets):
        for size, seen in zip(baskets.sizes, lists, strict=True):
            expected[i, size, sum(1 << b for b, item in enumerate(itemset) if item in seen)] += 1
    np.testing.assert_array_equal(found, expected)


def test_counts_do_not_depend_on_how_baskets_are_laid_out(monkeypatch):
    rng = np.random.default_rng(5)
    baskets, _ = _baskets(rng, 900)
    itemsets = np.stack([rng.choice(ITEMS, 3, replace=False) for _ in range(40)])
    whole = pattern_counts(baskets, itemsets, 4)
    monkeypatch.setattr("ppdm_sql.itemsets.patterns._CELLS", 1)
    monkeypatch.setattr("ppdm_sql.itemsets.patterns._BLOCK", 1)
    np.testing.assert_array_equal(pattern_counts(baskets, itemsets, 4), whole)


def _law(operator, held):
    """The chance of every pattern where the items of a mask are in the basket, by the definition."""
    items = 2
    law = np.zeros(1 << items)
    inside = [b for b in range(items) if held >> b & 1]
    kept = operator._kept_of(len(inside))
    for pattern in range(1 << items):
        chance = 1.0
        seen = [b for b in inside if pattern >> b & 1]
        ways = {0: 1, 1: 2 if len(inside) == 2 else 1, 2: 1}[len(seen)]
        chance *= kept[len(seen)] / ways
        for b in range(items):
            if b not in inside:
                chance *= operator.rho if pattern >> b & 1 else 1 - operator.rho
        law[pattern] = chance
    return law


def test_estimates_and_covariances_are_unbiased():
    """Expected counts give the truth itself; random counts give their own spread."""
    operators = [best_operator(0, 9.0), best_operator(1, 9.0), best_operator(4, 9.0)]
    truth = {1: np.array([40, 30, 20, 0]), 2: np.array([100, 50, 60, 90])}
    expected = np.zeros((1, 3, 4))
    for size, by_mask in truth.items():
        expected[0, size] = sum(by_mask[held] * _law(operators[size], held) for held in range(4))
    exact = Supports(operators, expected)
    for mask in (1, 2, 3):
        held = sum(by_mask[m] for by_mask in truth.values() for m in range(4) if m & mask == mask)
        assert exact.estimate(mask)[0] == pytest.approx(held, rel=1e-9)
    rng = np.random.default_rng(3)
    draws = np.zeros((20_000, 3, 4), dtype=np.int64)
    for size, by_mask in truth.items():
        for held in range(4):
            draws[:, size] += rng.multinomial(by_mask[held], _law(operators[size], held), len(draws))
    drawn = Supports(operators, draws)
    for one, other in product((1, 2, 3), repeat=2):
        spread = np.cov(drawn.estimate(one), drawn.estimate(other))[0, 1]
        scale = np.sqrt(exact.covariance(one, one)[0] * exact.covariance(other, other)[0])
        assert exact.covariance(one, other)[0] == pytest.approx(spread, abs=0.04 * scale)
        assert drawn.covariance(one, other).mean() == pytest.approx(exact.covariance(one, other)[0], abs=0.01 * scale)


def test_no_itemset_is_larger_than_its_patterns_allow():
    baskets, _ = _baskets(np.random.default_rng(0), 3)
    with pytest.raises(ValueError, match="1 to 8 items"):
        pattern_counts(baskets, np.arange(9)[None], 4)


def test_no_itemsets_at_all():
    baskets, _ = _baskets(np.random.default_rng(0), 30)
    counts = pattern_counts(baskets, np.zeros((0, 2), dtype=np.int64), 4)
    supports = Supports([Operator(0.5, (1.0,))] * 5, counts)
    assert supports.estimate().shape == (0,)
    assert supports.baskets == 0
