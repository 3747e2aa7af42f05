"""Sums of powers over stretches of a grid, in closed form and exact: ten million values need no enumeration."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from sqlglot import exp

from ppdm_sql.domain.domain import Grid

MAX_DEGREE = 4


def degree(value: exp.Expr) -> int | None:
    """The power of the column that an expression is, cast to DOUBLE or not; None where it is anything else."""
    if isinstance(value, exp.Column):
        return 1
    if isinstance(value, exp.Paren) or (type(value) is exp.Cast and value.to.this == exp.DType.DOUBLE):
        return degree(value.this)
    if isinstance(value, exp.Mul):
        left, right = degree(value.this), degree(value.expression)
        if left is not None and right is not None and left + right <= MAX_DEGREE:
            return left + right
    return None


def power_sum(grid: Grid, first: int, last: int, power: int) -> float:
    """The sum of the `power`-th powers of the grid's points from place `first` up to, not including, `last`.

    >>> power_sum(Grid(17, 1, 74), 0, 74, 1)
    3959.0
    """
    total = sum(
        comb(power, k) * grid.low ** (power - k) * grid.step**k * (_powers(last, k) - _powers(first, k))
        for k in range(power + 1)
    )
    return float(Fraction(total, 10 ** (grid.scale * power)))


def _powers(count: int, power: int) -> int:
    """0^k + 1^k + .. + (count - 1)^k."""
    n = count
    if power == 0:
        return n
    if power == 1:
        return n * (n - 1) // 2
    if power == 2:
        return (n - 1) * n * (2 * n - 1) // 6
    if power == 3:
        return (n * (n - 1) // 2) ** 2
    return (n - 1) * n * (2 * n - 1) * (3 * n * n - 3 * n - 1) // 30
