"""Supports over 200 releases: unbiased, with intervals that hold what they promise, for 1-, 2- and 3-itemsets."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ppdm_udfs import Grid, SelectASize, SizeOperator, code_for, position_blocks, randomize
from ppdm_udfs.seeds import from_binary, shows
from scipy.stats import chi2

from ppdm_sql.itemsets import best_operator
from ppdm_sql.itemsets.patterns import Baskets, pattern_counts
from ppdm_sql.itemsets.supports import Supports

GROCERIES = Path(__file__).parents[2].parent / "shared" / "data" / "groceries.parquet"
RELEASES = 200
LARGEST = 6
GAMMA = 19.0


def groceries():
    if not GROCERIES.exists():
        pytest.skip("needs ../shared/data/groceries.parquet")
    lists = pq.read_table(GROCERIES).column("items").combine_chunks()
    names = sorted(set(lists.flatten().to_pylist()))
    numbers = pa.array([names.index(item) for item in lists.flatten().to_pylist()], pa.int32())
    top = np.argsort(-np.bincount(numbers.to_numpy()))
    chosen = {
        1: [[top[i]] for i in range(12)],
        2: [[top[i], top[j]] for i in range(6) for j in range(i)],
        3: [[top[0], top[1], top[i]] for i in range(2, 10)],
    }
    return pa.ListArray.from_arrays(lists.offsets, numbers), len(names), chosen


def made_up():
    """Baskets of 0 to 9 items in which some come together."""
    rng = np.random.default_rng(7)
    chance = np.concatenate((np.linspace(0.5, 0.1, 8), np.full(32, 0.02)))
    held = rng.random((4_000, 40)) < chance
    held[:, 3] |= held[:, 0] & held[:, 1]
    lists = pa.array([np.flatnonzero(row)[:9].tolist() for row in held], pa.list_(pa.int32()))
    pairs = [[0, 1], [0, 3], [1, 3], [2, 5], [9, 20], [6, 7]]
    return lists, 40, {1: [[i] for i in range(10)], 2: pairs, 3: [[0, 1, 3], [0, 1, 2], [4, 5, 6], [1, 10, 30]]}


def _cut_alike(lists, items):
    """The original after cutting, for supports are of cut baskets; cut once, so that all releases have one truth."""
    everything = tuple(SizeOperator(0.0, (0.0,) * m + (1.0,)) for m in range(LARGEST + 1))
    how = SelectASize(Grid(0, 1, items), everything)
    rows = position_blocks(0, len(lists))
    return randomize(lists, how, key=bytes(32), table="t", column="cut", rows=rows).values


def _supports(lists, sizes, itemsets, operators):
    offsets = lists.offsets.to_numpy().astype(np.int64)
    baskets = Baskets(sizes, offsets, lists.values.to_numpy().astype(np.int64))
    return {k: Supports(operators, pattern_counts(baskets, np.array(v), LARGEST)) for k, v in itemsets.items()}


def _truth(lists, itemsets):
    sets = [set(one) for one in lists.to_pylist()]
    return {k: np.array([sum(set(one) <= held for held in sets) for one in v]) for k, v in itemsets.items()}


def check(truth, estimates, errors):
    """The mean is the truth, the spread is the error, and 95 % of the intervals hold the truth."""
    for k in truth:
        z = (estimates[k] - truth[k]) / errors[k]
        releases = len(z)
        mean = (estimates[k].mean(axis=0) - truth[k]) / (estimates[k].std(axis=0) / np.sqrt(releases))
        assert np.abs(mean).max() < 4, (k, mean)
        squares = (z**2).mean(axis=0)
        low, high = (chi2.ppf(q, releases) / releases for q in (0.0002, 0.9998))
        assert ((squares > low) & (squares < high)).all(), (k, squares)
        assert abs((np.abs(z) < 1.96).mean() - 0.95) < 4 * np.sqrt(0.05 * 0.95 / z.size)


def _observe(lists, items, itemsets, releases, code=None, rhos=None):
    options = {} if rhos is None else {"rhos": rhos}
    operators = [best_operator(m, GAMMA, **options) for m in range(LARGEST + 1)]
    sizes = tuple(SizeOperator(o.rho, o.keep) for o in operators)
    how = SelectASize(Grid(0, 1, items), sizes, code=code)
    rows = position_blocks(0, len(lists))
    estimates = {k: [] for k in itemsets}
    errors = {k: [] for k in itemsets}
    for number in range(releases):
        key = hashlib.sha256(f"groceries {number}".encode()).digest()
        found = randomize(lists, how, key=key, table="t", column="c", rows=rows)
        values, public = found.values, found.sizes.to_numpy().astype(np.int64)
        if code is not None:
            values = _listed(values, public, itemsets, operators, code)
        for k, supports in _supports(values, public, itemsets, operators).items():
            estimates[k].append(supports.estimate())
            errors[k].append(supports.errors())
    return {k: np.array(v) for k, v in estimates.items()}, {k: np.array(v) for k, v in errors.items()}


def _listed(seeds, sizes, itemsets, operators, code):
    """The items of the itemsets that seeds show."""
    used = sorted({int(item) for group in itemsets.values() for itemset in group for item in itemset})
    thresholds = np.array([code.threshold(operator.rho) for operator in operators])[sizes]
    words = from_binary(seeds, code)
    seen = np.stack([shows(words, item, thresholds, code) for item in used], axis=1)
    offsets = np.concatenate(([0], np.cumsum(seen.sum(axis=1)))).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(np.array(used)[np.nonzero(seen)[1]]))


@pytest.mark.parametrize("data", [groceries, made_up])
def test_supports_over_many_releases(data):
    original, items, itemsets = data()
    lists = _cut_alike(original, items)
    check(_truth(lists, itemsets), *_observe(lists, items, itemsets, RELEASES))


@pytest.mark.parametrize(("bits", "rho"), [(1, 0.5), (3, 0.125)])
def test_supports_from_seeds_over_many_releases(bits, rho):
    original, items, itemsets = made_up()
    lists = _cut_alike(original, items)
    code = code_for(items, bits, LARGEST + 3)
    check(_truth(lists, itemsets), *_observe(lists, items, itemsets, 60, code, (rho,)))
