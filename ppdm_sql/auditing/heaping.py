"""Heaping: values so much commoner in the original than among draws that, published, they are all but surely true.

A set S of values has the prior P(S), its share of the original's rows, and R(S), its share of the domain that
replacements are drawn from. A published value that lies in S is its row's own with probability
``P(S) (p + (1 - p)/s) / (p P(S) + (1 - p) R(S))`` where draws are even: the relative prior P(S)/R(S) decides. No
parameter of the policy shows it; only the original does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.auditing.priors import drawn
from ppdm_sql.domain.domain import Grid
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_point, describe_value
from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.collusion import Numbers

CERTAIN = 0.95
"""From here on a published value is called all but certain."""
HEAPED = 5.0
"""The relative prior that a set must have: so much likelier than usual is a kept value among those published in it."""
ENOUGH = 0.99
"""Where a set is so sure already, no smaller set inside it is worth telling."""
LEAST_ROWS = 20
"""Sets that fewer rows are in tell of chance, or of single people."""
COMMONEST = 5
"""So many of the commonest values are looked at one by one."""
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
_TIMES = {60: "full minutes", 900: "quarters of an hour", 3_600: "full hours", 86_400: "midnights"}
_MICROSECONDS = 1_000_000
_MOST_DAYS = 4_000_000  # no date that DuckDB holds is further apart

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Heap:
    """A set of values, in words; how many rows are in it; its shares of rows and of draws; and what follows.

    `true` is the probability that a published value of the set is its row's own, `usual` that of any published value.
    """

    column: str
    words: str
    rows: int
    prior: float
    share: float
    true: float
    usual: float

    @property
    def relative_prior(self) -> float:
        """How many times commoner the set is among rows than among draws."""
        return self.prior / self.share

    @property
    def certain(self) -> bool:
        """Whether a published value of the set is all but certain because of heaping."""
        return self.true >= CERTAIN and self.relative_prior >= HEAPED


@dataclass(frozen=True)
class _Set:
    words: str
    members: Flags
    points: int


def heaps(column: RetainedColumn, values: Numbers, counts: Numbers) -> tuple[Heap, ...]:
    """The sets that make a published value all but certain, wider ones first.

    Parameters
    ----------
    values, counts
        The numbers of the values that occur, ascending, and how many rows have each.

    Returns
    -------
    tuple of Heap
        A set inside another is left out unless there is doubt left, and it halves that.
    """
    if not len(values) or column.retain >= 1:
        return ()
    if column.weights is not None:  # then every value of the domain weighs in, whether it occurs or not
        values, counts = np.arange(column.size), np.bincount(values, weights=counts, minlength=column.size).astype(int)
    found: list[tuple[Heap, Flags]] = []
    for each in sorted(_sets(column, values, counts), key=lambda one: -one.points):
        heap = _telling(column, each, values, counts)
        around = [known for known, members in found if not (each.members & ~members).any()]
        if heap is not None and all(_surer(heap, known) for known in around):
            found.append((heap, each.members))
    return tuple(heap for heap, _ in found)


def _surer(heap: Heap, around: Heap) -> bool:
    """Whether a set inside another is worth telling too."""
    return around.true < ENOUGH and 1 - heap.true <= (1 - around.true) / 2


def _telling(column: RetainedColumn, each: _Set, values: Numbers, counts: Numbers) -> Heap | None:
    """What follows for a set, if it is heaped, and not by one of its values alone: that value is a set of its own."""
    heap = _heap(column, each, values, counts)
    if heap is None or not heap.certain or each.points == 1:
        return heap if heap is not None and heap.certain else None
    rest = each.members.copy()
    rest[np.flatnonzero(rest)[counts[rest].argmax()]] = False
    without = _heap(column, _Set(each.words, rest, each.points - 1), values, counts)
    return heap if without is not None and without.certain else None


def _heap(column: RetainedColumn, each: _Set, values: Numbers, counts: Numbers) -> Heap | None:
    """What follows for a set; None where too few rows are in it."""
    inside, rows = int(counts[each.members].sum()), int(counts.sum())
    if inside < LEAST_ROWS or not each.points:
        return None
    p, prior = column.retain, inside / rows
    shares = drawn(column, values)
    own = float(counts @ shares) / rows  # how often a draw hits a row's own value
    within = float(counts[each.members] @ shares[each.members]) / rows
    share = each.points / column.size if column.weights is None else float(shares[each.members].sum())
    true = (p * prior + (1 - p) * within) / (p * prior + (1 - p) * share)
    return Heap(column.name, each.words, inside, prior, share, true, p + (1 - p) * own)


def _sets(column: RetainedColumn, values: Numbers, counts: Numbers) -> Iterator[_Set]:
    grid = column.domain
    if isinstance(grid, Grid):
        inside = values < grid.size
        yield from _bulk(column, grid, values, counts * inside)
        if column.type.family == "date":
            yield from _calendar(grid, values, inside)
        elif column.type.family == "timestamp":
            for seconds, words in _TIMES.items():
                yield from _multiples(grid, values, inside, seconds * _MICROSECONDS, words)
        else:
            yield from _round_numbers(grid, values, inside)
    for place in np.argsort(-counts, kind="stable")[:COMMONEST]:
        members = np.zeros(len(values), dtype=np.bool_)
        members[place] = True
        yield _Set(f"the value {describe_value(column, int(values[place]))}", members, 1)


def _bulk(column: RetainedColumn, grid: Grid, values: Numbers, counts: Numbers) -> Iterator[_Set]:
    """The middle nine rows in ten: a domain that is much wider than its data gives all of them away."""
    if not counts.sum():
        return
    shares = np.cumsum(counts) / counts.sum()
    low, high = (int(values[np.searchsorted(shares, q)]) for q in (0.05, 0.95))
    ends = [describe_point(column, grid.low + i * grid.step) for i in (low, high)]
    members = (values >= low) & (values <= high)
    yield _Set(f"from {ends[0]} to {ends[1]}, the middle nine rows in ten", members, high - low + 1)


def _round_numbers(grid: Grid, values: Numbers, inside: Flags) -> Iterator[_Set]:
    unit = 1
    while unit <= max(abs(grid.low), abs(grid.high)):
        for multiple in (unit, 5 * unit):
            yield from _multiples(grid, values, inside, multiple, _multiple_words(multiple, grid.scale))
        unit *= 10


def _multiple_words(multiple: int, scale: int) -> str:
    if multiple == 10**scale:
        return "whole numbers"
    digits = f"{multiple / 10**scale:,.{scale}f}"
    return f"multiples of {digits.rstrip('0').rstrip('.') if scale else digits}"


def _multiples(grid: Grid, values: Numbers, inside: Flags, multiple: int, words: str) -> Iterator[_Set]:
    """The grid's points that are multiples of a number of units; none where that is no coarser than the grid."""
    common = gcd(grid.step, multiple)
    every = multiple // common
    if every == 1 or grid.low % common:
        return
    # The first place i with low + i step = 0 modulo the multiple.
    first = -(grid.low // common) * pow(grid.step // common, -1, every) % every
    points = (grid.size - 1 - first) // every + 1 if first < grid.size else 0
    yield _Set(words, inside & (values % every == first), points)


def _calendar(grid: Grid, values: Numbers, inside: Flags) -> Iterator[_Set]:
    if grid.size > _MOST_DAYS:
        return
    epoch = np.datetime64("1970-01-01")
    days = grid.low + np.arange(grid.size) * grid.step
    dates = epoch + days.astype("timedelta64[D]")
    months = dates.astype("datetime64[M]")
    day = (dates - months).astype(np.int64) + 1
    month = months.astype(np.int64) % 12 + 1
    last = (months + 1).astype("datetime64[D]") - dates == np.timedelta64(1, "D")
    kinds = {
        "firsts of a month": day == 1,
        "fifteenths of a month": day == 15,
        "lasts of a month": last,
        "1 January": (day == 1) & (month == 1),
    }
    if grid.step % 7:
        kinds |= {words: (days + 3) % 7 == number for number, words in enumerate(_DAYS)}
    for words, flags in kinds.items():
        members = np.zeros(len(values), dtype=np.bool_)
        members[inside] = flags[values[inside]]
        yield _Set(words, members, int(flags.sum()))
