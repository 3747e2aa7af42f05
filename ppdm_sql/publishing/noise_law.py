"""Whether the noise of copies is what it is declared to be: levels of one path, added to these originals.

Summed up while rows are read. The difference of a copy and the original has the declared covariance, mean 0, the shape
of a normal number and nothing to do with the original; what a noisier copy adds to a less noisy one has the covariance
of the difference of their magnitudes and nothing to do with the noise of the less noisy one. Rounding adds to this:
one rounding a twelfth of the squared step; of two, which may go together where the step is wide, a quarter at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv, ndtr

from ppdm_sql.publishing.chances import of_count, of_squares, of_sum

Reals = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

WITHIN = (0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
"""So many standard deviations from 0 it is counted how many rows lie."""


class Sample:
    """Noise of columns that belong together, `roundings` of which are in each number (1 or 2)."""

    def __init__(self, covariance: Reals, steps: Sequence[float], roundings: int, others: int) -> None:
        self.covariance = covariance
        self.steps = np.asarray(steps)
        self.roundings = roundings
        count = len(steps)
        self.deviations = np.sqrt(np.diag(covariance))
        self.rows = np.zeros((count, count))
        self.squares, self.products = np.zeros((count, count)), np.zeros((count, count))
        self.sums = np.zeros(count)
        self.within = np.zeros((len(WITHIN), count))
        self._shift: Reals | None = None
        self._beside = [np.zeros((count, others)) for _ in range(5)]

    def add(self, noise: Reals, known: Flags, others: Reals, others_known: Flags) -> None:
        """Rows, shape (columns, rows), with 0 where a number is not known; `others` is what noise should not follow."""
        mask, mask_others = known.astype(np.float64), others_known.astype(np.float64)
        self.rows += mask @ mask.T
        self.squares += (noise * noise) @ mask.T
        self.products += noise @ noise.T
        self.sums += noise.sum(axis=1)
        for place, width in enumerate(WITHIN):
            self.within[place] += ((np.abs(noise) <= width * self.deviations[:, None]) & known).sum(axis=1)
        if self._shift is None:
            self._shift = others.sum(axis=1) / np.maximum(mask_others.sum(axis=1), 1)
        about = np.where(others_known, others - self._shift[:, None], 0.0)
        more = (noise @ about.T, noise @ mask_others.T, mask @ about.T, mask @ (about * about).T, mask @ mask_others.T)
        self._beside = [total + part for total, part in zip(self._beside, more, strict=True)]

    @property
    def _least(self) -> Reals:
        single = self.steps**2 / 12 if self.roundings == 1 else 0.0
        return np.asarray(self.deviations**2 + single)

    @property
    def _most(self) -> Reals:
        return np.asarray(self.deviations**2 + self.steps**2 / (12 if self.roundings == 1 else 4))

    def sizes(self) -> list[float]:
        """Column by column, a bound of the logarithm of the chance that the noise is as large or small as it is."""
        felt = self.steps**2 * (self.roundings - 1)
        each = zip(np.diag(self.squares), np.diag(self.rows), self._least, self._most, felt, strict=True)
        return [of_squares(float(s), int(n), float(low), float(high), float(step)) for s, n, low, high, step in each]

    def chances(self) -> Iterator[tuple[str, int, float]]:
        """What else was looked at, of which column, and a bound of the logarithm of its chance."""
        rows, most = np.diag(self.rows), self._most
        for i, deviation in enumerate(self.deviations):
            yield "mean", i, of_sum(float(self.sums[i]), float(rows[i] * most[i]))
            blur = self.steps[i] / 2 * self.roundings
            for place, width in enumerate(WITHIN):
                ends = ((width * deviation + sign * blur) / deviation for sign in (-1, 1))
                low, high = (max(0.0, 2 * float(ndtr(end)) - 1) for end in ends)
                yield "shape", i, of_count(float(self.within[place, i]), float(rows[i]), low, high)
        for i, j in np.ndindex(self._beside[0].shape):
            yield "others", i, self._follows(i, j)
        for i in range(len(self.steps)):
            for j in range(i):
                yield "together", i, self._pair(i, j, 1)
                yield "together", i, self._pair(i, j, -1)

    def _follows(self, i: int, j: int) -> float:
        """Column i of the noise beside column j of the others."""
        product, noise, others, squares, rows = (float(total[i, j]) for total in self._beside)
        if rows < 2:
            return 0.0
        mean = others / rows
        spread = max(squares - rows * mean * mean, 0.0)
        total = product - mean * noise
        # What is rounded off one copy is added to the next, up to a sixth of the squared step a row.
        slack = 0.0 if self.roundings == 1 else rows * self.steps[i] * self.steps[j] / 6
        beyond = max(abs(total) - slack, 0.0)
        return of_sum(beyond, spread * float(self._most[i]))

    def _pair(self, i: int, j: int, sign: int) -> float:
        """The sum, or the difference, of two columns, each over its standard deviation."""
        one, other = self.deviations[i], self.deviations[j]
        alone = self.squares[i, j] / one**2 + self.squares[j, i] / other**2
        total = alone + sign * 2 * self.products[i, j] / (one * other)
        variance = 2 + sign * 2 * self.covariance[i, j] / (one * other)
        blur = self.roundings * (self.steps[i] / one + self.steps[j] / other) / 2
        if variance <= 0:
            return 0.0
        return of_squares(max(float(total), 0.0), int(self.rows[i, j]), variance, variance + blur**2, (2 * blur) ** 2)

    def found(self, i: int) -> tuple[float, float, float]:
        """The variance of column i without rounding, and between what it lies, 95 times in 100."""
        rows, total = float(self.rows[i, i]), float(self.squares[i, i])
        rounding = self.steps[i] ** 2 / 12 * self.roundings
        low, high = (total / (2 * float(gammaincinv(rows / 2, tail))) for tail in (0.975, 0.025))
        return tuple(max(value - rounding, 0.0) for value in (total / rows, low, high))
