"""Columns whose values are kept or redrawn, in queries: the cells of one, and of two that an expression spans."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.channels.cells import Cell, Cells, column_axis, total_weight
from ppdm_sql.channels.joint import JointCells, positions, weights
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.lookup import lookup
from ppdm_sql.query.plan.measuring import Asked, Measuring
from ppdm_sql.query.plan.observing import AxisQuestion, Observer
from ppdm_sql.query.plan.planned_axis import PlannedAxis, SummedPart, Tensor, null_test
from ppdm_sql.query.plan.weight import Weight, WeightStyle
from ppdm_sql.query.sql.states import MAX_STATES
from ppdm_sql.query.understand.scan import conjunction, number, total, typed
from ppdm_sql.syntax.dialects import ANALYST

WORDS = {True: "true", False: "false", None: "null"}


@dataclass(frozen=True)
class RetainedAxis(PlannedAxis):
    """The cells of one column, which mix by their shares of the replacing distribution.

    `values` are the numbers of it that are summed.
    """

    axis: Axis
    column: RetainedColumn
    values: tuple[exp.Expr, ...] = ()
    labels: tuple[exp.Expr, ...] = ()
    label_values: tuple[Any, ...] = ()
    told_values: bool = False

    @property
    def columns(self) -> tuple[RetainedColumn, ...]:
        """The one column."""
        return (self.column,)

    @property
    def channel(self) -> Axis:
        """Cells mix by shares."""
        return self.axis

    def described(self) -> list[str]:
        """The column, its terms and its cells."""
        return [*_described_columns(self, self.columns), *(_cell_line(self, cell, "") for cell in self.cells)]

    @property
    def perturbed(self) -> bool:
        """Whether anything is ever redrawn."""
        return self.axis.retain < 1

    @property
    def reads_release(self) -> bool:
        """Whether the distribution that replacements are drawn from is read off the release."""
        return self.column.drawn_from_release and self.perturbed

    @property
    def drift(self) -> float:
        """How far that distribution follows each row."""
        return self.column.drift

    @property
    def whole_numbers(self) -> tuple[str, ...]:
        """The column, if it has whole numbers."""
        return (self.column.name,) if self.column.type.family == "integer" else ()

    @property
    def may_be_hidden(self) -> tuple[str, ...]:
        """The column, if anything of it is redrawn."""
        return (self.column.name,) if self.perturbed else ()

    def shown(self, inside: frozenset[int]) -> float:
        """Kept, or redrawn from one of the cells."""
        retain = self.axis.retain
        if retain == 1 or inside <= {*self.axis.fixed}:
            return 1.0
        return min(1.0, retain + (1 - retain) * math.fsum(self.axis.shares[i] for i in inside))

    @property
    def only_method(self) -> str | None:
        """Inversion, where the replacing distribution has an error of its own."""
        return "inversion" if self._own else None

    @property
    def bayes_refusal(self) -> str | None:
        """Bayes takes the replacing distribution as known."""
        if not self._own:
            return None
        return (
            f"Unsupported: iterative Bayes with {self.column.name}, whose replacing distribution is read off the "
            "release and has an error of its own. Use SET ppdm_method = 'auto'."
        )

    @property
    def _own(self) -> bool:
        return self.column.drawn_from_release and not self.column.exact

    @property
    def retentions(self) -> Mapping[str, float]:
        """That of the column."""
        return {self.column.name: self.column.retain}

    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """(1[in cell] - (1 - p) R) / p; rows in a fixed cell count as they are."""
        retain = self.axis.retain
        share = sum(self.axis.shares[i] for i in inside)
        indicator = style.indicator(self.test(inside), self.nullable)
        shift = (1 - retain) * share
        if shift == 0 or self._whole(inside):
            return Weight(1.0, indicator, 1)
        shifted = exp.Paren(this=exp.Sub(this=indicator, expression=style.constant(shift)))
        if not self.axis.fixed:
            return Weight(1 / retain, shifted, 1)
        kept = style.constant(retain if set(self.axis.fixed) <= inside else 0.0)
        choice = exp.Case(ifs=[exp.If(this=null_test(self.column), true=kept)], default=shifted)
        return Weight(1 / retain, choice, 1)

    def _whole(self, inside: frozenset[int]) -> bool:
        """Whether the cells hold every value that can be drawn: then perturbation moves no row in or out."""
        return all(i in inside or cell.fixed for i, cell in enumerate(self.cells))

    def value_weight(self, index: int, inside: frozenset[int], style: WeightStyle) -> Weight:
        """(v 1[in cells] - (1 - p) E[v 1[in cells]]) / p; rows in a fixed cell count as they are."""
        retain = self.axis.retain
        shift = (1 - retain) * self._drawn_mean(index, inside)
        body = value_inside(self, self.values, index, inside)
        if retain == 1:
            return Weight(1.0, body, 1)
        shifted = exp.Paren(this=exp.Sub(this=body, expression=style.constant(shift)))
        if not self.axis.fixed:
            return Weight(1 / retain, shifted, 1)
        kept = exp.Mul(this=style.constant(retain), expression=body.copy())
        return Weight(1 / retain, exp.Case(ifs=[exp.If(this=null_test(self.column), true=kept)], default=shifted), 1)

    def _drawn_mean(self, index: int, inside: Iterable[int]) -> float:
        """The mean over draws of a value where it lies in some cells, and 0 elsewhere."""
        weight = total_weight(self.cells)
        if not weight:  # of a release without rows: there is nothing to draw
            return 0.0
        mean = math.fsum(self.cells[i].sums[index] for i in inside) / weight
        if not math.isfinite(mean):
            text = self.values[index].sql(dialect=ANALYST)
            raise Unsupported(f"Unsupported: {text} is infinite somewhere in the domain of {self.column.name}.")
        return mean

    def summed(self, index: int, inside: frozenset[int]) -> tuple[SummedPart, ...]:
        """The values of the rows that were observed in a cell, and what draws are expected to have added there."""
        retain, fixed, cells = self.axis.retain, list(self.axis.fixed), len(self.cells)
        kept = np.eye(cells) / retain
        kept[fixed, fixed] = 1.0
        seen = kept, value_inside(self, self.values, index, inside)
        if retain == 1:
            return (seen,)
        means = [self._drawn_mean(index, [cell] if cell in inside else []) for cell in range(cells)]
        drawn = np.tile(np.array(means) * -(1 - retain) / retain, (cells, 1))
        drawn[fixed, :] = drawn[:, fixed] = 0.0
        return seen, (drawn, None)

    def value_of_cells(self, index: int) -> Tensor:
        """A value in each cell, where labels tell it."""
        values = self.label_values[len(self.labels) - len(self.values) + index].to_pylist()
        return np.array([number or 0.0 for number in values])


@dataclass(frozen=True)
class ValuesAxis(RetainedAxis):
    """The values of one column, each a cell of its own, without conditions that tell them apart."""

    def cell_number(self) -> exp.Expr:
        """The place of the value, looked up."""
        if len(self.cells) < 2:
            return super().cell_number()
        places = np.arange(len(self.cells), dtype=float)
        return typed(lookup(self.column, places, "DOUBLE", portable=False), "INT")


@dataclass(frozen=True)
class JointAxis(PlannedAxis):
    """Two columns that one expression spans.

    Their cells do not mix by shares: rows are weighed by `joint`, and nothing may invert along this axis.
    """

    pair: tuple[RetainedColumn, RetainedColumn]
    joint: JointCells
    values: tuple[exp.Expr, ...] = ()

    @property
    def columns(self) -> tuple[RetainedColumn, RetainedColumn]:
        """Both columns."""
        return self.pair

    def described(self) -> list[str]:
        """The columns, their terms and their cells."""
        return [*_described_columns(self, self.pair), *(_cell_line(self, cell, "pairs of ") for cell in self.cells)]

    @property
    def _both_kept(self) -> float:
        return self.pair[0].retain * self.pair[1].retain

    @property
    def perturbed(self) -> bool:
        """Whether anything of either is ever redrawn."""
        return self._both_kept < 1

    @property
    def whole_numbers(self) -> tuple[str, ...]:
        """The first column, if it has whole numbers."""
        first = self.pair[0]
        return (first.name,) if first.type.family == "integer" else ()

    @property
    def may_be_hidden(self) -> tuple[str, ...]:
        """Both columns."""
        return tuple(column.name for column in self.pair)

    def shown(self, inside: frozenset[int]) -> float:
        """At least where both are kept."""
        return self._both_kept if inside else 1.0

    @property
    def suits_bayes(self) -> bool:
        """Bayes would need every pair of their values."""
        return False

    @property
    def can_be_counted(self) -> bool:
        """What is drawn for one column depends on the other's value, which counts of cells do not tell."""
        return False

    def single_values(self) -> tuple[PlannedAxis, ...]:
        """Both columns, value by value."""
        a, b = self.pair
        if self.joint.pairs is None:
            raise Unsupported(
                f"Unsupported: {a.name} and {b.name} together have {positions(a) * positions(b):,} pairs of values, "
                f"and Bayes reconstructs at most {MAX_STATES:,} states. Use SET ppdm_method = 'inversion'."
            )
        found = []
        for column in (a, b):
            drawn = weights(column)[: column.size].tolist()
            cells = [Cell((), weight) for weight in drawn]
            cells += [Cell((), 0, fixed=True)] * (positions(column) - column.size)
            found.append(ValuesAxis(tuple(cells), (), column_axis(column, cells), column))
        return tuple(found)

    def spread_out(self, target: Tensor, place: int) -> Tensor:
        """From cells of two columns together to pairs of their values."""
        assert self.joint.pairs is not None
        return np.take(target, self.joint.pairs, axis=place)

    @property
    def retentions(self) -> Mapping[str, float]:
        """Those of both columns."""
        return {column.name: column.retain for column in self.pair}

    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """That of g = 1 in some cells."""
        return self._weight(style.indicator(self.test(inside), self.nullable), inside, None, style)

    def value_weight(self, index: int, inside: frozenset[int], style: WeightStyle) -> Weight:
        """That of g = the value in some cells."""
        return self._weight(value_inside(self, self.values, index, inside), inside, index, style)

    def _weight(self, body: exp.Expr, inside: frozenset[int], value: int | None, style: WeightStyle) -> Weight:
        """The weight of g(a, b), the value or 1 in some cells, of two columns with retentions p and q.

        (g - (1 - p) E_a g - (1 - q) E_b g + (1 - p)(1 - q) E g) / (p q): E_a g, the mean over draws of a, depends on
        the row's b alone. A row whose a is NULL for good is weighed as one of b alone.
        """
        cells = sorted(inside)
        a, b = self.pair
        first, second = self.joint.margins
        over_b, over_a = first.mean(cells, value), second.mean(cells, value)
        mean = first.own @ over_b / second.drawn
        if not np.isfinite(mean):
            names = f"{a.name} and {b.name}"
            raise Unsupported(f"Unsupported: a sum over {names} is infinite somewhere in their domains.")
        p, q = a.retain, b.retain
        shifts = (1 - q) * over_b, (1 - p) * over_a - (1 - p) * (1 - q) * mean
        parts = [body]
        for column, shift in zip((a, b), shifts, strict=True):
            if np.any(shift):
                parts.append(exp.Neg(this=lookup(column, shift, style.sql_type, style.portable)))
        general = exp.Paren(this=total(parts)) if len(parts) > 1 else body
        kept = [column for column in (a, b) if column.keeps_null]
        ifs = []
        for null in [kept, *([column] for column in kept)] if len(kept) == 2 else [[column] for column in kept]:
            rest = body.copy()
            if len(null) == 1:
                shift = (1 - q) * over_b[-1] if null[0] is a else (1 - p) * over_a[-1]
                rest = exp.Paren(this=exp.Sub(this=rest, expression=style.constant(float(shift))))
            scale = style.constant(math.prod(column.retain for column in null))
            tests = conjunction([null_test(column) for column in null])
            ifs.append(exp.If(this=tests, true=exp.Mul(this=scale, expression=rest)))
        choice = exp.Case(ifs=ifs, default=general) if ifs else general
        return Weight(1 / (p * q), choice, len(parts))


