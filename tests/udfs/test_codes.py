"""Codes and seeds: the paper's lengths, independence checked on every seed, uniform choice, Statements 3 and 4."""

import hashlib
import math
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Grid, KernelError, position_blocks
from ppdm_udfs.baskets import SelectASize, SizeOperator, randomize
from ppdm_udfs.codes import _PRIMITIVE, Code, _powers_of_x, code_for, columns_of, values_of
from ppdm_udfs.seeds import agreeing, from_binary, shows, to_binary

KEY = bytes(range(32))
SMALL = code_for(5, 2, 4)
"""Five items of two bits, any four independent: 2**16 seeds, few enough for each to be looked at."""


def _all_seeds(code):
    return np.arange(1 << code.seed_bits, dtype=np.uint64)[:, None]


def _shown(code, seeds, items):
    return np.stack([values_of(seeds, columns_of(code, np.array([item]))) for item in range(items)], axis=1)


def test_the_paper_s_seeds():
    assert code_for(100_000, 1, 10 + 5).seed_bits == 136
    assert code_for(100_000, 4, 10 + 5).seed_bits == 570
    assert code_for(100_000, 1, 15).seed_bytes == 17


@pytest.mark.parametrize("degree", sorted(_PRIMITIVE))
def test_the_polynomials_are_primitive(degree):
    """x has the full order: its powers meet every element but zero once."""
    powers = _powers_of_x(degree)
    seen = np.zeros(1 << degree, dtype=bool)
    seen[powers] = True
    assert seen.sum() == len(powers) == (1 << degree) - 1
    assert not seen[0]


def test_any_few_items_are_independent_over_all_seeds():
    code, items = SMALL, 5
    assert code.independent == 4
    shown = _shown(code, _all_seeds(code), items)
    for chosen in combinations(range(items), 4):
        number = shown[:, chosen].astype(int) @ (4 ** np.arange(4))
        counts = np.bincount(number, minlength=256)
        assert (counts == len(shown) / 256).all()


@pytest.mark.parametrize(("items", "bits", "independent"), [(9, 1, 5), (100, 1, 6), (30, 3, 4), (1_000, 2, 7)])
def test_columns_are_linearly_independent(items, bits, independent):
    """Any choice of items: elimination finds a pivot in every column."""
    code = code_for(items, bits, independent)
    rng = np.random.default_rng(items)
    for _ in range(60):
        chosen = rng.choice(items, min(independent, items), replace=False)
        vectors = [int.from_bytes(row.tobytes(), "little") for row in columns_of(code, chosen).reshape(-1, code.words)]
        rank = 0
        while vectors:
            pivot = vectors.pop()
            if pivot:
                rank += 1
                low = pivot & -pivot
                vectors = [one ^ pivot if one & low else one for one in vectors]
        assert rank == len(chosen) * bits


def test_corrected_seeds_agree_and_are_uniform():
    """Correcting every seed meets each seed that agrees equally often: a uniform one stays uniform."""
    code = SMALL
    seeds = _all_seeds(code)
    columns = columns_of(code, np.array([3, 0])).reshape(1, 4, code.words)
    for bits in product([False, True], repeat=4):
        shown = np.tile(np.array(bits), (len(seeds), 1))
        found = agreeing(seeds, np.repeat(columns, len(seeds), axis=0), shown)
        agreeing_seeds, counts = np.unique(found[:, 0], return_counts=True)
        assert len(agreeing_seeds) == len(seeds) // 16
        assert (counts == 16).all()
        values = _shown(code, agreeing_seeds[:, None], 5)
        assert (values[:, 3] == bits[0] + 2 * bits[1]).all()
        assert (values[:, 0] == bits[2] + 2 * bits[3]).all()


def test_statement_4_the_ratios_are_those_of_lists():
    """P[R'(t1) = seed] / P[R'(t2) = seed] = b[j1] / b[j2], by enumerating the seeds of a small code."""
    code, items, size, rho, keep = SMALL, 5, 2, 0.25, (0.2, 0.3, 0.5)
    inside = _shown(code, _all_seeds(code), items) < code.threshold(rho)
    default = [math.comb(size, j) * rho**j * (1 - rho) ** (size - j) for j in range(size + 1)]
    chances = []
    for basket in combinations(range(items), size):
        kept = inside[:, basket]
        pattern = kept @ np.array([1, 2])
        same = np.bincount(pattern, minlength=4)[pattern]  # seeds that agree with the basket as this one does
        number = kept.sum(axis=1)
        chance = np.array(keep)[number] / np.array([math.comb(size, j) for j in range(size + 1)])[number] / same
        assert chance.sum() == pytest.approx(1)
        chances.append((chance, (np.array(keep) / default)[number]))
    for (one, balanced_one), (other, balanced_other) in combinations(chances, 2):
        np.testing.assert_allclose(one / other, balanced_one / balanced_other, rtol=1e-12)


