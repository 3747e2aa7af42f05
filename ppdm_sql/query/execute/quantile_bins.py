"""Bins of a large grid, cut finer where a quantile lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.engine.base import Engine
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.plan.grid_places import grid_place
from ppdm_sql.query.plan.measuring import Asked, Expressions, Line, Pair

BINS = 4_096


FEW_ENTRIES = 2**19
"""Groups times new bins in one round."""


@dataclass(frozen=True)
class Bins:
    """Bins of a grid: from each level's, those of `cut` are cut into bins of the next width; widths halve evenly."""

    column: PerturbedColumn
    widths: tuple[int, ...]
    cut: tuple[tuple[int, ...], ...] = ()

    @staticmethod
    def first(column: PerturbedColumn) -> Bins:
        """Bins of one width, as many as are counted at once."""
        width = 1
        bins = Bins(column, (width,))
        while bins.size > width * BINS:
            width *= 2
        return Bins(column, (width,))

    @property
    def size(self) -> int:
        """The number of values of the grid."""
        grid = self.column.declared_grid
        assert grid is not None
        return grid.size

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """The place that each bin starts at, ascending."""
        size = self.size
        starts = np.arange(0, size, self.widths[0])
        for cut, width in zip(self.cut, self.widths[1:], strict=True):
            inside = np.concatenate([np.arange(a, min(b, size), width) for a, b in _spans(cut, starts, size)])
            starts = np.union1d(starts, inside)
        return starts

    def label(self) -> exp.Expr:
        """SQL for the start of the bin that a row's value lies in."""

        def start(width: int) -> exp.Expr:
            floor = exp.IntDiv(this=grid_place(self.column), expression=exp.Literal.number(width))
            return exp.Mul(this=exp.Paren(this=floor), expression=exp.Literal.number(width))

        result = start(self.widths[-1])
        for cut, width in reversed(list(zip(self.cut, self.widths, strict=False))):
            inside = exp.In(this=exp.Paren(this=start(width)), expressions=[exp.Literal.number(c) for c in cut])
            result = exp.Case(ifs=[exp.If(this=inside, true=result)], default=start(width))
        return exp.Paren(this=result)

    def finer(self, used: npt.NDArray[np.int64], groups: int) -> Bins | None:
        """Bins that are finer where it matters, or None where they cannot be, or would be too many for the groups."""
        budget = max(128, min(BINS, FEW_ENTRIES // groups))
        width, starts = self.widths[-1], self.starts
        ends = np.append(starts[1:], self.size)
        near = np.unique(np.clip(np.concatenate([used - 1, used, used + 1]), 0, len(starts) - 1))
        chosen = [int(starts[i]) for i in near if starts[i] % width == 0 and ends[i] - starts[i] <= width]
        if width == 1 or not chosen or len(starts) > 4 * BINS:
            return None
        finer = width
        while finer > 1 and len(chosen) * width // finer < budget:
            finer //= 2
        if finer == width:
            return None
        return Bins(self.column, (*self.widths, finer), (*self.cut, tuple(chosen)))


def _spans(cut: Sequence[int], starts: npt.NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    ends = dict(zip(starts.tolist(), [*starts[1:].tolist(), size], strict=True))
    return [(a, ends[a]) for a in cut]


@dataclass(frozen=True)
class Binned:
    """An engine that counts the bins of one column by arithmetic."""

    engine: Engine
    bins: Bins

    def measure(self, columns: Sequence[Asked]) -> list[Cells]:
        """The cells of each column; of a labelled one, the bins."""
        others = iter(self.engine.measure([asked for asked in columns if not asked[3]]))
        return [
            self.engine.measure_bins(asked[0], asked[1], self.bins.starts.tolist()) if asked[3] else next(others)
            for asked in columns
        ]

    def measure_joint(self, columns: Pair, terms: Expressions, values: Expressions) -> JointCells:
        """The cells of two columns together."""
        return self.engine.measure_joint(columns, terms, values)

    def measure_noisy(self, column: Line, terms: Expressions, labels: Expressions, release: exp.Expr) -> Cells:
        """The stretches of a column with noise."""
        return self.engine.measure_noisy(column, terms, labels, release)