class Replaced(Observer):
    """Columns that are kept or redrawn; single ones are measured together."""

    def measured(self, question: AxisQuestion) -> Asked | None:
        """A single column with its terms, values and labels."""
        axis = question.axis
        if len(axis.columns) > 1:
            return None
        return _retained(question)[0], axis.terms, axis.values, question.labels

    def planned(self, question: AxisQuestion, engine: Measuring, found: Cells | None) -> PlannedAxis:
        """The cells of one column, or of two together."""
        axis, columns = question.axis, _retained(question)
        if found is None:
            a, b = columns
            joint = engine.measure_joint((a, b), axis.terms, axis.values)
            return JointAxis(joint.cells, axis.terms, (a, b), joint, axis.values)
        told = (axis.values, question.labels, found.labels, question.told_values)
        return RetainedAxis(found.cells, axis.terms, column_axis(columns[0], found.cells), columns[0], *told)


def _retained(question: AxisQuestion) -> list[RetainedColumn]:
    return [column for column in question.axis.columns if isinstance(column, RetainedColumn)]


def value_inside(axis: PlannedAxis, values: tuple[exp.Expr, ...], index: int, inside: frozenset[int]) -> exp.Expr:
    """A value where the row lies in some cells, else 0."""
    body: exp.Expr = exp.Coalesce(this=values[index].copy(), expressions=[number(0.0)])
    if len(inside) < len(axis.cells):
        body = exp.Case(ifs=[exp.If(this=axis.test(inside), true=body)], default=number(0.0))
    return body


