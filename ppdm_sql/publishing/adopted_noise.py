"""Columns with noise of which copies are out already: new levels are drawn between them, which are judged on the way.

Columns whose noise goes together are adopted together, at one noise. Nothing but the copies is needed to find the
paths of their rows again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import Gaussian, NoiseGap, noise_between
from ppdm_udfs.buffers import build
from ppdm_udfs.coins import digest
from ppdm_udfs.gaussian import numbers_of

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.gaussian.publish import FromData, NoisedColumns
from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.publishing.adopted_copies import Copy, Matching
from ppdm_sql.publishing.adopted_values import EDITED
from ppdm_sql.publishing.noise_law import Sample
from ppdm_sql.publishing.perturber import Perturber, Rows

Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Law:
    """What is summed up of the copies: each against the originals, and each against the next less noisy one."""

    copies: tuple[Sample, ...]
    steps: tuple[Sample, ...]

    @staticmethod
    def of(kernels: Sequence[Gaussian], levels: Sequence[float]) -> Law:
        """Of columns that belong together, by rising noise."""
        covariance, widths = _covariance(kernels), [kernel.step.width for kernel in kernels]
        count = len(kernels)
        copies = tuple(Sample(level * covariance, widths, 1, count) for level in levels)
        apart = [upper - lower for lower, upper in itertools.pairwise(levels)]
        return Law(copies, tuple(Sample(more * covariance, widths, 2, count) for more in apart))

    def add(self, original: Reals, copies: Sequence[Reals]) -> None:
        """Rows of all, shape (columns, rows), with NaN for NULL."""
        known = np.logical_and.reduce([np.isfinite(values) for values in (original, *copies)])
        original = np.where(known, original, 0.0)
        noise = [np.where(known, values, 0.0) - original for values in copies]
        for sample, values in zip(self.copies, noise, strict=True):
            sample.add(values, known, original, known)
        for sample, (less, more) in zip(self.steps, itertools.pairwise(noise), strict=True):
            sample.add(more - less, known, less, known)


class AdoptingNoise(Perturber):
    """Columns that belong together, or one alone; `allowed` is how often honest copies of them may be refused."""

    def __init__(self, plain: NoisedColumns | FromData, copies: Sequence[Copy], allowed: float) -> None:
        super().__init__(plain.columns)
        self.passes = plain.passes
        self.names = tuple(column.name for column in plain.noisy)
        self.copies = sorted(copies, key=lambda copy: copy.level)
        self._plain = plain
        self._allowed = allowed
        self._matching = Matching(self.copies)
        self._law: Law | None = None
        self._odd = [0] * len(copies)

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """As without copies."""
        self._plain.look(number, arrays, rows)

    def looked(self, number: int) -> None:
        """As without copies."""
        self._plain.looked(number)

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """Rows that are in the copies are drawn between them, new ones as ever."""
        plain = self._plain.settled
        known, places = self._matching.find(rows)
        if not known.any():
            return plain.perturb(arrays, rows)
        copies = [
            np.stack([column[found] for column in copy.columns])
            for copy, found in zip(self.copies, places, strict=True)
        ]
        mask = pa.array(known)
        mine = [array.filter(mask) for array in arrays]
        self._judge(plain, mine, copies)
        if known.all():
            noise = [np.zeros(len(known)) for _ in arrays]
        else:
            noise = [found for _, found in plain.noise(arrays, rows)]
        exact: dict[int, Reals] = {}
        for i, total in self._between(plain.kernels, mine, copies, known, rows).items():
            noise[i][known] = total - numbers_of(mine[i])[0]
        for i, kernel in enumerate(plain.kernels):
            for copy, values in zip(self.copies, copies, strict=True):
                if copy.level == float(kernel.magnitude):
                    exact[i] = values[i]
        released = []
        for i, array in enumerate(arrays):
            noisy = plain.noised(i, array, noise[i], rows)
            released.append(_replaced(noisy, known, exact[i]) if i in exact else noisy)
        return plain.seen(released)

    def _between(
        self, kernels: Sequence[Gaussian], mine: Sequence[pa.Array], copies: Sequence[Reals], known: Flags, rows: Rows
    ) -> dict[int, Reals]:
        """The noisy numbers, before rounding, of columns that are at no copy's own level."""
        levels = [copy.level for copy in self.copies]
        gaps: dict[int, list[int]] = {}
        for i, kernel in enumerate(kernels):
            if float(kernel.magnitude) not in levels:
                gaps.setdefault(int(np.searchsorted(levels, float(kernel.magnitude))), []).append(i)
        ends = [list(mine), *([_array(column) for column in copy] for copy in copies)]
        marks: list[float | None] = [None, *levels, None]
        result: dict[int, Reals] = {}
        for gap, wanted in gaps.items():
            found = noise_between(
                ends[gap],
                ends[gap + 1] if gap + 1 < len(ends) else None,
                NoiseGap(marks[gap], marks[gap + 1]),
                kernels,
                wanted,
                key=rows.key,
                table=rows.table,
                rows=rows.keyed[known],
                threads=rows.threads,
            )
            result.update(zip(wanted, found, strict=True))
        return result

    def _judge(self, plain: NoisedColumns, mine: Sequence[pa.Array], copies: Sequence[Reals]) -> None:
        """Take rows into account for `check`."""
        if self._law is None:
            self._law = Law.of(plain.kernels, [copy.level for copy in self.copies])
            for copy, sample in zip(self.copies, self._law.copies, strict=True):
                for name, deviation, step in zip(self.names, sample.deviations, sample.steps, strict=True):
                    if step > deviation:
                        raise PolicyError(
                            f"{copy.where}: the step of column {name!r}, {step:g}, is coarser than noise {copy.level:g}"
                            f", whose standard deviation is {deviation:.4g}: such a copy shows the original again."
                        )
        original = np.stack([_numbers(array) for array in mine])
        for place, values in enumerate(copies):
            self._odd[place] += int(np.count_nonzero((np.isnan(values) != np.isnan(original)).any(axis=0)))
        self._law.add(original, copies)

    def coins(self) -> Mapping[int, str]:
        """Those of the columns without copies, and the copies."""
        words = [word for copy in self.copies for word in (copy.level.hex(), copy.digest)]
        return {place: digest("adopted", plain, *words) for place, plain in self._plain.coins().items()}

    def released(self) -> Mapping[int, PerturbedColumn]:
        """As without copies."""
        return self._plain.released()

    def check(self, where: str) -> None:
        """Whether the copies are what they are declared to be."""
        self._plain.check(where)
        self._matching.check()
        for copy, count in zip(self.copies, self._odd, strict=True):
            if count:
                raise SourceError(
                    f"{copy.where}: {_named(self.names)} is NULL in the copy and not in the source, or the other way "
                    f'round, in {count:,} rows, where nulls = "keep" leaves NULL as it is. {EDITED}'
                )
        if self._law is None:
            return
        samples = [*self._law.copies, *self._law.steps]
        sizes = [(place, i, chance) for place, sample in enumerate(samples) for i, chance in enumerate(sample.sizes())]
        limit = math.log(self._allowed / (4 * len(sizes)))  # half of it for these, two sides each
        for place, i, chance in sizes:
            if chance < limit:
                raise SourceError(self._wrong_size(place, i))
        others = [(place, *found) for place, sample in enumerate(samples) for found in sample.chances()]
        limit = math.log(self._allowed / (4 * len(others)))
        for place, kind, i, chance in others:
            if chance < limit:
                raise SourceError(self._wrong_otherwise(place, kind, i))

    def _wrong_size(self, place: int, i: int) -> str:
        assert self._law is not None
        count = len(self.copies)
        sample = [*self._law.copies, *self._law.steps][place]
        unit = float(sample.covariance[i, i]) / self._declared(place)
        found, low, high = (value / unit for value in sample.found(i))
        rows = int(sample.rows[i, i])
        if place < count:
            copy = self.copies[place]
            return (
                f"{copy.where}: column {self.names[i]!r} is declared to have noise {copy.level:g}, but in {rows:,} "
                f"rows the copy differs from the source by noise {found:.3g} (95 %: {low:.3g} to {high:.3g}), as a "
                f"multiple of the variance {unit:.4g} that this policy's noise is relative to. Declare the noise that "
                "it was made with, or the deviation or covariance of then; far too much says that it is a copy of "
                f"another column, or that its rows are known by something else. {EDITED}"
            )
        less, more = self.copies[place - count], self.copies[place - count + 1]
        return (
            f"{less.where} ({less.level:g}) and {more.where} ({more.level:g}): column {self.names[i]!r} of the two "
            f"differs by noise {found:.3g} (95 %: {low:.3g} to {high:.3g}) in {rows:,} rows, which is "
            f"{more.level - less.level:.3g} where copies are levels of one path. {_UNCOUPLED}"
        )

    def _wrong_otherwise(self, place: int, kind: str, i: int) -> str:
        assert self._law is not None
        count = len(self.copies)
        rows = int([*self._law.copies, *self._law.steps][place].rows[i, i])
        if place < count:
            copy = self.copies[place]
            return (
                f"{copy.where}: column {self.names[i]!r} is declared to have noise {copy.level:g}, and differs from "
                f"the source by about as much, but {_WRONG[kind]}: {rows:,} rows could hardly show that by chance. It "
                f"was made by something else, and cannot be adopted. {EDITED}"
            )
        less, more = self.copies[place - count], self.copies[place - count + 1]
        return (
            f"{less.where} ({less.level:g}) and {more.where} ({more.level:g}): column {self.names[i]!r} of the two "
            f"differs by about as much as levels of one path do, but {_WRONG_STEP[kind]}: {rows:,} rows could hardly "
            f"show that by chance. {_UNCOUPLED}"
        )

    def _declared(self, place: int) -> float:
        count = len(self.copies)
        if place < count:
            return self.copies[place].level
        return self.copies[place - count + 1].level - self.copies[place - count].level


