"""Select-a-size in the kernel: its law, its keys, what it refuses, and the same bytes for ever."""

import hashlib
import math
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Grid, KernelError, NullFound, OutsideDomain, Values, position_blocks
from ppdm_udfs.baskets import SelectASize, SizeOperator, randomize

KEY = bytes(range(32))
KEEP = ((1.0,), (0.3, 0.7), (0.2, 0.5, 0.3), (0.1, 0.2, 0.3, 0.4))


def mechanism(rho, items=6, keep=KEEP, **more):
    return SelectASize(Grid(0, 1, items), tuple(SizeOperator(rho if m else 0.0, p) for m, p in enumerate(keep)), **more)


def run(lists, how, key=KEY, first=0, kind=None, **more):
    array = pa.array(lists, kind or pa.list_(pa.int32()))
    rows = position_blocks(first, len(array))
    return randomize(array, how, key=key, table="shop", column="items", rows=rows, **more)


@pytest.mark.parametrize("rho", [0.3, 0.01, 0.6, 1 / 64, 0.002])
def test_the_law_of_the_whole_basket(rho):
    """Every set of items comes out as often as the definition says, for bytes and for gaps."""
    count, items, basket = 60_000, 6, (1, 3, 4)
    found = run([basket] * count, mechanism(rho, items))
    masks = [sum(1 << item for item in one) for one in found.values.to_pylist()]
    counts = np.bincount(masks, minlength=1 << items)
    expected = np.zeros(1 << items)
    for j, probability in enumerate(KEEP[3]):
        for kept in combinations(basket, j):
            for number in range(8):
                extra = [item for bit, item in enumerate((0, 2, 5)) if number >> bit & 1]
                chance = rho ** len(extra) * (1 - rho) ** (3 - len(extra))
                expected[sum(1 << i for i in (*kept, *extra))] += count * probability / math.comb(3, j) * chance
    large = expected > 4
    chi = ((counts - expected)[large] ** 2 / expected[large]).sum() + abs(counts[~large].sum() - expected[~large].sum())
    assert chi < large.sum() + 5 * math.sqrt(2 * large.sum())


@pytest.mark.parametrize("rho", [0.01, 0.2])
def test_added_items_are_independent_coins_over_a_large_item_set(rho):
    count, items = 4_000, 1_000
    found = run([[7, 500, 999]] * count, mechanism(rho, items))
    seen = np.zeros((count, items), dtype=bool)
    seen[np.repeat(np.arange(count), np.diff(found.values.offsets.to_numpy())), found.values.values.to_numpy()] = True
    others = np.delete(seen, [7, 500, 999], axis=1)
    sizes = others.sum(axis=1)
    assert sizes.mean() == pytest.approx(997 * rho, abs=5 * math.sqrt(997 * rho * (1 - rho) / count))
    assert sizes.var() == pytest.approx(997 * rho * (1 - rho), rel=0.12)
    spread = (others.sum(axis=0) - count * rho) / math.sqrt(count * rho * (1 - rho))
    assert abs(spread).max() < 4.5
    assert spread.var() == pytest.approx(1, abs=0.25)
    neighbours = (others[:, 1:] & others[:, :-1]).sum()
    assert neighbours == pytest.approx(count * 996 * rho**2, abs=5 * math.sqrt(count * 996 * rho**2))


@pytest.mark.parametrize("rho", [0.3, 0.01])
def test_neither_order_nor_repeats_nor_batches_matter(rho):
    rng = np.random.default_rng(1)
    lists = [sorted(rng.choice(40, rng.integers(0, 4), replace=False).tolist()) for _ in range(3_000)]
    how = mechanism(rho, 40)
    whole = run(lists, how)
    mixed = run([rng.permutation(one + one[:1]).tolist() for one in lists], how, threads=1)
    assert mixed.values.equals(whole.values)
    assert mixed.sizes.equals(whole.sizes)
    parts = [run(lists[start : start + 700], how, first=start) for start in range(0, 3_000, 700)]
    assert pa.concat_arrays([part.values for part in parts]).equals(whole.values)
    for one in whole.values.to_pylist()[:200]:
        assert one == sorted(set(one))