def _described_columns(axis: PlannedAxis, columns: Iterable[RetainedColumn]) -> list[str]:
    lines = [
        f"column: {column.name} {column.type.name}, retention {column.retain:.6g}, {_drawn(column)}"
        for column in columns
    ]
    return lines + [f"  term {i}: {term.sql(dialect=ANALYST)}" for i, term in enumerate(axis.terms, start=1)]


def _drawn(column: RetainedColumn) -> str:
    """What replacements are drawn from."""
    if column.drawn_from_release:
        return "replaced by its own values, counted in the release"
    return f"{column.size:,} values in its domain"


def _cell_line(axis: RetainedAxis | JointAxis, cell: Cell, pairs: str) -> str:
    truth = ", ".join(WORDS[value] for value in cell.truth)
    return f"  cell ({truth}): {_share(axis, cell, pairs)}"


def _share(axis: RetainedAxis | JointAxis, cell: Cell, pairs: str) -> str:
    if cell.fixed:
        return "NULL, never replaced"
    weight = total_weight(axis.cells)  # 0 where a column's own values are drawn and there are none
    share = f"share {cell.weight / weight if weight else 0:.6g}"
    if axis.columns[0].drawn_from_release:
        return f"{int(cell.weight):,} rows of the release, {share}"
    if any(column.weights is not None for column in axis.columns):
        return share
    return f"{int(cell.weight):,} {pairs}values, {share}"


OBSERVER = Replaced()
MECHANISMS = {"uniform": OBSERVER, "custom": OBSERVER}