_UNCOUPLED = (
    "They are not coupled: together they tell more than the less noisy one alone, and no new level can be coupled with "
    "both. Adopt one of them, and add up what it and the other tell."
)
_WRONG = {
    "mean": "what was added is not 0 on average",
    "shape": "what was added is not normal",
    "others": "what was added follows the original values",
    "together": "what was added does not go with the other columns' noise as this policy's covariance says",
}
_WRONG_STEP = {
    "mean": "not by 0 on average",
    "shape": "what the noisier one has more is not normal",
    "others": "what the noisier one has more follows the noise of the other",
    "together": "not by what goes with the other columns' noise as this policy's covariance says",
}


def _covariance(kernels: Sequence[Gaussian]) -> Reals:
    """K, from the rows of its factor."""
    names = sorted({name.casefold() for kernel in kernels for name in kernel.columns})
    triangle = np.zeros((len(kernels), len(names)))
    for i, kernel in enumerate(kernels):
        for name, weight in zip(kernel.columns, kernel.weights, strict=True):
            triangle[i, names.index(name.casefold())] = weight
    return np.asarray(triangle @ triangle.T)


def _numbers(array: pa.Array) -> Reals:
    values, nulls = numbers_of(array)
    return values if nulls is None else np.where(nulls, np.nan, values)


def _array(values: Reals) -> pa.Array:
    nulls = np.isnan(values)
    return build(pa.float64(), np.where(nulls, 0.0, values), nulls if nulls.any() else None)


def _replaced(array: pa.Array, known: Flags, values: Reals) -> pa.Array:
    result = _numbers(array).copy()
    result[known] = values
    return _array(result)


def _named(names: Sequence[str]) -> str:
    return f"column {names[0]!r}" if len(names) == 1 else f"one of the columns {', '.join(map(repr, names))}"