def test_other_keys_names_and_parameters_draw_other_coins():
    lists = [[1, 2, 3]] * 300
    base = run(lists, mechanism(0.3)).values
    assert not run(lists, mechanism(0.3), key=bytes(32)).values.equals(base)
    assert not run(lists, mechanism(0.3), first=1).values.equals(base)
    nearly = run(lists, mechanism(0.3 + 1e-9)).values
    agreeing = sum(a == b for a, b in zip(nearly.to_pylist(), base.to_pylist(), strict=True))
    assert agreeing < 60


def test_baskets_above_the_limit_are_cut_evenly():
    """With everything kept and nothing added, what is left is the cut itself."""
    everything = ((1.0,), (0.0, 1.0), (0.0, 0.0, 1.0))
    found = run([[0, 1, 2, 3]] * 12_000 + [[5]] * 10 + [[]] * 10, mechanism(0.0, 6, everything))
    assert found.cut == 12_000
    assert found.sizes.to_pylist() == [2] * 12_000 + [1] * 10 + [0] * 10
    pairs, counts = np.unique([one[0] * 10 + one[1] for one in found.values.to_pylist()[:12_000]], return_counts=True)
    assert pairs.tolist() == [1, 2, 3, 12, 13, 23]
    assert ((counts - 2_000) ** 2 / 2_000).sum() < 20.5  # chi-square of 5, one in a thousand


def test_types_and_nulls():
    texts = Values(pa.array(["milk", "bread", "it's", "ünï"]))
    how = SelectASize(texts, tuple(SizeOperator(0.4 if m else 0.0, p) for m, p in enumerate(KEEP)), nulls="keep")
    for kind in (pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))):
        found = run([["bread", "milk"], None, [], ["it's"]], how, kind=kind)
        assert found.values.type == kind
        assert found.sizes.to_pylist() == [2, None, 0, 1]
        assert found.values[1].as_py() is None
        assert found.values[2].as_py() == []
    fixed = run([["bread", "milk"]], how, kind=pa.list_(pa.string(), 2))
    assert fixed.values.type == pa.list_(pa.string())
    empty = run([], how, kind=pa.list_(pa.string()))
    assert len(empty.values) == len(empty.sizes) == 0


def test_refusals_name_rows_and_never_values():
    with pytest.raises(NullFound) as error:
        run([[1], None, None], mechanism(0.3))
    assert (error.value.offset, error.value.count) == (1, 2)
    with pytest.raises(NullFound) as error:
        run([[1], [2, None, None], [None]], mechanism(0.3))
    assert (error.value.offset, error.value.count) == (1, 2)
    with pytest.raises(OutsideDomain) as error:
        run([[1], [2], [77, 78], [3], [99]], mechanism(0.3))
    assert (error.value.offset, error.value.count) == (2, 2)
    with pytest.raises(KernelError, match="holds no baskets"):
        run([1, 2], mechanism(0.3), kind=pa.int32())


def test_parameters_that_cannot_be_meant():
    with pytest.raises(KernelError, match="no more than there are items"):
        mechanism(0.3, 2)
    with pytest.raises(KernelError, match="sum to 1"):
        mechanism(0.3, keep=((1.0,), (0.5, 0.6)))
    with pytest.raises(KernelError, match="rho"):
        mechanism(1.0)
    with pytest.raises(KernelError, match="nulls"):
        mechanism(0.3, nulls="value")


@pytest.mark.parametrize(
    ("rho", "expected"),
    [(0.3, "418f4897084e149684966a3cc22c2b8f"), (0.004, "a99aadbca3a91d7f58de69038b9ba28a")],
)
def test_the_same_bytes_for_ever(rho, expected):
    """A release must come out the same in every version: these values never change."""
    lists = [[i % 300, (i * 7 + 1) % 300, (i * 13 + 2) % 300, (i + 5) % 300][: i % 5] for i in range(400)]
    found = run(lists, mechanism(rho, 300))
    text = repr((found.values.to_pylist(), found.sizes.to_pylist(), found.cut))
    assert hashlib.sha256(text.encode()).hexdigest()[:32] == expected
