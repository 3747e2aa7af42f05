"""Whether two copies of a column share their coins, told by how often they agree.

Let p be the larger retention and p' the smaller; h the chance that a draw hits a row's own value, c the chance that two
draws coincide. Independent copies agree with probability ``p p' + (p + p' - 2 p p') h + (1 - p)(1 - p') c``, copies
along one path with ``p'/p + (1 - p'/p) (p h + (1 - p) c)``. With s values drawn evenly both h and c are 1/s, whatever
the original holds.
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


@dataclass(frozen=True)
class Draws:
    """What two copies' agreement depends on besides retentions: `hit` and `coincide`, h and c above."""

    hit: float
    coincide: float

    @staticmethod
    def even(size: int) -> Draws:
        """Of `size` values that are drawn evenly."""
        return Draws(1 / size, 1 / size)


def agreement(retain: float, other: float, draws: Draws) -> tuple[float, float]:
    """How often two copies agree: along one path, and with coins of their own.

    >>> coupled, independent = agreement(0.5, 0.2, Draws.even(10))
    >>> round(coupled, 3), round(independent, 3)
    (0.46, 0.19)
    """
    high, low = max(retain, other), min(retain, other)
    coupled = low / high + (1 - low / high) * (high * draws.hit + (1 - high) * draws.coincide)
    once = high + low - 2 * high * low
    return coupled, high * low + once * draws.hit + (1 - high) * (1 - low) * draws.coincide


def coupling(agreeing: int, rows: int, retain: float, other: float, draws: Draws) -> Coupling:
    """Which of the two laws the copies follow; of rows that tell too little, the likelier one, and `told` is False."""
    if_coupled, if_independent = agreement(retain, other, draws)
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
