"""Quantiles of an estimated distribution, and their intervals: the interval of the count below, turned around."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ppdm_sql.reconstruct.inversion import Array

Integers = npt.NDArray[np.int64]
Variance = Callable[[Array], Array]


@dataclass(frozen=True)
class Found:
    """Places among the sorted values, one for each group.

    The quantile lies `part` of the way from the value at `below` to that at `above`; `low` and `high` are the ends of
    its interval. `known` is FALSE where nobody is left to have one.
    """

    below: Integers
    above: Integers
    part: Array
    low: Integers
    high: Integers
    known: npt.NDArray[np.bool_]

    @property
    def used(self) -> Integers:
        """Every place that matters."""
        return np.unique(np.concatenate([self.below, self.above, self.low, self.high]))


def quantile(
    counts: Array, variance: Variance, fraction: float, interpolated: bool, from_top: bool, deviations: float
) -> Found:
    """Find a quantile and its interval in each group.

    Parameters
    ----------
    counts : ndarray, shape (groups, values)
        Estimated counts of the values in ascending order; by inversion, so single ones may be negative.
    variance : callable
        From what one original row of each value adds to an answer, shape (groups, values), to the answer's variance.
    fraction : float
        In (0, 1).
    interpolated : bool
        As PERCENTILE_CONT: between the two rows around the place; else as PERCENTILE_DISC, the value of one row.
    from_top : bool
        For the discrete kind: the values in descending order.
    deviations : float
        Half the width of the interval, in standard errors of the count.

    Returns
    -------
    Found

    Notes
    -----
    Consistent, not unbiased: a quantile is no sum over rows. The cumulated counts are made to rise by taking the middle
    between their running maximum from below and minimum from above. The interval is Woodruff's (1952): with F the count
    of values up to the estimate and q the fraction, F - qN is a linear answer whose error is known; the values at
    which the cumulated count passes qN less and plus that error are the ends. Where that lies outside of [0, N], the
    end is the domain's own.
    """
    total = counts.sum(axis=1)
    raw = np.cumsum(counts, axis=1)
    rising = np.maximum.accumulate(raw, axis=1)
    falling = np.minimum.accumulate(raw[:, ::-1], axis=1)[:, ::-1]
    below_or_at = (rising + falling) / 2
    known = total > 0.5
    rows = np.maximum(total, 1.0)
    if interpolated:
        rank = (rows - 1) * fraction
        part = rank - np.floor(rank)
        lower, upper = _first(below_or_at, np.floor(rank) + 1), _first(below_or_at, np.ceil(rank) + 1)
    else:
        nth = np.floor(rows - fraction * rows) + 1 if from_top else rows - np.floor(rows - fraction * rows)
        lower = upper = _first(below_or_at, np.maximum(nth, 1.0))
        part = np.zeros_like(rows)
        fraction = 1 - fraction if from_top else fraction
    reached = np.arange(counts.shape[1]) <= lower[:, None]
    below: Array = reached.astype(np.float64) - fraction
    spread = np.sqrt(np.maximum(variance(below), 0.0))
    target = fraction * rows
    low = np.where(spread > 0, _first(below_or_at, target - deviations * spread), lower)
    high = np.where(spread > 0, _first(below_or_at, target + deviations * spread), upper)
    return Found(lower, upper, part, np.minimum(low, lower), np.maximum(high, upper), known)


def _first(cumulated: Array, target: Array) -> Integers:
    """The first place where a rising count reaches the target, or the last there is."""
    reached = cumulated >= target[:, None] - 1e-9 * np.abs(target[:, None])
    place: Integers = np.where(reached.any(axis=1), reached.argmax(axis=1), cumulated.shape[1] - 1)
    return place
