"""The covariance of columns, read off the originals batch by batch, and rounded before it is used and published."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Matrix = npt.NDArray[np.float64]

DIGITS = 2
"""Significant digits of a published standard deviation, and decimals of a correlation."""

LARGEST = 0.95
"""No correlation of noise is stronger: beyond, rounding could leave a matrix that is no covariance."""


class Moments:
    """Number, means and products of the rows in which every column is a finite number."""

    def __init__(self, columns: int) -> None:
        self.rows = 0
        self.means: Matrix = np.zeros(columns)
        self.products: Matrix = np.zeros((columns, columns))

    def add(self, arrays: Sequence[pa.Array]) -> None:
        """Take a batch in, about its own means: sums of large squares would lose the digits that matter."""
        values = np.stack([pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False) for array in arrays])
        values = values[:, np.isfinite(values).all(axis=0)]
        rows = values.shape[1]
        if not rows:
            return
        means = values.mean(axis=1)
        about = values - means[:, None]
        apart = means - self.means
        total = self.rows + rows
        self.products += about @ about.T + np.outer(apart, apart) * (self.rows * rows / total)
        self.means += apart * (rows / total)
        self.rows = total

    def rounded(self) -> Matrix | None:
        """The covariance with rounded deviations and correlations; None where a column has no spread to be told."""
        if self.rows < 2:
            return None
        covariance = self.products / (self.rows - 1)
        deviations = np.sqrt(np.diag(covariance))
        if not (np.isfinite(deviations).all() and (deviations > 0).all()):
            return None
        correlations = np.clip(np.round(covariance / np.outer(deviations, deviations), DIGITS), -LARGEST, LARGEST)
        np.fill_diagonal(correlations, 1.0)
        sizes = np.array([_significant(float(deviation)) for deviation in deviations])
        others = correlations - np.eye(len(sizes))
        shrunk = 1.0
        while float(np.linalg.eigvalsh(np.eye(len(sizes)) + shrunk * others)[0]) < 0.01:
            shrunk -= 0.01
        return np.asarray((np.eye(len(sizes)) + shrunk * others) * np.outer(sizes, sizes))


def _significant(value: float) -> float:
    """Rounded to few significant digits, as a decimal number that prints as short as it is."""
    number = Decimal(repr(value))
    return float(round(number, DIGITS - 1 - number.adjusted()))
