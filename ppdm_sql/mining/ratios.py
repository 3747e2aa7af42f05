"""Ratios of two estimated supports: an interval by Fieller's theorem, which holds also where the divisor is noisy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppdm_sql.itemsets.supports import Supports

Array = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ratio:
    """The share of the baskets with the items of a mask that hold the whole itemset, for each itemset.

    `both` and `given` are estimated counts of baskets, with their variances and covariance.
    """

    both: Array
    given: Array
    both_variance: Array
    covariance: Array
    given_variance: Array

    @classmethod
    def of(cls, known: Supports, mask: int) -> Ratio:
        """The ratio of the whole itemset to a mask."""
        both, given = known.estimate(), known.estimate(mask)
        covariances = (known.covariance(), known.covariance(known.whole, mask), known.covariance(mask, mask))
        return cls(both, given, *covariances)

    def settled(self, quantile: float) -> Booleans:
        """Where the divisor is above zero for sure; elsewhere nothing is known of the ratio."""
        return (self.given > 0) & (self.given**2 > quantile**2 * np.maximum(self.given_variance, 0.0))

    @property
    def estimate(self) -> Array:
        """The ratio, within [0, 1]; 0 where the divisor is not positive."""
        shares = np.divide(self.both, self.given, out=np.zeros_like(self.both), where=self.given > 0)
        result: Array = np.clip(shares, 0.0, 1.0)
        return result

    def variance(self, ratio: Array | float) -> Array:
        """The variance of `both - ratio * given`."""
        return self.both_variance - 2 * ratio * self.covariance + ratio**2 * self.given_variance

    def exceeds(self, least: float, quantile: float) -> Booleans:
        """Where the ratio is at least that, by so many standard errors of `both - least * given`."""
        error = np.sqrt(np.maximum(self.variance(least), 0.0))
        return self.settled(quantile) & (self.both - least * self.given >= quantile * error)

    def interval(self, quantile: float) -> tuple[Array, Array]:
        """The ratios in [0, 1] that are no further than so many standard errors from what was seen.

        These r solve `(both - r given)**2 <= quantile**2 variance(r)`. Where the divisor may be zero, or a variance was
        estimated below zero, all of [0, 1] may be true.
        """
        square = quantile**2
        first = self.given**2 - square * self.given_variance
        second = self.both * self.given - square * self.covariance
        third = self.both**2 - square * self.both_variance
        inside = second**2 - first * third
        usable = self.settled(quantile) & (first > 0) & (inside >= 0)
        divisor, root = np.where(usable, first, 1.0), np.sqrt(np.where(usable, inside, 0.0))
        low, high = (np.clip((second + sign * root) / divisor, 0.0, 1.0) for sign in (-1, 1))
        return np.where(usable, low, 0.0), np.where(usable, high, 1.0)
