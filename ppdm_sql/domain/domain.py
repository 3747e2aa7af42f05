"""Domains: the public set of values a column may take.

A declared domain (`Range`, `Values`) says what the publisher wrote. A `Grid` is a range once the column's type is
known: whole numbers of the type's own unit, so that sizes and shares are counts and never rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

Scalar: TypeAlias = bool | int | Decimal | str | date | datetime
Point: TypeAlias = int | Decimal | date | datetime
Step: TypeAlias = int | Decimal | timedelta

MAX_POINTS = 2**53
"""No domain is larger: up to here a count of points is exact in a double."""


@dataclass(frozen=True)
class Range:
    """Every point from `low` to `high`, both included, `step` apart; None stands for the type's own step."""

    low: Point
    high: Point
    step: Step | None = None


@dataclass(frozen=True)
class Values:
    """A list of distinct values, each drawn equally often."""

    values: tuple[Scalar, ...]

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True)
class Grid:
    """The points `low + i * step`, 0 <= i < size, in the type's unit.

    The unit is 1 for integers, 10**-scale for DECIMAL and reals, a day for DATE, a microsecond since 1970 for
    TIMESTAMP.
    """

    low: int
    step: int
    size: int
    scale: int = 0

    @property
    def high(self) -> int:
        """The last point."""
        return self.low + (self.size - 1) * self.step
