"""Whether copies of a column are what they are declared to be: kept and replaced as levels of one chain.

Counted while rows are read. Against the next better copy, or the original, a copy agrees with the chance
``r + (1 - r) * share of the value``, r the ratio of their retentions; where it does not agree, its value is a draw from
the replacing distribution without the better one's; and nothing else in the row plays a part. Each of these is looked
at: how often they agree, in all and value by value; how often a copy agrees with an earlier one that the one between
has lost; how the drawn values are spread over the domain, and how far they lie from the ones that they replaced.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from ppdm_udfs import Uniform

from ppdm_sql.publishing.chances import of_count

Words = npt.NDArray[np.uint64]
Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PARTS = 32
"""Into how many parts a large domain is cut to see how values are spread; runs of neighbours are looked at too."""


@dataclass
class Tally:
    """How many rows there were, how many were expected to agree, and how many did."""

    rows: int = 0
    expected: float = 0.0
    seen: int = 0
    shares: float = 0.0

    def add(self, agree: Flags, shares: Reals, kept: float, replaced: float) -> None:
        """Rows that agree with the chance kept + replaced * share."""
        shared = float(shares.sum())
        self.rows += len(agree)
        self.seen += int(np.count_nonzero(agree))
        self.shares += shared
        self.expected += len(agree) * kept + replaced * shared

    @property
    def chance(self) -> float:
        """A bound of the logarithm of the chance."""
        mean = self.expected / max(self.rows, 1)
        return of_count(self.seen, self.rows, mean, mean)

    @property
    def share(self) -> float:
        """The mean share of the values in the replacing distribution."""
        return self.shares / max(self.rows, 1)


@dataclass(frozen=True)
class Law:
    """The domain by number: its parts, and the share of each in the replacing distribution."""

    mechanism: Uniform

    @cached_property
    def edges(self) -> Words:
        """Where parts begin; NULL is one of its own where it is a value."""
        size, own = self.mechanism.domain.size, self.mechanism.nulls == "value"
        count = min(PARTS, size)
        starts = [part * size // count for part in range(count)]
        return np.array([*starts, size] if own else starts, dtype=np.uint64)

    def parts(self, index: Words) -> npt.NDArray[np.int64]:
        """The parts of values."""
        return np.searchsorted(self.edges, index, side="right").astype(np.int64) - 1

    @cached_property
    def weights(self) -> Reals | None:
        """The replacing distribution by value, None where it is even."""
        weights = getattr(self.mechanism, "weights", None)
        return None if weights is None else np.asarray(weights) / np.sum(weights)

    @cached_property
    def part_shares(self) -> Reals:
        """The share of each part."""
        ends = np.append(self.edges, np.uint64(self.mechanism.size)).astype(np.int64)
        weights = self.weights
        if weights is None:
            return np.asarray(np.diff(ends) / self.mechanism.size)
        return np.diff(np.concatenate([[0.0], np.cumsum(weights)])[ends])


class Link:
    """One copy against the next better one: `kept` is the ratio of their retentions."""

    def __init__(self, law: Law, kept: float) -> None:
        self._law = law
        self.kept = kept
        self.all = Tally()
        count = len(law.edges)
        self._rows, self._shares, self._agree = np.zeros(count), np.zeros(count), np.zeros(count)
        self._drawn, self._lost, self._scale = np.zeros(count), np.zeros(count), 0.0
        self._far = np.zeros(128)
        self._left = np.zeros(law.mechanism.size if law.weights is not None else 0)

    def add(self, upper: Words, lower: Words) -> None:
        """Rows of both, in one order."""
        law, size = self._law, self._law.mechanism.size
        shares = law.mechanism.shares(upper)
        agree = upper == lower
        self.all.add(agree, shares, self.kept, 1 - self.kept)
        parts, count = law.parts(upper), len(self._rows)
        self._rows += np.bincount(parts, minlength=count)
        self._shares += np.bincount(parts, shares, minlength=count)
        self._agree += np.bincount(parts[agree], minlength=count)
        if size < 3:
            return  # there is one other value only
        other = ~agree
        left, drawn, shares, parts = upper[other], lower[other], shares[other], parts[other]
        self._drawn += np.bincount(law.parts(drawn), minlength=count)
        self._lost += np.bincount(parts, shares / (1 - shares), minlength=count)
        self._scale += float((1 / (1 - shares)).sum())
        around = (drawn + (np.uint64(size) - left)) % np.uint64(size)
        self._far += np.bincount(_distance(around, size), minlength=128)
        if len(self._left):
            self._left += np.bincount(left.astype(np.int64), minlength=size)

    def chances(self) -> Iterator[tuple[str, float]]:
        """What else was looked at, and a bound of the logarithm of its chance."""
        expected = self.kept * self._rows + (1 - self.kept) * self._shares
        for part in _ranges(len(self._rows)):
            rows = self._rows[part].sum()
            mean = expected[part].sum() / max(rows, 1)
            yield "values", of_count(self._agree[part].sum(), rows, mean, mean)
        replaced = self._drawn.sum()
        drawn = self._law.part_shares * self._scale - self._lost
        for part in _ranges(len(self._rows)):
            mean = drawn[part].sum() / max(replaced, 1)
            yield "spread", of_count(self._drawn[part].sum(), replaced, mean, mean)
        for place, mean in self._distances():
            yield "distance", of_count(self._far[place], replaced, mean, mean)

    def _distances(self) -> Iterator[tuple[int, float]]:
        """Each distance by its power of two, up and down, and how large a share of replaced values it should have."""
        size, law = self._law.mechanism.size, self._law
        weights = law.weights
        if size < 4 or not self._drawn.sum():
            return
        for power in range(max(size // 2, 1).bit_length()):
            for up in (True, False):
                # up is at most half way round, down less than that
                last = min(2 ** (power + 1) - 1, size // 2 if up else (size - 1) // 2)
                first = 2**power
                if first > last:
                    continue
                low, high = (first, last + 1) if up else (size - last, size - first + 1)
                place = 2 * power + (0 if up else 1)
                if weights is None:
                    yield place, (high - low) / (size - 1)
                else:
                    twice = np.concatenate([[0.0], np.cumsum(np.concatenate([weights, weights]))])
                    value = np.arange(size)
                    shares = (twice[value + high] - twice[value + low]) / (1 - weights)
                    yield place, float(self._left @ shares) / float(self._left.sum())


@dataclass
class Chain:
    """Copies of one column, by falling retention, against the original and each other."""

    mechanism: Uniform
    retentions: Sequence[float]
    rows: int = 0
    odd: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        law = Law(self.mechanism)
        levels = [1.0, *self.retentions]
        self.odd = [0 for _ in self.retentions]
        self.originals = [Tally() for _ in self.retentions]
        self.links = [Link(law, lower / upper) for upper, lower in itertools.pairwise(levels)]
        self.past = {(i, j): (Tally(), Tally()) for j in range(2, len(levels)) for i in range(j - 1)}

    def add(self, original: Words, copies: Sequence[Words]) -> None:
        """A batch of rows that all copies have."""
        size = np.uint64(self.mechanism.size)
        values = [original, *copies]
        for place, copy in enumerate(copies):
            self.odd[place] += int(np.count_nonzero((copy < size) != (original < size)))
        taking = np.logical_and.reduce([value < size for value in values])
        if not taking.all():
            values = [value[taking] for value in values]
        self.rows += len(values[0])
        shares = [self.mechanism.shares(value) for value in values[:-1]]
        for tally, retain, copy in zip(self.originals, self.retentions, values[1:], strict=True):
            tally.add(copy == values[0], shares[0], retain, 1 - retain)
        for link, upper, lower in zip(self.links, values[:-1], values[1:], strict=True):
            link.add(upper, lower)
        for (i, j), (same, lost) in self.past.items():
            kept = values[j - 1] == values[i]
            agree, ratio = values[j] == values[i], self.links[j - 1].kept
            same.add(agree[kept], shares[i][kept], ratio, 1 - ratio)
            lost.add(agree[~kept], shares[i][~kept], 0.0, 1 - ratio)


def _distance(around: Words, size: int) -> npt.NDArray[np.int64]:
    """How far the way round is, as a power of two, twice it, and one more for the way down."""
    down = around > np.uint64(size // 2)
    way = np.where(down, np.uint64(size) - around, around)
    return 2 * (np.frexp(way.astype(np.float64))[1].astype(np.int64) - 1) + down


def _ranges(count: int) -> Iterator[slice]:
    """All parts, pairs of neighbours, fours, and so on, but not all together."""
    width = 1
    while width < count:
        yield from (slice(start, min(start + width, count)) for start in range(0, count, width))
        width *= 2
