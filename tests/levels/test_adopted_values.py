"""Copies that are adopted are compared with the original and with each other: what is refused, and what never is."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import position_blocks

from ppdm_sql.domain.domain import Grid
from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.retained.publish_custom import CustomColumn
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.policy import RetainedColumn
from ppdm_sql.publishing.adopted_copies import Copy
from ppdm_sql.publishing.adopted_values import AdoptingColumn
from ppdm_sql.publishing.adopting import ALLOWED
from ppdm_sql.publishing.perturber import Rows

KEY = bytes(range(32))


def originals(rng, rows, size):
    return np.minimum(rng.geometric(min(0.3, 8 / size), rows), size) - 1


def drawn(rng, rows, size, weights=None):
    return rng.integers(0, size, rows) if weights is None else rng.choice(size, rows, p=weights / np.sum(weights))


def perturbed(rng, values, retain, size, weights=None):
    return np.where(rng.random(len(values)) < retain, values, drawn(rng, len(values), size, weights))


def adopt(original, copies, size, *, retain=0.5, weights=None, nulls="error", ids=None, batch=4_000):
    """Publish the column beside copies by retention, and let it be checked; NULL is the largest number."""
    points = size - 1 if nulls == "value" else size
    grid, kind = Grid(0, 1, points, 0), parse_type("BIGINT")
    column = RetainedColumn(
        "x", kind, grid, retain, nulls, "error", weights=None if weights is None else tuple(weights)
    )
    plain = (UniformColumn if weights is None else CustomColumn)(0, column, pa.int64())
    blocks = position_blocks(0, len(original))
    held = [
        Copy(f"adopted copy '{i}'", level, blocks if ids is None else ids, (np.asarray(values, dtype=np.uint64),))
        for i, (level, values) in enumerate(copies)
    ]
    adopting = AdoptingColumn(plain, held, ALLOWED)
    found = []
    for start in range(0, len(original), batch):
        part = pa.array(original[start : start + batch], mask=original[start : start + batch] >= points)
        rows = Rows.of("the source", "t", KEY, blocks[start : start + batch], start)
        found.append(adopting.perturb([part], rows)[0])
    adopting.check("the source")
    return pa.concat_arrays(found) if found else pa.array([])


CASES = [
    (2, None, "error"),
    (6, None, "error"),
    (7, None, "value"),
    (100_000, None, "error"),
    (6, (1.0, 5.0, 2.0, 9.0, 0.1, 3.0), "error"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_honest_copies_are_never_refused(case):
    size, weights, nulls = case
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = int(rng.choice([0, 1, 5, 60, 3_000]))
        original = originals(rng, rows, size)
        values, copies = original, []
        levels = sorted(rng.choice([0.9, 0.6, 0.3, 0.1, 0.02], int(rng.integers(1, 4)), replace=False), reverse=True)
        for upper, level in itertools.pairwise([1.0, *levels]):
            values = perturbed(rng, values, level / upper, size, weights)
            copies.append((level, values))
        adopt(original, copies, size, weights=weights, nulls=nulls)


def refused(match, original, copies, size, **more):
    with pytest.raises(SourceError, match=match):
        adopt(original, copies, size, **more)


@pytest.mark.parametrize("size", [2, 6, 1_000_000])
def test_a_retention_that_is_not_the_declared_one(size):
    rng = np.random.default_rng(1)
    original = originals(rng, 3_000, size)
    copy = perturbed(rng, original, 0.4, size)
    adopt(original, [(0.4, copy)], size)
    refused(r"'x' is declared to be kept with retention 0.9.*a retention of 0\.\d+ \(95 %: 0\.3", original,
            [(0.9, copy)], size)  # fmt: skip
    refused("with retention 0.1, but .*Declare the retention that it was made with", original, [(0.1, copy)], size)
    refused("a retention of 0", original, [(0.4, drawn(rng, 3_000, size))], size)
    refused("with retention 0.5, but", originals(rng, 3_000, size), [(0.5, copy)], size)  # other rows, or a column


def test_it_is_refused_as_soon_as_the_data_tell():
    """As a table grows, .9 that was .4 is seen from some twenty rows on, .4 that was .45 from some thousands."""
    size = 20

    def needed(true, said, seed):
        for rows in (5, 10, 20, 40, 1_000, 4_000, 16_000):
            rng = np.random.default_rng([seed, rows])
            original = originals(rng, rows, size)
            try:
                adopt(original, [(said, perturbed(rng, original, true, size))], size)
            except SourceError:
                return rows
        return None

    assert all(needed(0.4, 0.9, seed) in (20, 40) for seed in range(10))
    assert all(needed(0.45, 0.4, seed) in (4_000, 16_000) for seed in range(10))


def test_five_rows_tell_nothing():
    rng = np.random.default_rng(3)
    original = np.array([0, 1, 2, 3, 4])
    for _ in range(50):
        adopt(original, [(0.9, drawn(rng, 5, 6)), (0.4, drawn(rng, 5, 6))], 6)
    adopt(original, [(0.4, original)], 6)


def test_copies_that_are_not_coupled():
    rng = np.random.default_rng(4)
    original = originals(rng, 3_000, 6)
    better, worse = perturbed(rng, original, 0.6, 6), perturbed(rng, original, 0.3, 6)
    for copy, level in ((better, 0.6), (worse, 0.3)):
        adopt(original, [(level, copy)], 6)
    said = r"copy '0' \(0.6\) and adopted copy '1' \(0.3\).*which is 0.5 where.*not coupled.*Adopt one of them"
    refused(said, original, [(0.6, better), (0.3, worse)], 6)


def test_a_copy_that_knows_more_than_the_one_between():
    """All pairs agree as often as they should; but where the better copy lost the value, the worse one may have it."""
    rng = np.random.default_rng(5)
    size, rows = 6, 40_000
    original = rng.integers(0, size, rows)
    better = perturbed(rng, original, 0.6, size)
    lost = better != original
    honest = perturbed(rng, better, 0.5, size)
    worse = honest.copy()
    # Swap what is seen of the original: more of it where the better copy lost it, less where it has not.
    fresh = np.flatnonzero(lost & (honest != better) & (honest != original))
    chosen = rng.choice(fresh, 400, replace=False)
    worse[chosen] = original[chosen]
    agree = np.flatnonzero(~lost & (honest == original))
    back = rng.choice(agree, 400, replace=False)
    worse[back] = (original[back] + rng.integers(1, size, 400)) % size
    more = np.flatnonzero(lost & (honest != better) & (worse != original))[:400]
    worse[more] = better[more]
    refused("beyond what the copy between them kept", original, [(0.6, better), (0.3, worse)], size)


@pytest.mark.parametrize(
    ("replaced", "match"),
    [
        (lambda rng, x: np.clip(x + rng.choice([-1, 1], len(x)), 0, 99), "nearer to these, or farther"),
        (lambda rng, x: rng.choice(100, len(x), p=np.arange(1, 101) / 5050), "not spread over the domain"),
        (lambda rng, x: rng.integers(0, 50, len(x)), "not spread over the domain"),
    ],
)
def test_copies_that_were_replaced_by_something_else(replaced, match):
    rng = np.random.default_rng(6)
    original = rng.integers(0, 100, 6_000)
    copy = np.where(rng.random(6_000) < 0.4 + 0.6 / 100, original, replaced(rng, original))
    refused(match, original, [(0.4, copy)], 100)


def test_a_copy_that_keeps_some_values_and_others_not():
    rng = np.random.default_rng(7)
    original = rng.integers(0, 4, 6_000)
    copy = np.where(rng.random(6_000) < np.where(original < 2, 0.6, 0.2), original, rng.integers(0, 4, 6_000))
    refused("some values are kept more often than others", original, [(0.4, copy)], 4)


def test_weights_that_are_not_the_declared_ones():
    rng = np.random.default_rng(8)
    original, weights = rng.integers(0, 4, 6_000), (1.0, 2.0, 3.0, 4.0)
    adopt(original, [(0.4, perturbed(rng, original, 0.4, 4, weights))], 4, weights=weights)
    refused("adopted copy '0'", original, [(0.4, perturbed(rng, original, 0.4, 4))], 4, weights=weights)


def test_identities_that_match_nothing():
    rng = np.random.default_rng(9)
    original = originals(rng, 3_000, 6)
    copy = [(0.4, perturbed(rng, original, 0.4, 6))]
    refused("0 of its 3,000 rows have an identity that is found among the 3,000 rows of the source", original, copy, 6,
            ids=position_blocks(5_000, 3_000))  # fmt: skip
    refused("100 of its 3,000 rows", original, copy, 6, ids=position_blocks(2_900, 3_000))


def test_rows_that_are_gone_and_rows_that_are_new_are_fine():
    rng = np.random.default_rng(10)
    everybody = originals(rng, 4_000, 6)
    copy = perturbed(rng, everybody, 0.4, 6)
    there = position_blocks(0, 4_000)
    gone = everybody[:2_500]
    adopt(gone, [(0.4, copy)], 6, ids=there)
    grown = np.concatenate([everybody, originals(rng, 60_000, 6)])
    adopt(grown, [(0.4, copy)], 6, ids=there)


def test_rows_that_were_edited_since_are_left_out_of_the_copy():
    rng = np.random.default_rng(12)
    before = originals(rng, 20_000, 6)
    copy = perturbed(rng, before, 0.4, 6)
    edited = rng.random(20_000) < 0.1
    now = np.where(edited, rng.integers(0, 6, 20_000), before)
    refused("Where originals were edited since, leave their rows out of the copy", now, [(0.4, copy)], 6)
    adopt(now, [(0.4, copy[~edited])], 6, ids=position_blocks(0, 20_000)[~edited])


def test_null_stays_null_where_it_is_kept():
    rng = np.random.default_rng(11)
    original = rng.integers(0, 7, 3_000)  # 6 is NULL
    copy = np.where(original == 6, 6, perturbed(rng, original, 0.4, 6))

    def kept(values):
        grid = Grid(0, 1, 6, 0)
        plain = UniformColumn(0, RetainedColumn("x", parse_type("BIGINT"), grid, 0.5, "keep", "error"), pa.int64())
        blocks = position_blocks(0, 3_000)
        copies = [Copy("adopted copy 'old'", 0.4, blocks, (values.astype(np.uint64),))]
        adopting = AdoptingColumn(plain, copies, ALLOWED)
        array = pa.array(original, mask=original == 6)
        found = adopting.perturb([array], Rows.of("the source", "t", KEY, blocks))[0]
        adopting.check("the source")
        return found

    assert kept(copy).is_null().to_pylist() == (original == 6).tolist()
    copy[np.flatnonzero(original == 6)[:2]] = 3
    with pytest.raises(SourceError, match="NULL in the copy and not in the source, or the other way round, in 2 rows"):
        kept(copy)
