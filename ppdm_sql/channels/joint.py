"""Cells of two columns together: what a condition or a number that spans both of them tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ppdm_sql.channels.cells import Cell
from ppdm_sql.mechanisms.retained.column import RetainedColumn

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Margin:
    """One column's values, in the order of its domain and then NULL, and what the other's draws make of each.

    `weight` (values, cells) has the weight of the other column's values that lead into each cell (their number, where
    all are alike), `sums` (values, cells, numbers) the weighted sums of each number over them. `own` has the weight of
    the values themselves, `drawn` that of all the other's.
    """

    weight: Array = field(compare=False)
    sums: Array = field(compare=False)
    own: Array = field(compare=False)
    drawn: float

    def mean(self, cells: Sequence[int], number: int | None) -> Array:
        """Over the other column's draws, the mean of a number in some cells (of 1 for None), for each value."""
        part = self.weight if number is None else self.sums[:, :, number]
        mean: Array = part[:, list(cells)].sum(axis=1) / self.drawn
        return mean


@dataclass(frozen=True)
class JointCells:
    """The cells of two columns together, their margins, and, of a small domain, the cell of each pair of values."""

    cells: tuple[Cell, ...]
    margins: tuple[Margin, Margin]
    pairs: npt.NDArray[np.int64] | None = field(default=None, compare=False)


def weights(column: RetainedColumn) -> Array:
    """The weight of each value that a column may show; the NULL that nothing becomes has none."""
    found = np.zeros(positions(column))
    found[: column.size] = 1.0 if column.weights is None else column.weights
    return found


def positions(column: RetainedColumn) -> int:
    """How many values a column may show: those of its domain, and NULL where there may be any."""
    return column.domain.size + (column.nulls != "error")
