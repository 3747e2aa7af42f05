from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import Unsupported
from ppdm_sql.itemsets.operator import Operator
from ppdm_sql.itemsets.patterns import Baskets, pattern_counts
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mining import apriori as module
from ppdm_sql.mining.apriori import apriori

BASKETS = st.lists(st.frozensets(st.integers(0, 6), max_size=7), min_size=1, max_size=40)


def counter(baskets, operators=None):
    """Counts of plain or randomized baskets of one operator a size."""
    sizes = np.array([len(basket) for basket in baskets], dtype=np.int64)
    items = np.array([item for basket in baskets for item in sorted(basket)], dtype=np.int64)
    laid = Baskets(sizes, np.concatenate([[0], np.cumsum(sizes)]), items)
    plain = [Operator(0.0, tuple([0.0] * size + [1.0])) for size in range(8)]
    return lambda itemsets: Supports(plain, pattern_counts(laid, itemsets, 7))


@settings(deadline=None)
@given(BASKETS, st.integers(1, 10), st.integers(1, 4))
def test_without_noise_all_frequent_itemsets_and_no_others_are_found(baskets, least, largest):
    found = {
        tuple(itemset): support
        for level in apriori(counter(baskets), 7, least, largest=largest, confidence=0.95)
        for itemset, support, certain in zip(level.itemsets.tolist(), level.support, level.certain, strict=True)
        if certain
    }
    truth = {}
    for size in range(1, largest + 1):
        for itemset in itertools.combinations(range(7), size):
            support = sum(basket.issuperset(itemset) for basket in baskets)
            if support >= least:
                truth[itemset] = support
    assert found == pytest.approx(truth)


def test_too_many_candidates_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_CANDIDATES", 5)
    baskets = [frozenset(range(5))] * 10
    with pytest.raises(Unsupported, match="itemsets of 2 items may be frequent"):
        list(apriori(counter(baskets), 5, 2, largest=2, confidence=0.9))


class Noisy:
    """Supports that are known to be zero, with an error of ten baskets."""

    def __init__(self, count, rng):
        self.count, self.rng = count, rng

    def estimate(self):
        return self.rng.normal(0, 10, self.count)

    def errors(self):
        return np.full(self.count, 10.0)


def test_nothing_is_called_certain_that_is_not_there():
    rng = np.random.default_rng(1)
    wrong = 0
    for _ in range(300):
        levels = apriori(lambda sets: Noisy(len(sets), rng), 50, 1e-9, largest=1, confidence=0.95)
        wrong += any(level.certain.any() for level in levels)
    assert 3 <= wrong <= 29  # 5 % of 300 are 15


def test_no_superset_is_looked_for_beyond_its_subsets():
    rng = np.random.default_rng(2)
    levels = list(apriori(lambda sets: Noisy(len(sets), rng), 12, 1.0, largest=3, confidence=0.95))
    highs = {tuple(s): h for level in levels for s, h in zip(level.itemsets.tolist(), level.ceiling, strict=True)}
    assert len(levels) == 3
    for itemset, high in highs.items():
        for i in range(len(itemset)):
            if len(itemset) > 1:
                assert high <= highs[itemset[:i] + itemset[i + 1 :]]
