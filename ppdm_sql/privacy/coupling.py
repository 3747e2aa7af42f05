"""Whether two copies of a column share their coins, told by how often they agree.

Let p be the larger retention, p' the smaller, s the domain's size. Copies along one path agree with probability
``p'/p + (1 - p'/p)/s``, independent ones with ``p p' + (1 - p p')/s``: whatever the original holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

FITS = 5.0
"""A law is taken to hold up to so many standard errors."""
TOLD = 5.0
"""How much larger the better law's log-likelihood must be before the two are told apart."""


@dataclass(frozen=True)
class Coupling:
    """How often two copies agree, how often either law would have it, and what follows."""

    agree: float
    if_coupled: float
    if_independent: float
    coupled: bool
    told: bool
    fits: bool


def agreement(retain: float, other: float, size: int) -> tuple[float, float]:
    """How often two copies agree: along one path, and with coins of their own.

    >>> coupled, independent = agreement(0.5, 0.2, 10)
    >>> round(coupled, 3), round(independent, 3)
    (0.46, 0.19)
    """
    high, low = max(retain, other), min(retain, other)
    return low / high + (1 - low / high) / size, high * low + (1 - high * low) / size


def coupling(agreeing: int, rows: int, retain: float, other: float, size: int) -> Coupling:
    """Which of the two laws the copies follow; of rows that tell too little, the likelier one, and `told` is False."""
    if_coupled, if_independent = agreement(retain, other, size)
    share = agreeing / rows if rows else 0.0
    chances = [_log_likelihood(share, expected) * rows for expected in (if_coupled, if_independent)]
    coupled = chances[0] >= chances[1]
    expected = if_coupled if coupled else if_independent
    error = math.sqrt(max(expected * (1 - expected), 1e-12) / rows) if rows else math.inf
    same = math.isclose(if_coupled, if_independent, rel_tol=1e-12)
    told = same or abs(chances[0] - chances[1]) >= TOLD
    return Coupling(share, if_coupled, if_independent, coupled, told, abs(share - expected) <= FITS * error)


def chains(count: int, coupled: set[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Copies that are coupled, directly or through others, in one group each.

    >>> chains(4, {(0, 2)})
    ((0, 2), (1,), (3,))
    """
    group = list(range(count))
    for one, two in coupled:
        old, new = group[two], group[one]
        group = [new if each == old else each for each in group]
    return tuple(tuple(i for i in range(count) if group[i] == name) for name in dict.fromkeys(group))


def _log_likelihood(share: float, expected: float) -> float:
    """A row's mean log-likelihood, where an impossible law is only very unlikely."""
    chance = min(max(expected, 1e-9), 1 - 1e-9)
    return share * math.log(chance) + (1 - share) * math.log1p(-chance)
