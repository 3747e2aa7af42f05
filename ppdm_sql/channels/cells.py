"""Cells: the parts of a column's domain that a query tells apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ppdm_sql.channels.axis import Axis
from ppdm_sql.mechanisms.retained.column import RetainedColumn


@dataclass(frozen=True)
class Cell:
    """A set of values that all of a query's terms treat alike.

    `truth` holds each term's value there (None for NULL), `weight` what the replacing distribution gives the values
    inside (their number, where all are alike), `sums` the weighted sum over them of each number the query asks for. The
    NULLs of a column with nulls = "keep" are a cell of their own, `fixed`: they are never replaced and nothing becomes
    one.
    """

    truth: tuple[bool | None, ...]
    weight: float
    fixed: bool = False
    sums: tuple[float, ...] = ()


@dataclass(frozen=True)
class Runs:
    """The stretches of a line, from left to right: the bounds between them, and the cell that each is part of.

    `low` and `high` are the smallest and largest noisy number of the release.
    """

    bounds: tuple[float, ...]
    cell: tuple[int, ...]
    low: float
    high: float


@dataclass(frozen=True)
class Cells:
    """The cells of a column; where labels tell them apart, those of each cell (one array a label).

    `runs` says where they lie, for a column with noise; `blurred` is a condition on single values, which noise hides.
    """

    cells: tuple[Cell, ...]
    labels: tuple[Any, ...] = ()
    runs: Runs | None = None
    blurred: Any = None


def total_weight(cells: Sequence[Cell]) -> float:
    """The weight of the whole domain, whose parts the cells are."""
    return math.fsum(cell.weight for cell in cells if not cell.fixed)


def column_axis(column: RetainedColumn, cells: Sequence[Cell]) -> Axis:
    """The transition between the cells of a perturbed column, with exact shares."""
    total = total_weight(cells)
    if not total:  # of a release without rows: nothing is replaced, for there is nothing to draw from
        return Axis(1.0, (0.0,) * len(cells))
    shares = tuple(0.0 if cell.fixed else cell.weight / total for cell in cells)
    fixed = tuple(i for i, cell in enumerate(cells) if cell.fixed)
    return Axis(column.retain, shares, fixed)


EXACT_CELLS = (Cell((True,), 1), Cell((False,), 0))
"""An exact predicate has two cells: where it is TRUE, and the rest."""

EXACT_AXIS = Axis(1.0, (1.0, 0.0))
"""Nothing moves between the cells of an exact predicate; its shares play no part."""
