"""What several copies of a column tell together (Xiao, Tao and Chen, 2009: Figure 7 and Appendix 2).

Values are numbered 0 to size - 1. A copy that shows y has the same probability under every value other than y, and a
larger one under y itself: its odds say by how much. So a row's copies say nothing but which values were seen, and how
strongly: by the product of the odds of the copies that show a value.

Copies with coins of their own are independent: their evidence multiplies, and a value shown twice is all but certain.
Copies along one path of one key are a Markov chain: given the most retained copy, the others say nothing of the value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Numbers = NDArray[np.int64]
Array = NDArray[np.float64]

LARGEST = 690.0
"""The logarithm of odds that are as good as infinite, yet add up with others."""


@dataclass(frozen=True)
class Prior:
    """How often each value occurs, as far as an adversary knows; values that are not named do not occur.

    Parameters
    ----------
    values : ndarray of int, shape (k,)
        Numbers of values, ascending.
    shares : ndarray of float, shape (k,)
        They sum to 1.
    """

    values: Numbers
    shares: Array

    def __post_init__(self) -> None:
        if len(self.values) != len(self.shares) or not len(self.values):
            raise ValueError("a prior needs at least one value, and a share for each")
        if (np.diff(self.values) <= 0).any() or self.values[0] < 0:
            raise ValueError("a prior's values are distinct numbers of at least 0, in ascending order")
        if not (self.shares >= 0).all() or abs(self.shares.sum() - 1) > 1e-9:
            raise ValueError("a prior's shares are at least 0 and sum to 1")

    @staticmethod
    def from_counts(values: ArrayLike, counts: ArrayLike) -> Prior:
        """From how many rows have each value.

        >>> Prior.from_counts([4, 2], [1, 3]).shares.tolist()
        [0.75, 0.25]
        """
        numbers, weights = np.asarray(values, dtype=np.int64), np.asarray(counts, dtype=np.float64)
        distinct, place = np.unique(numbers, return_inverse=True)
        totals = np.bincount(place, weights=weights, minlength=len(distinct))
        return Prior(distinct, totals / totals.sum())

    @property
    def commonest(self) -> int:
        """The value with the largest share."""
        return int(self.values[self.shares.argmax()])

    def of(self, values: Numbers) -> Array:
        """The shares of values, 0 for those that do not occur."""
        place = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return np.where(self.values[place] == values, self.shares[place], 0.0)


@dataclass(frozen=True)
class Guesses:
    """For each row the likeliest value, how likely it is, and how likely the true value is (where it was given)."""

    value: Numbers
    confidence: Array
    truth: Array | None = None


def log_odds(retain: float, drawn: ArrayLike) -> Array:
    """The logarithm of how many times likelier a copy makes the value it shows than any other.

    Parameters
    ----------
    retain : float
    drawn : array_like
        The share of the shown value among draws; one over the size where all values are alike.

    >>> round(float(np.exp(log_odds(0.3, 1 / 74))), 3)
    32.714
    """
    shares = np.asarray(drawn, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.minimum(np.log1p(np.divide(retain, (1 - retain) * shares)), LARGEST)


def judge(prior: Prior, seen: Numbers, odds: ArrayLike, truth: Numbers | None = None) -> Guesses:
    """Bayes' rule for every row, from independent copies; of a chain, hand in its most retained copy alone.

    Parameters
    ----------
    prior : Prior
    seen : ndarray of int, shape (copies, rows)
        The value that each copy shows.
    odds : array_like, shape (copies, 1) or (copies, rows)
        Logarithms, from `log_odds`.
    truth : ndarray of int, shape (rows,), optional

    Returns
    -------
    Guesses
        ``truth`` is Equation 25 of the paper, the reconstruction probability of each row.

    Notes
    -----
    Among values that no copy shows, the commonest is likeliest: no other than it and the seen ones need be looked at.
    """
    weights = np.asarray(odds, dtype=np.float64)
    copies, rows = seen.shape
    value = np.full(rows, prior.commonest)
    best = np.full(rows, math.log(prior.shares.max()))
    unseen = np.ones(rows)
    beliefs = np.full((copies, rows), -np.inf)
    for j in range(copies):
        same = seen == seen[j]
        share = prior.of(seen[j])
        first = ~same[:j].any(axis=0)
        with np.errstate(divide="ignore"):
            belief = np.log(share) + (weights * same).sum(axis=0)
        unseen -= np.where(first, share, 0.0)
        beliefs[j, first] = belief[first]
        better = belief > best
        best, value = np.where(better, belief, best), np.where(better, seen[j], value)
    shift = np.maximum(best, 0.0)
    total = shift + np.log(np.exp(beliefs - shift).sum(axis=0) + np.maximum(unseen, 0.0) * np.exp(-shift))
    confidence = np.minimum(np.exp(best - total), 1.0)
    if truth is None:
        return Guesses(value, confidence)
    with np.errstate(divide="ignore"):
        true_belief = np.log(prior.of(truth)) + (weights * (seen == truth)).sum(axis=0)
    return Guesses(value, confidence, np.minimum(np.exp(true_belief - total), 1.0))


def reconstruction_probability(prior: Prior, retain: float, size: int) -> float:
    """The posterior of a row's true value, on average over rows and coins, given one copy.

    It is also that of any number of coupled copies, of which `retain` is the largest retention.

    >>> half = Prior.from_counts([0, 1], [1, 1])
    >>> reconstruction_probability(half, 0.5, 2)
    0.625
    """
    drawn = (1 - retain) / size
    shares = prior.shares
    shown = retain * shares + drawn  # how often each value is published
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(shown > 0, drawn**2 / shown, 0.0)
        itself = np.where(shown > 0, (retain + drawn) ** 2 / shown, 0.0)
    never = (size - len(shares)) * drawn  # published values that do not occur; they tell nothing
    return float((shares**2 * (itself + others.sum() - others + never)).sum())


def coupled_reconstruction(prior: Prior, retentions: Sequence[float], size: int) -> Array:
    """The mean reconstruction probability after the first 1, 2, .. copies that are coupled by one key; exact."""
    known = {retain: reconstruction_probability(prior, retain, size) for retain in set(retentions)}
    return np.array([known[retain] for retain in np.maximum.accumulate(np.asarray(retentions)).tolist()])


def independent_reconstruction(
    prior: Prior, retentions: Sequence[float], size: int, *, rows: int = 4_000, seed: int = 0
) -> Array:
    """The mean reconstruction probability after the first 1, 2, .. independent copies, from simulated rows.

    The seed is of no consequence for privacy: no original row takes part.
    """
    rng = np.random.default_rng(seed)
    truth = rng.choice(prior.values, size=rows, p=prior.shares)
    kept = rng.random((len(retentions), rows)) < np.asarray(retentions)[:, None]
    seen = np.where(kept, truth, rng.integers(size, size=kept.shape))
    weights = np.array([[log_odds(retain, 1 / size)] for retain in retentions])
    means = []
    for count in range(1, len(retentions) + 1):
        found = judge(prior, seen[:count], weights[:count], truth).truth
        assert found is not None
        means.append(found.mean())
    return np.array(means)


def likeliest_prior(values: ArrayLike, counts: ArrayLike, retain: float, drawn: ArrayLike) -> Prior:
    """The prior under which the published values are likeliest: what an adversary without the original believes.

    Parameters
    ----------
    values, counts : array_like, shape (k,)
        The published values, each once, and how many rows show each.
    retain : float
    drawn : array_like, shape () or (k,)
        The share of each value among draws.

    Notes
    -----
    Maximises ``sum_y f_y log(p pi_y + (1 - p) R_y)`` over distributions pi. At the maximum ``pi_y = f_y / t - r_y``
    where that is positive and 0 elsewhere, with ``r_y = (1 - p) R_y / p`` and t such that they sum to 1. It is the
    limit of iterative Bayes, without iterating.
    """
    numbers, weights = np.asarray(values, dtype=np.int64), np.asarray(counts, dtype=np.float64)
    floor = np.broadcast_to((1 - retain) / retain * np.asarray(drawn, dtype=np.float64), weights.shape)
    observed = weights / weights.sum()
    with np.errstate(divide="ignore"):
        falling = np.argsort(-observed / floor, kind="stable")
    levels = np.cumsum(observed[falling]) / (1 + np.cumsum(floor[falling]))
    level = levels[np.flatnonzero(observed[falling] > levels * floor[falling])[-1]]
    return Prior.from_counts(numbers, np.maximum(observed / level - floor, 0.0))
