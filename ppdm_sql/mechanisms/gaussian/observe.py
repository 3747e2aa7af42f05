"""Columns with Gaussian noise, in queries: the stretches of a line, in which originals are counted by deconvolution."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from sqlglot import exp

from ppdm_sql.channels.cells import Cells, Runs
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.noisy_counting import NoisyCounting
from ppdm_sql.query.plan.observing import AxisQuestion, Observer
from ppdm_sql.query.plan.planned_axis import Flags, PlannedAxis
from ppdm_sql.query.plan.weight import Weight, WeightStyle
from ppdm_sql.query.understand.noisy_ranges import DECONVOLUTION
from ppdm_sql.reconstruct.deconvolution import BIN, SEEN, make_bins
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.refuse import refuse

_SHOWN_BOUNDS = 8


@dataclass(frozen=True)
class NoisyAxis(PlannedAxis):
    """The stretches of one column, which `runs` has from left to right; cells are what conditions tell apart."""

    column: NoisyColumn
    runs: Runs
    labels: tuple[exp.Expr, ...] = ()
    label_values: tuple[Any, ...] = ()

    @property
    def columns(self) -> tuple[NoisyColumn, ...]:
        """The one column."""
        return (self.column,)

    def described(self) -> list[str]:
        """The column, its terms, and how its numbers are counted."""
        counting, column = self.counting(), self.column
        edges = counting.bins.edges
        lines = [f"column: {column.name}, Gaussian noise of standard deviation {column.deviation:.6g}"]
        lines += [f"  term {i}: {term.sql(dialect=ANALYST)}" for i, term in enumerate(self.terms, start=1)]
        bounds = [f"{bound:.6g}" for bound in self.runs.bounds]
        shown = ", ".join(bounds[:_SHOWN_BOUNDS]) + (", .." if len(bounds) > _SHOWN_BOUNDS else "")
        lines.append(f"  bounds: {shown or 'none'}")
        lines.append(
            f"  bins: {len(edges) - 1} from {edges[0]:.6g} to {edges[-1]:.6g}, about {BIN:g} of the deviation wide, so "
            "that every bound is an edge; noisy values are counted in "
            f"{counting.intervals} intervals of {counting.width:.6g}"
        )
        return lines

    @property
    def certain(self) -> bool:
        """No range is counted exactly."""
        return False

    @property
    def only_method(self) -> str:
        """No unbiased estimate counts ranges."""
        return DECONVOLUTION

    def counting(self) -> NoisyCounting:
        """Intervals end half way between two steps, where rounding changes nothing; bins at the bounds of the query."""
        column, runs = self.column, self.runs
        step = float(column.step)
        width = step * max(1, round(SEEN * column.deviation / step))
        origin = (math.floor(runs.low / step) - 0.5) * step
        intervals = max(1, math.floor((runs.high - origin) / width) + 1)
        bins = make_bins(runs.bounds, runs.low, runs.high, column.deviation)
        return NoisyCounting(
            origin, width, intervals, bins, column.name, column.deviation, np.array(runs.cell)[bins.run]
        )

    def check_counted(self, sql: str, counts: Iterable[Flags]) -> None:
        """Refuse a count of stretches that the noise blurs: one value, or a range much narrower than the noise."""
        least = self.column.narrowest * (1 - 1e-9)
        of_run = np.array(self.runs.cell, dtype=np.int64)
        bounds = self.runs.bounds
        for counted in (cells[of_run] for cells in counts):
            changes = [place for place in range(1, len(of_run)) if counted[place] != counted[place - 1]]
            for one, other in itertools.pairwise(changes):
                if bounds[other - 1] - bounds[one - 1] < least:
                    refuse_blurred(sql, self._changing(one), self.column)

    def _changing(self, place: int) -> exp.Expr:
        """The term, or else the label, that changes where a stretch begins."""
        after, before = (self.cells[self.runs.cell[i]] for i in (place, place - 1))
        changed = [term for i, term in enumerate(self.terms) if after.truth[i] is not before.truth[i]]
        return (*changed, *self.labels, *self.terms)[0]

    def test(self, inside: frozenset[int]) -> exp.Expr:
        """A noisy number is never tested as if it were true."""
        self.unasked("for a test")

    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """Ranges are not estimated by weights."""
        self.unasked("for a weight")


class Noisy(Observer):
    """Columns with noise; each is measured by itself."""

    def planned(self, question: AxisQuestion, engine: Measuring, found: Cells | None) -> PlannedAxis:
        """The stretches of the line, unless a condition asks for single values."""
        axis, query = question.axis, question.query
        column = axis.columns[0]
        assert isinstance(column, NoisyColumn)
        stretches = engine.measure_noisy(column, axis.terms, axis.labels, query.table)
        if stretches.blurred is not None:
            refuse_blurred(query.sql, stretches.blurred, column)
        assert stretches.runs is not None
        return NoisyAxis(stretches.cells, axis.terms, column, stretches.runs, axis.labels, stretches.labels)

    def sum_line(self, column: PerturbedColumn) -> str:
        """What is known of the noise, and taken out."""
        assert isinstance(column, NoisyColumn)
        return (
            f"column: {column.name}, Gaussian noise of standard deviation {column.deviation:.6g}, rounded to "
            f"{column.step}: its variance and covariances are taken out of squares and products"
        )


def refuse_blurred(sql: str, node: exp.Expr, column: NoisyColumn) -> NoReturn:
    """Refuse what the noise hides."""
    refuse(
        sql,
        node,
        f"{column.name} has Gaussian noise of standard deviation {column.deviation:.4g}, which hides single values, "
        "and ranges much narrower than itself.",
        f"Use ranges and groups that are at least {column.narrowest:.4g} wide.",
    )


MECHANISMS = {"gaussian": Noisy()}
