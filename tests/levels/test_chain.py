"""Copies at many levels are one Markov chain: its law by enumeration, by chi-square, and what colluders gain by it."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Gap, Uniform, Values, Weighted, bridge, perturb_indices, position_blocks
from ppdm_udfs.bridge import head_and_tail, without_replacement
from scipy.stats import chi2

KEY = bytes(range(1, 33))
ROWS = int(os.environ.get("PPDM_LEVEL_ROWS", "1000000"))
"""PPDM_LEVEL_ROWS=10000000 is the long run."""
NAMES = {"key": KEY, "table": "t", "column": "c"}


def step(retain, shares):
    """The transition matrix of one perturbation."""
    return retain * np.eye(len(shares)) + (1 - retain) * np.asarray(shares)


def chi_square(observed, expected, free):
    """Whether counts are those expected, at one chance in 10,000 on either side."""
    score = ((observed - expected) ** 2 / expected)[expected > 0].sum()
    assert chi2.ppf(0.0001, free) < score < chi2.ppf(0.9999, free), (score, free)


def joint_counts(columns, size):
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        code = code * size + column.astype(np.int64)
    return np.bincount(code, minlength=size ** len(columns)).reshape((size,) * len(columns)).astype(float)


@pytest.fixture(scope="module")
def copies():
    """The original and its copies at four levels, asked for in an awkward order."""
    size = 3
    original = np.random.default_rng(1).choice(size, ROWS, p=[0.6, 0.3, 0.1]).astype(np.uint64)
    rows = position_blocks(0, ROWS)
    found = {1.0: original}
    for level in (0.3, 0.05, 0.8, 0.5):
        found[level] = perturb_indices(original, size, level, rows=rows, **NAMES)
    return size, dict(sorted(found.items(), reverse=True))


def test_marginals_and_neighbours(copies):
    """Equations 1 and 10: every copy against the original, and against the next better copy."""
    size, found = copies
    even = np.full(size, 1 / size)
    pairs = [(1.0, level) for level in list(found)[1:]] + list(itertools.pairwise(found))
    for better, worse in pairs:
        counts = joint_counts([found[better], found[worse]], size)
        expected = counts.sum(axis=1, keepdims=True) * step(worse / better, even)
        chi_square(counts, expected, size * (size - 1))


def test_colluders_learn_nothing_beyond_the_best_copy(copies):
    """Equation 2, for all subsets: the joint law is that of the chain, so that worse copies are noise on the best."""
    size, found = copies
    even = np.full(size, 1 / size)
    levels = list(found)[1:]
    for count in (2, 3, 4):
        for chosen in itertools.combinations(levels, count):
            counts = joint_counts([found[1.0], *(found[level] for level in chosen)], size)
            expected = counts.sum(axis=tuple(range(1, counts.ndim)))
            for before, level in itertools.pairwise((1.0, *chosen)):
                expected = expected[..., None] * step(level / before, even)
            chi_square(counts, expected, size ** (count + 1) - size)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_chain_by_enumeration(size):
    """Given the best copy, the others say nothing of the original: exactly, for every combination of values."""
    levels, prior = (0.7, 0.4, 0.1), np.arange(1, size + 1) / np.arange(1, size + 1).sum()
    law = prior
    for before, level in itertools.pairwise((1.0, *levels)):
        law = law[..., None] * step(level / before, np.full(size, 1 / size))
    alone = law.sum(axis=(2, 3))
    posterior_of_best = alone / alone.sum(axis=0)
    posterior = law / law.sum(axis=0)
    assert np.allclose(posterior, posterior_of_best[:, :, None, None])


@pytest.mark.parametrize("shares", [[0.25] * 4, [0.1, 0.2, 0.3, 0.4], [0.5, 0.5]])
def test_the_bridge_is_multi_pert_by_enumeration(shares):
    """The law between two ends equals the chain's conditional law, and Equations 3 and 4 where shares are even."""
    upper, retain, lower = 0.9, 0.5, 0.2
    shares = np.array(shares)
    up, down = step(retain / upper, shares), step(lower / retain, shares)
    conditional = up[:, :, None] * down[None] / (up @ down)[:, None, :]  # a, value, b
    head, tail = head_and_tail(upper, lower, retain)
    for a, b in itertools.product(range(len(shares)), repeat=2):
        never = without_replacement(upper, lower, shares[a]) if a == b else 0.0
        law = never * (np.arange(len(shares)) == a)
        law = law + (1 - never) * (tail * (np.arange(len(shares)) == b) + (1 - tail) * step(retain / upper, shares)[a])
        assert np.allclose(law, conditional[a, :, b])
        if np.ptp(shares) == 0:
            size = len(shares)
            u, v = (
                (retain / upper, (1 - retain / upper) * (1 - (1 - lower / retain) / ((size - 1) * lower / upper + 1)))
                if a == b
                else (head, tail)
            )
            paper = u * (np.arange(size) == a) + v * (np.arange(size) == b) + (1 - u - v) / size
            assert np.allclose(law, paper)


