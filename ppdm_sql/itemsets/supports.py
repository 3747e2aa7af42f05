"""Supports from counts of patterns: unbiased estimates and the covariances of any two of one itemset's subsets.

An itemset's subsets are masks: bit b stands for its item b, ``(1 << k) - 1`` for the whole itemset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.itemsets.operator import Array, Operator
from ppdm_sql.itemsets.patterns import Integers


@dataclass(frozen=True)
class Supports:
    """Itemsets of k items each, with what is known of them: counts of patterns by size.

    ``operators[m]`` is the operator for size m; ``counts`` has the shape (itemsets, sizes, 2**k).
    """

    operators: Sequence[Operator]
    counts: Integers

    @property
    def whole(self) -> int:
        """The mask of the whole itemset."""
        return int(self.counts.shape[2]) - 1

    @property
    def baskets(self) -> int:
        """How many baskets there are."""
        return int(self.counts[0].sum()) if len(self.counts) else 0

    def estimate(self, mask: int | None = None) -> Array:
        """The number of baskets that hold every item of the mask, for each itemset."""
        return self._sum(self.row_weights(mask))

    def covariance(self, one: int | None = None, other: int | None = None) -> Array:
        """The covariance of the estimates of two masks over the coins of the randomization, for each itemset.

        A basket holds both where it holds their union, so ``sum(h h') - estimate(union)`` is unbiased. An estimate of
        a variance may itself come out below zero where few baskets take part.
        """
        first = self.whole if one is None else one
        second = self.whole if other is None else other
        products = self.row_weights(first) * self.row_weights(second)
        return self._sum(products - self.row_weights(first | second))

    def errors(self, mask: int | None = None) -> Array:
        """The standard errors of the estimates of a mask."""
        result: Array = np.sqrt(np.maximum(self.covariance(mask, mask), 0.0))
        return result

    def row_weights(self, mask: int | None = None) -> Array:
        """What a basket adds to the estimate of a mask, by its size and its pattern; shape (sizes, 2**k)."""
        mask = self.whole if mask is None else mask
        patterns = np.arange(self.whole + 1)
        seen = np.bitwise_count(patterns & mask)
        return np.stack([operator.weights(mask.bit_count())[seen] for operator in self.operators])

    def _sum(self, weights: Array) -> Array:
        return np.tensordot(self.counts.astype(np.float64), weights, axes=((1, 2), (0, 1)))
