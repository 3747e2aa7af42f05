"""Whether two results say the same: floating point to rounding, and rows in any order where none is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

Row = tuple[Any, ...]
Cell = tuple[int, Any]
NULL, NUMBER, OTHER = range(3)


def cells(rows: Sequence[Row]) -> list[tuple[Cell, ...]]:
    """The rows with every number as a float, and what sorts before what settled."""
    return [tuple(_cell(value) for value in row) for row in rows]


def _cell(value: Any) -> Cell:
    if value is None:
        return NULL, 0.0
    if isinstance(value, bool | int | float | Decimal):
        return NUMBER, float(value)
    if isinstance(value, list):
        return OTHER, str([f"{one:.9g}" if isinstance(one, float | Decimal) else one for one in value])
    return OTHER, str(value)


def in_order(rows: list[tuple[Cell, ...]], near: float = 1e-6) -> list[tuple[Cell, ...]]:
    """Sorted, numbers coarsely, so that neither rounding nor what they may differ by changes the order."""

    def coarse(value: float) -> float:
        return float(f"{round(value / near / 100) * near * 100:.5g}") if math.isfinite(value) else value

    return sorted(rows, key=lambda row: ([(kind, coarse(x) if kind == NUMBER else x) for kind, x in row], row))


def same(
    found: Sequence[Row], truth: Sequence[Row], ordered: bool = False, rel: float = 1e-6, near: float = 1e-6
) -> bool:
    """Whether the rows are the same; ties of an order by a floating-point number may fall either way.

    Numbers may differ by `rel` of them, and by `near`.
    """
    ours, theirs = cells(found), cells(truth)
    if ordered and _close(ours, theirs, rel, near):
        return True
    return _close(in_order(ours, near), in_order(theirs, near), rel, near)


def in_order_alike(found: Sequence[Row], truth: Sequence[Row], rel: float = 1e-6) -> bool:
    """Whether the rows are the same, one after the other."""
    return _close(cells(found), cells(truth), rel)


def _close(
    ours: Sequence[tuple[Cell, ...]], theirs: Sequence[tuple[Cell, ...]], rel: float, near: float = 1e-6
) -> bool:
    if len(ours) != len(theirs):
        return False
    pairs = ((a, b) for row, other in zip(ours, theirs, strict=True) for a, b in zip(row, other, strict=True))
    return all(_alike(a, b, rel, near) for a, b in pairs)


def _alike(one: Cell, other: Cell, rel: float, near: float) -> bool:
    if one[0] != other[0] or one[0] != NUMBER:
        return one == other
    if math.isnan(one[1]) or math.isnan(other[1]):
        return math.isnan(one[1]) and math.isnan(other[1])
    return math.isclose(one[1], other[1], rel_tol=rel, abs_tol=near)