def test_the_examples_of_the_paper():
    """Example 1: 0.28; Example 2: u = 80 %, v = 17.8 %."""
    ten = np.full(10, 0.1)
    assert (step(0.4, ten) @ step(0.5, ten))[0, 0] == pytest.approx(0.28)
    kept = without_replacement(1.0, 0.4, 0.1)
    tail = head_and_tail(1.0, 0.4, 0.8)[1]
    same = kept + (1 - kept) * (tail + (1 - tail) * step(0.8, ten)[0, 0])
    v = (1 - 0.8) * (1 - (1 - 0.5) / (9 * 0.4 + 1))
    assert v == pytest.approx(0.178, abs=5e-4)
    assert same == pytest.approx(0.8 + v + (1 - 0.8 - v) / 10)


@pytest.mark.parametrize("weights", [None, (1.0, 2.0, 5.0)])
def test_levels_around_adopted_copies_are_the_chain(weights):
    """Copies at .6 and .2 came from elsewhere; ours at .8, .4, .3 and .1, in an awkward order, complete the chain."""
    size, count = 3, ROWS // 2
    shares = np.full(size, 1 / size) if weights is None else np.array(weights) / sum(weights)
    rng = np.random.default_rng(7)

    def elsewhere(values, retain):
        return np.where(rng.random(count) < retain, values, rng.choice(size, count, p=shares)).astype(np.uint64)

    found = {1.0: rng.choice(size, count, p=[0.5, 0.3, 0.2]).astype(np.uint64)}
    found[0.6] = elsewhere(found[1.0], 0.6)
    found[0.2] = elsewhere(found[0.6], 0.2 / 0.6)
    rows, values = position_blocks(0, count), Values(pa.array(["a", "b", "c"]))
    for level, upper, lower in ((0.3, 0.6, 0.2), (0.1, 0.2, None), (0.8, 1.0, 0.6), (0.4, 0.6, 0.2)):
        kernel = Uniform(values, level) if weights is None else Weighted(values, level, weights=weights)
        below = None if lower is None else found[lower]
        found[level] = bridge(found[upper], below, Gap(upper, lower), kernel, rows=rows, **NAMES)
    chain = dict(sorted(found.items(), reverse=True))
    for better, worse in itertools.pairwise(chain):
        counts = joint_counts([chain[better], chain[worse]], size)
        chi_square(counts, counts.sum(axis=1, keepdims=True) * step(worse / better, shares), size * (size - 1))
    for chosen in ((0.8, 0.6, 0.4), (0.6, 0.4, 0.3), (0.4, 0.3, 0.2), (0.3, 0.2, 0.1)):
        counts = joint_counts([chain[level] for level in chosen], size)
        expected = counts.sum(axis=(1, 2))
        for before, level in itertools.pairwise(chosen):
            expected = expected[..., None] * step(level / before, shares)
        chi_square(counts, expected, size**3 - size)


def test_many_copies_tell_no_more_than_the_best():
    """Figure 7: independent copies find the value after 30 releases, coupled ones stay where the best copy is."""
    size, count, releases = 50, 4_000, 30
    original = np.random.default_rng(2).integers(0, size, count).astype(np.uint64)
    rows = position_blocks(0, count)
    levels = np.linspace(0.4, 0.11, releases)

    def found(names):
        """How often putting all copies together finds the value."""
        log_odds = np.zeros((count, size))
        for level, column in zip(levels, names, strict=True):
            copy = perturb_indices(original, size, level, key=KEY, table="t", column=column, rows=rows).astype(int)
            log_odds[np.arange(count), copy] += np.log(1 + level * size / (1 - level))
        return np.mean(log_odds.argmax(axis=1) == original)

    best = 0.4 + 0.6 / size
    assert found([f"c{i}" for i in range(releases)]) > 0.97
    assert found(["c"] * releases) < best + 5 * np.sqrt(best * (1 - best) / count)
