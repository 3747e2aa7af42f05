"""The kernels' frequencies against the transition probabilities that reconstruction inverts."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Grid, Uniform, Values, decode, encode, perturb, perturb_indices, position_blocks

KEY = bytes(range(32))
HUGE = 10**30
DAY = 86_400_000_000


def transition(size, retain):
    return retain * np.eye(size) + (1 - retain) / size


def worst(before, after, size, retain):
    """Largest distance of any transition count from its expectation, in standard errors."""
    counts = np.bincount((before * np.uint64(size) + after).astype(np.int64), minlength=size * size)
    counts = counts.reshape(size, size)
    rows = counts.sum(axis=1, keepdims=True)
    expected = transition(size, retain)
    return float(np.max(np.abs(counts - rows * expected) / np.sqrt(rows * expected * (1 - expected))))


KINDS = {
    **{
        f"{kind}{low:+}": (kind, Grid(low, 1, 7))
        for kind, low in (
            (pa.int8(), -128),
            (pa.int8(), 121),
            (pa.int16(), -3),
            (pa.int32(), 2**31 - 7),
            (pa.int64(), -(2**63)),
            (pa.int64(), 2**63 - 7),
            (pa.uint8(), 249),
            (pa.uint16(), 0),
            (pa.uint32(), 2**32 - 7),
            (pa.uint64(), 2**64 - 7),
        )
    },
    "integer with a step": (pa.int32(), Grid(-100, 50, 5)),
    "hugeint": (pa.decimal128(38, 0), Grid(-HUGE, 10**9, 6)),
    "hugeint across 2**64": (pa.decimal128(38, 0), Grid(2**64 - 3, 1, 6)),
    "hugeint at its end": (pa.decimal128(38, 0), Grid(2**127 - 6, 1, 6)),
    "float64": (pa.float64(), Grid(-2, 1, 6, scale=1)),
    "float32": (pa.float32(), Grid(-200, 50, 6, scale=2)),
    "decimal": (pa.decimal128(9, 2), Grid(-150, 50, 6, scale=2)),
    "decimal of finer scale": (pa.decimal128(38, 18), Grid(0, 10, 6, scale=1)),
    "decimal32": (pa.decimal32(9, 2), Grid(-150, 50, 6, scale=2)),
    "decimal64": (pa.decimal64(18, 2), Grid(-150, 50, 6, scale=2)),
    "decimal256": (pa.decimal256(40, 2), Grid(-150, 50, 6, scale=2)),
    "date32": (pa.date32(), Grid(-3, 1, 7)),
    "date64": (pa.date64(), Grid(-3, 1, 7)),
    "timestamp s": (pa.timestamp("s"), Grid(-DAY, DAY // 2, 5)),
    "timestamp ms": (pa.timestamp("ms"), Grid(-DAY, DAY // 2, 5)),
    "timestamp us": (pa.timestamp("us", "UTC"), Grid(-7, 7, 5)),
    "timestamp ns": (pa.timestamp("ns"), Grid(-7, 7, 5)),
    "boolean": (pa.bool_(), Values(pa.array([False, True]))),
    "varchar": (pa.string(), Values(pa.array(["Sales", "", "Tech-support", "ü"]))),
    "string view": (pa.string_view(), Values(pa.array(["a", "b", "c"]))),
    "dictionary": (pa.dictionary(pa.uint8(), pa.string()), Values(pa.array(["x", "y", "z"]))),
    "listed integers": (pa.int16(), Values(pa.array([7, -1, 300]))),
    "listed decimals": (pa.decimal128(5, 2), Values(pa.array([Decimal("1.50"), Decimal("2.00")]))),
    "uuid": (pa.uuid(), Values(pa.array([b"a" * 16, b"b" * 16], pa.binary(16)))),
}


def sample(count, size, seed=7):
    return np.random.default_rng(seed).integers(0, size, count).astype(np.uint64)


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_domain_follows_the_transition_matrix(name):
    kind, domain = KINDS[name]
    count, retain = 150_000, 0.4
    before = sample(count, domain.size)
    array = decode(before, domain, kind)
    rows = position_blocks(0, count)
    result = perturb(array, Uniform(domain, retain), key=KEY, table="t", column=name, rows=rows)
    assert result.type == array.type == kind
    result.validate(full=domain is not KINDS["hugeint at its end"][1])  # beyond what Arrow thinks 38 digits hold
    after = encode(result, domain)
    assert set(np.unique(after)) == set(range(domain.size))
    assert worst(before, after, domain.size, retain) < 5


def test_ten_million_integers_follow_the_transition_matrix():
    count, retain, domain = 10_000_000, 0.3, Grid(17, 1, 74)
    before = sample(count, 74)
    array = decode(before, domain, pa.int16())
    result = perturb(
        array, Uniform(domain, retain), key=KEY, table="adult", column="age", rows=position_blocks(0, count)
    )
    after = encode(result, domain)
    assert worst(before, after, 74, retain) < 5
    # One number for all cells together: the largest cell hides a small error spread over all of them.
    kept = np.count_nonzero(before == after)
    share = retain + (1 - retain) / 74
    assert abs(kept - count * share) < 5 * np.sqrt(count * share * (1 - share))
    replaced = np.bincount(after[before != after].astype(np.int64), minlength=74)
    expected = (1 - retain) / 74 * (count - np.bincount(before.astype(np.int64), minlength=74))
    chi2 = float(((replaced - expected) ** 2 / expected).sum())
    assert chi2 < 74 + 5 * np.sqrt(2 * 74)


def test_the_check_notices_a_slightly_wrong_retention_or_measure():
    count = 2_000_000
    before = sample(count, 7)
    after = perturb_indices(before, 7, 0.3, key=KEY, table="t", column="c", rows=position_blocks(0, count))
    assert worst(before, after, 7, 0.3) < 5
    assert worst(before, after, 7, 0.305) > 5
    short = perturb_indices(before, 6, 0.3, key=KEY, table="t", column="c", rows=position_blocks(0, count))
    assert worst(before, short, 7, 0.3) > 5


def test_null_as_a_value_is_drawn_and_kept_like_any_other():
    count, retain, domain = 500_000, 0.4, Values(pa.array(["a", "b"]))
    before = sample(count, 3)
    array = decode(before, domain, pa.string())
    mechanism = Uniform(domain, retain, nulls="value")
    result = perturb(array, mechanism, key=KEY, table="t", column="c", rows=position_blocks(0, count))
    assert worst(before, encode(result, domain, nulls="value"), 3, retain) < 5


@pytest.mark.parametrize("kind", [pa.int32(), pa.dictionary(pa.int8(), pa.int32()), pa.float64()])
def test_null_that_is_kept_takes_no_part(kind):
    count, retain, domain = 300_000, 0.4, Grid(0, 1, 3)
    if pa.types.is_dictionary(kind):
        domain = Values(pa.array([0, 1, 2], pa.int32()))
    before = sample(count, 4)
    array = decode(before, domain, kind)
    mechanism = Uniform(domain, retain, nulls="keep")
    result = perturb(array, mechanism, key=KEY, table="t", column="c", rows=position_blocks(0, count))
    after = encode(result, domain, nulls="keep")
    assert np.array_equal(before == 3, after == 3)
    some = before < 3
    assert worst(before[some], after[some], 3, retain) < 5


@pytest.mark.parametrize("size", [3 << 51, (1 << 53) - 1, 1 << 53, (1 << 33) + 1, 3 << 30])
def test_no_modulo_bias_on_huge_domains(size):
    """A modulo of 53 random bits by 3 * 2**51 would draw the low third twice as often as the rest."""
    count, parts = 1_000_000, 30
    start = np.zeros(count, dtype=np.uint64)
    drawn = perturb_indices(start, size, 1e-9, key=KEY, table="t", column="c", rows=position_blocks(0, count))
    assert int(drawn.max()) < size
    edges = np.array([size * part // parts for part in range(parts + 1)], dtype=np.float64)
    counts = np.histogram(drawn.astype(np.float64), edges)[0]
    chi2 = float(((counts - count / parts) ** 2 / (count / parts)).sum())
    assert chi2 < (parts - 1) + 5 * np.sqrt(2 * (parts - 1))


def test_a_retention_of_one_keeps_everything():
    before = sample(100_000, 9)
    rows = position_blocks(0, len(before))
    assert np.array_equal(perturb_indices(before, 9, 1.0, key=KEY, table="t", column="c", rows=rows), before)


def test_columns_and_tables_have_coins_of_their_own():
    count, size = 200_000, 16
    start = np.zeros(count, dtype=np.uint64)
    rows = position_blocks(0, count)

    def at(table, column, key=KEY):
        return perturb_indices(start, size, 1e-6, key=key, table=table, column=column, rows=rows)

    first = at("adult", "age")
    assert np.array_equal(first, at("Adult", "AGE"))
    for other in (at("adult", "hours"), at("other", "age"), at("adulta", "ge"), at("adult", "age", bytes(32))):
        agree = np.count_nonzero(first == other)
        assert abs(agree - count / size) < 5 * np.sqrt(count / size)
