"""Select-a-size for baskets of one size: what it keeps and adds, and what that does to an itemset.

With m items in the basket, j of them are kept with probability p[j], each choice of j items being equally likely; every
other item of the item set is added with probability rho.

An itemset's items are seen with y_1 .. y_k, each 0 or 1. An item that is not in the basket is independent of all others
and has E[y] = rho, so ``E[prod(y_i - rho)]`` is zero unless the whole itemset is in the basket, and then it is one
number, the **contrast** c_k. Hence ``prod(y_i - rho) / c_k`` is what a row adds to the unbiased estimate of the
support: the last column of the inverse of P, in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Operator:
    """The parameters for baskets of ``len(keep) - 1`` items.

    Parameters
    ----------
    rho : float
        The probability that an item which is not in the basket is added; 0 <= rho < 1.
    keep : tuple of float, length m + 1
        ``keep[j]`` is p[j].

    Raises
    ------
    ValueError
        If a rule above is broken, or the probabilities do not sum to 1.
    """

    rho: float
    keep: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.rho < 1:
            raise ValueError(f"rho must lie in [0, 1), not {self.rho}")
        if not self.keep or any(not 0 <= p <= 1 for p in self.keep):
            raise ValueError("keep holds a probability for each number of items, 0 to m")
        if abs(math.fsum(self.keep) - 1) > _SUM_TOLERANCE:
            raise ValueError(f"the probabilities of keep must sum to 1, not {math.fsum(self.keep)}")

    @property
    def size(self) -> int:
        """How many items a basket holds, m."""
        return len(self.keep) - 1

    @cached_property
    def balanced(self) -> Array:
        """b[j] = p[j] / p_def[j]: how much likelier j items stay than by the coins that add the others."""
        default = default_probabilities(self.size, np.array([self.rho]))[0]
        result: Array = np.array(self.keep) / default
        return result

    @property
    def amplification(self) -> float:
        """The largest ratio of two baskets' chances to become one and the same randomized basket."""
        if self.size == 0:
            return 1.0
        if self.rho == 0:
            return math.inf
        least = float(self.balanced.min())
        return math.inf if least == 0 else float(self.balanced.max()) / least

    def contrast(self, items: int) -> float:
        """c_k = E[prod(y_i - rho)] over an itemset of k items that is in the basket; zero where it cannot be."""
        if items > self.size:
            return 0.0
        return _contrast(self.rho, self.keep, items)

    def weights(self, items: int) -> Array:
        """What a row adds to the support of an itemset of k items, by how many of them are seen; shape (k + 1,).

        No basket of fewer items holds the itemset: then every weight is zero.
        """
        seen = np.arange(items + 1)
        contrast = self.contrast(items)
        if items > self.size:
            return np.zeros(items + 1)
        result: Array = (1 - self.rho) ** seen * (-self.rho) ** (items - seen) / contrast
        return result

    def transition(self, items: int) -> Array:
        """P[l -> l'] for an itemset of k items: l are in the basket, l' are seen; shape (min(k, m) + 1, k + 1)."""
        size, rho = self.size, self.rho
        rows = min(items, size) + 1
        result = np.zeros((rows, items + 1))
        for held in range(rows):
            kept = self._kept_of(held)
            others = items - held
            added = [math.comb(others, i) * rho**i * (1 - rho) ** (others - i) for i in range(others + 1)]
            result[held] = np.convolve(kept, added)
        return result

    def _kept_of(self, held: int) -> Array:
        """The chance that q of `held` given items of the basket stay, for q = 0 .. held."""
        result = np.zeros(held + 1)
        for count, probability in enumerate(self.keep):
            for q in range(max(0, count - self.size + held), min(held, count) + 1):
                ways = math.comb(held, q) * math.comb(self.size - held, count - q) / math.comb(self.size, count)
                result[q] += probability * ways
        return result


@lru_cache(maxsize=4096)
def _contrast(rho: float, keep: tuple[float, ...], items: int) -> float:
    return float(np.array(keep) @ kept_products(len(keep) - 1, items, np.array([rho]))[0])


def default_probabilities(size: int, rho: Array) -> Array:
    """p_def[j], the chance that j of m items stay if each were added by a coin of its own; shape (len(rho), m + 1)."""
    kept = np.arange(size + 1)
    ways = np.array([math.comb(size, j) for j in kept], dtype=np.float64)
    result: Array = ways * rho[:, None] ** kept * (1 - rho[:, None]) ** (size - kept)
    return result


def kept_products(size: int, items: int, rho: Array) -> Array:
    """E[prod(y_i - rho)] over k items of the basket where j of its m items are kept; shape (len(rho), m + 1)."""
    result = np.zeros((len(rho), size + 1))
    for kept in range(size + 1):
        for q in range(max(0, kept - size + items), min(items, kept) + 1):
            ways = math.comb(items, q) * math.comb(size - items, kept - q) / math.comb(size, kept)
            result[:, kept] += ways * (1 - rho) ** q * (-rho) ** (items - q)
    return result