def _mechanism(code, items, rho):
    keep = ((1.0,), (0.3, 0.7), (0.2, 0.5, 0.3), (0.1, 0.2, 0.3, 0.4))
    operators = tuple(SizeOperator(rho if m else 0.0, p) for m, p in enumerate(keep))
    return SelectASize(Grid(0, 1, items), operators, nulls="keep", code=code)


def _seeds(lists, mechanism, **more):
    array = pa.array(lists, pa.list_(pa.int64()))
    rows = position_blocks(0, len(array))
    return randomize(array, mechanism, key=KEY, table="shop", column="items", rows=rows, **more)


@pytest.mark.parametrize(("bits", "rho"), [(1, 0.5), (2, 0.25), (3, 0.375)])
def test_statement_3_seeds_show_few_items_as_lists_do(bits, rho):
    """Itemsets of two items, with both, one and none of them in the basket, against the law of lists."""
    count, items, basket = 40_000, 50, (4, 17, 33)
    code = code_for(items, bits, 3 + 2)
    mechanism = _mechanism(code, items, rho)
    found = _seeds([basket] * count, mechanism)
    seeds = from_binary(found.values, code)
    inside = _shown(code, seeds, items) < code.threshold(rho)
    for itemset in ((4, 17), (33, 2), (0, 49)):
        law = np.zeros((2, 2))
        held = [item for item in itemset if item in basket]
        for j, probability in enumerate(mechanism.operators[3].keep):
            for kept in combinations(basket, j):
                for coins in product([0, 1], repeat=2):
                    chance = probability / math.comb(3, j)
                    for item, coin in zip(itemset, coins, strict=True):
                        if item in held:
                            chance *= (item in kept) == coin
                        else:
                            chance *= rho if coin else 1 - rho
                    law[coins] += chance
        counts = np.zeros((2, 2))
        np.add.at(counts, (inside[:, itemset[0]].astype(int), inside[:, itemset[1]].astype(int)), 1)
        assert ((counts - count * law) ** 2 / (count * law)).sum() < 16.3  # chi-square of 3, one in a thousand


def test_seeds_do_not_depend_on_batches_and_never_change():
    code = code_for(40, 2, 5)
    mechanism = _mechanism(code, 40, 0.25)
    lists = [None if i % 50 == 49 else [i % 40, (i * 7 + 1) % 40, (i * 3 + 2) % 40, 9][: i % 5] for i in range(600)]
    whole = _seeds(lists, mechanism)
    assert whole.values.type == pa.binary(code.seed_bytes)
    assert whole.values.null_count == 12
    assert _seeds(lists, mechanism, threads=1).values.equals(whole.values)
    text = repr((whole.values.to_pylist(), whole.sizes.to_pylist(), whole.cut))
    assert hashlib.sha256(text.encode()).hexdigest()[:32] == "05bb8e47ce71f0742f1f4ecb6489f002"


def test_seeds_as_bytes_and_back():
    code = Code(10, 7)
    seeds = np.random.default_rng(0).integers(0, 2**63, (9, code.words), dtype=np.uint64)
    seeds[:, -1] &= np.uint64((1 << (code.seed_bits - 64)) - 1)
    array = to_binary(seeds, code)
    np.testing.assert_array_equal(from_binary(array, code), seeds)
    np.testing.assert_array_equal(from_binary(array.slice(3), code), seeds[3:])
    assert shows(seeds, 5, np.full(9, 1), code).dtype == np.bool_


def test_codes_that_are_too_small_or_too_large():
    with pytest.raises(KernelError, match="too small"):
        _mechanism(code_for(50, 1, 2), 50, 0.5)
    with pytest.raises(KernelError, match="whole number of 1/2"):
        _mechanism(code_for(50, 1, 5), 50, 0.25)
    with pytest.raises(KernelError, match="more than a code of degree"):
        code_for(20_000_000, 1, 5)
