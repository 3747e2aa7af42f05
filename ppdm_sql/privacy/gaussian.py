"""What noisy copies tell of the numbers behind them: the linear attack and its error.

A copy is ``Y_i = X + Z_i`` with noise of covariance ``s2_i K``. Whoever knows mean and covariance of the originals
estimates them best, among linear estimates, by the one of least square error (LLSE); for normal originals no estimate
of any kind is better. The distortion, its expected square error, is the measure of privacy.

Copies of one key are coupled: ``Cov(Z_i, Z_j) = min(s2_i, s2_j) K``, the corner wave. Then any collection of copies
tells exactly what its least noisy one does. Copies with independent noise add up. Rounding to a step only takes away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def corner_wave(magnitudes: Sequence[float]) -> Array:
    """The covariance of noise at several magnitudes, in units of K, for copies of one key.

    >>> corner_wave([1, 4]).tolist()
    [[1.0, 1.0], [1.0, 4.0]]
    """
    levels = _checked(magnitudes)
    return np.minimum.outer(levels, levels)


def independent(magnitudes: Sequence[float]) -> Array:
    """The same for copies of unrelated keys."""
    return np.diag(_checked(magnitudes))


@dataclass(frozen=True)
class Attack:
    """The linear attack on one or several copies: the estimate is ``offset + sum_i weights[i] @ y_i``.

    `error` is the covariance of the estimate about the original, `distortion` its trace over the number of columns.
    """

    weights: tuple[Array, ...]
    offset: Array
    error: Array

    @property
    def distortion(self) -> float:
        """The expected square error of a column, on average over the columns."""
        return float(np.trace(self.error)) / len(self.error)

    def estimate(self, copies: Sequence[ArrayLike]) -> Array:
        """The originals as the attacker guesses them, from copies of shape (rows, columns)."""
        guess = self.offset
        for weight, copy in zip(self.weights, copies, strict=True):
            guess = guess + np.atleast_2d(np.asarray(copy, dtype=float)) @ weight.T
        return np.asarray(guess)


def linear_attack(
    noise: ArrayLike, covariance: ArrayLike, mean: ArrayLike = 0.0, noise_covariance: ArrayLike | None = None
) -> Attack:
    """The linear estimate of least square error from several copies.

    Parameters
    ----------
    noise : array_like, shape (copies, copies)
        How the copies' noise goes together, from `corner_wave` or `independent`, in units of K.
    covariance : array_like, shape (columns, columns)
        Of the originals; a number for a single column.
    mean : array_like, shape (columns,)
        Of the originals.
    noise_covariance : array_like, shape (columns, columns), optional
        K, where it is not the originals' own covariance.
    """
    of_data = np.atleast_2d(np.asarray(covariance, dtype=float))
    of_noise = of_data if noise_covariance is None else np.atleast_2d(np.asarray(noise_covariance, dtype=float))
    together = np.atleast_2d(np.asarray(noise, dtype=float))
    copies, columns = len(together), len(of_data)
    centre = np.broadcast_to(np.asarray(mean, dtype=float), (columns,))
    seen = np.kron(np.ones((copies, copies)), of_data) + np.kron(together, of_noise)
    # Two copies of one magnitude are one and the same, so that the matrix may be singular.
    weights = np.kron(np.ones((1, copies)), of_data) @ np.linalg.pinv(seen, hermitian=True)
    parts = tuple(weights[:, i * columns : (i + 1) * columns] for i in range(copies))
    error = of_data - weights @ np.kron(np.ones((copies, 1)), of_data)
    return Attack(parts, centre - sum(parts) @ centre, error)


def distortion(magnitudes: Sequence[float], variance: float = 1.0) -> float:
    """The distortion of any collection of copies of one key: that of the least noisy one (Theorem 4).

    >>> distortion([4, 1])
    0.5
    >>> distortion([4])
    0.8
    """
    least = float(_checked(magnitudes).min())
    return variance * least / (1 + least)


def distortion_if_independent(magnitudes: Sequence[float], variance: float = 1.0) -> float:
    """The distortion of copies whose noise is independent (Theorem 3): less with every copy.

    >>> round(distortion_if_independent([1, 4]), 4)
    0.4444
    """
    return variance / (1 + float((1 / _checked(magnitudes)).sum()))


def magnitude_for_distortion(share: float) -> float:
    """The magnitude at which an attacker's square error is this share of the column's variance.

    >>> magnitude_for_distortion(0.5)
    1.0
    """
    if not 0 < share < 1:
        raise ValueError("a share lies in (0, 1): without the release the error is the whole variance")
    return share / (1 - share)


def interval_of_value(deviation: float, confidence: float = 0.95) -> float:
    """How far, either way, an original may be from its noisy value, whatever else is known of neither.

    >>> round(interval_of_value(10.0), 1)
    19.6
    """
    if not 0 < confidence < 1 or not deviation > 0:
        raise ValueError("a confidence lies in (0, 1), and a deviation above 0")
    return NormalDist().inv_cdf(0.5 + confidence / 2) * deviation


def information(magnitude: float, columns: int = 1) -> float:
    """Bits that a noisy row tells of a normal original, with noise of the originals' own covariance.

    >>> information(1 / 3)
    1.0
    """
    (level,) = _checked([magnitude])
    return columns / 2 * math.log2(1 + 1 / float(level))


def _checked(magnitudes: Sequence[float]) -> Array:
    levels = np.asarray(magnitudes, dtype=float)
    if levels.ndim != 1 or not levels.size or not (np.isfinite(levels).all() and (levels > 0).all()):
        raise ValueError("magnitudes of noise are numbers above 0, at least one")
    return levels
