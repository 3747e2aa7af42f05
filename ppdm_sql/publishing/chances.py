"""How unlikely a sum over independent rows is: bounds that hold for any number of rows, as logarithms.

All are Chernoff's: the chance that a sum is at least as far out as the one seen is at most e to what is returned, on
that side. None of them leans on a limit law, so that five rows are judged as soundly as five million.
"""

from __future__ import annotations

import math


def of_count(seen: float, rows: float, least: float, most: float) -> float:
    """So many of the rows, each of which counts with a chance of its own; their mean is between `least` and `most`.

    Hoeffding, 1963, Theorem 1: chances that differ from row to row make the tails no heavier.

    >>> of_count(5, 5, 0.5, 0.5) == 5 * math.log(0.5)
    True
    """
    if rows <= 0:
        return 0.0
    share = min(max(seen / rows, 0.0), 1.0)
    expected = min(max(most, 0.0), 1.0) if share > most else max(min(least, 1.0), 0.0)
    if least <= share <= most:
        return 0.0
    return -rows * (_divergence(share, expected) + _divergence(1 - share, 1 - expected))


def of_sum(total: float, spread: float) -> float:
    """A sum of centred parts no heavier than normal ones, whose variances add up to at most `spread`."""
    return 0.0 if total == 0 else -math.inf if spread <= 0 else -total * total / (2 * spread)


def of_squares(total: float, rows: int, least: float, most: float, rounding: float = 0.0) -> float:
    """A sum of squares of normal numbers with a variance between `least` and `most`, of which they were rounded.

    A rounded number is often 0, which a normal one never is: so the bound from below goes no further than where
    rounding to a step whose square is `rounding` cannot be felt.
    """
    if rows <= 0:
        return 0.0
    mean = total / rows
    if mean > most:
        return -rows / 2 * (mean / most - 1 - math.log(mean / most))
    if mean >= least:
        return 0.0
    furthest = 1 / (2 * (most + rounding))
    tilt = furthest if mean == 0 else min((1 / mean - 1 / least) / 2, furthest)
    return tilt * total - rows / 2 * math.log1p(2 * tilt * least)


def _divergence(seen: float, expected: float) -> float:
    if seen <= 0:
        return 0.0
    return math.inf if expected <= 0 else seen * math.log(seen / expected)
