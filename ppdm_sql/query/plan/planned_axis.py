"""An axis of a plan: its cells, the SQL that tells whether a row lies in some of them, and what a row then adds.

Each kind of axis is a class of its own. That of an exact predicate is here, the others are in the modules `observe` of
the mechanisms whose columns they are made of.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.channels.cells import EXACT_AXIS, EXACT_CELLS, Cell
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.plan.noisy_counting import NoisyCounting
from ppdm_sql.query.plan.weight import Weight, WeightStyle
from ppdm_sql.query.understand.scan import conjunction, disjunction, typed
from ppdm_sql.syntax.parentheses import grouped

Tensor = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SummedPart = tuple[Tensor, exp.Expr | None]


@dataclass(frozen=True)
class PlannedAxis(ABC):
    """What a plan asks of an axis whose cells are known; `terms` are the conditions that tell them apart.

    An axis that a question makes no sense for is never asked it: `unasked` says so.
    """

    cells: tuple[Cell, ...]
    terms: tuple[exp.Expr, ...]

    # What it is made of

    @property
    def columns(self) -> tuple[PerturbedColumn, ...]:
        """The perturbed columns."""
        return ()

    @property
    def labels(self) -> tuple[exp.Expr, ...]:
        """The expressions that tell its cells apart as the terms do, by their values."""
        return ()

    @property
    def label_values(self) -> tuple[Any, ...]:
        """The values of each label in each cell."""
        return ()

    @property
    def told_values(self) -> bool:
        """Whether the last labels are the values that are summed."""
        return False

    @property
    def channel(self) -> Axis:
        """How rows move between the cells, where they mix by shares."""
        self.unasked("how its cells mix")

    def described(self) -> list[str]:
        """What an explanation says of it, line by line."""
        return []

    # What is known of its rows

    @property
    def perturbed(self) -> bool:
        """Whether a row may be shown in another cell than its own, so that rows have to be weighed."""
        return False

    @property
    def certain(self) -> bool:
        """Whether what is told of it is exact."""
        return not self.perturbed

    @property
    def reads_release(self) -> bool:
        """Whether the distribution that replacements are drawn from is read off the release."""
        return False

    @property
    def drift(self) -> float:
        """How far that distribution follows each row."""
        return 0.0

    @property
    def whole_numbers(self) -> tuple[str, ...]:
        """The columns of whole numbers whose cells are values."""
        return ()

    @property
    def may_be_hidden(self) -> tuple[str, ...]:
        """The columns that a row in some cells may fail to show there."""
        return ()

    def shown(self, inside: frozenset[int]) -> float:
        """How likely a row in some cells is to be shown in one of them."""
        return 1.0

    # How it is reconstructed

    @property
    def only_method(self) -> str | None:
        """The one method that reconstructs it, where there is only one."""
        return None

    @property
    def bayes_refusal(self) -> str | None:
        """Why iterative Bayes does not reconstruct it; None where it may."""
        return None

    @property
    def suits_bayes(self) -> bool:
        """Whether iterative Bayes is a good choice where nobody asks for a method."""
        return True

    def refusal_beside(self, others: Iterable[PlannedAxis]) -> str | None:
        """Why it is not reconstructed together with the other axes of a query; None where it is."""
        return None

    @property
    def can_be_counted(self) -> bool:
        """Whether a condition tells each cell from the others, and counts of cells are all that is needed."""
        return len({self._told(i) for i in range(len(self.cells))}) == len(self.cells)

    def single_values(self) -> tuple[PlannedAxis, ...]:
        """The axes along which states are reconstructed in its place."""
        return (self,)

    def spread_out(self, target: Tensor, place: int) -> Tensor:
        """From the axis's cells to the states of `single_values`, along one place of a tensor."""
        return target

    def counting(self) -> NoisyCounting:
        """How its numbers are counted, where it is a line cut into stretches."""
        self.unasked("how its numbers are counted")

    def check_counted(self, sql: str, counts: Iterable[Flags]) -> None:
        """Refuse counts of some of its cells that nothing can be told of."""
        self.unasked("which stretches are counted")

    # What a row adds

    @property
    def retentions(self) -> Mapping[str, float]:
        """The chance that each column's value is kept, where weights are divided by it."""
        return {}

    @property
    def fits_float(self) -> bool:
        """Whether weights may be rounded to single precision."""
        return True

    @abstractmethod
    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """What a row adds to the number of rows in some cells."""

    def value_weight(self, index: int, inside: frozenset[int], style: WeightStyle) -> Weight:
        """What a row adds to the sum of a value over the rows in some cells."""
        self.unasked("for a value's weight")

    def summed(self, index: int, inside: frozenset[int]) -> tuple[SummedPart, ...]:
        """A summed value in parts: what a row in an observed cell adds to true ones, and the factor of each row."""
        self.unasked("for sums by observed cell")

    def value_of_cells(self, index: int) -> Tensor:
        """A value in each cell, where labels tell it."""
        self.unasked("for values of cells")

    # SQL that tells its cells apart

    def test(self, inside: frozenset[int]) -> exp.Expr:
        """SQL that is TRUE where the row lies in one of the cells, and FALSE or NULL elsewhere."""
        whole = [i for i in range(len(self.terms)) if self.true_cells(i) == inside]
        if whole:
            return self.terms[whole[0]].copy()
        tests = [self._cell_test(cell) for cell in dict.fromkeys(self._told(i) for i in sorted(inside))]
        return grouped(disjunction(tests))

    def true_cells(self, term: int) -> frozenset[int]:
        """The cells in which a term is TRUE."""
        return frozenset(i for i, cell in enumerate(self.cells) if cell.truth[term] is True)

    @property
    def nullable(self) -> bool:
        """Whether a test of this axis may give NULL."""
        return any(truth is None for cell in self.cells for truth in cell.truth)

    def cell_number(self) -> exp.Expr:
        """The number of the row's cell; the last needs no test."""
        tests = [exp.If(this=self.test(frozenset({i})), true=exp.Literal.number(i)) for i in range(len(self.cells) - 1)]
        if not tests:
            return typed(exp.Literal.number(0), "SMALLINT")
        last = exp.Literal.number(len(self.cells) - 1)
        return typed(exp.Case(ifs=tests, default=last), "SMALLINT")

    def telling(self) -> tuple[exp.Expr, ...]:
        """The expressions that together tell the cells apart."""
        return (*self.labels, *self.terms, *([self._null_test()] if self.channel.fixed else []))

    def cells_table(self) -> pa.Table:
        """The cells by what tells them apart, with their numbers."""
        told = list(self.label_values)
        told += [pa.array([cell.truth[i] for cell in self.cells], pa.bool_()) for i in range(len(self.terms))]
        if self.channel.fixed:
            told.append(pa.array([cell.fixed for cell in self.cells]))
        columns = {f"t{i}": values for i, values in enumerate(told)}
        return pa.table(columns | {"cell": pa.array(range(len(self.cells)), pa.int64())})

    def _told(self, index: int) -> tuple[tuple[bool | None, ...], bool]:
        """What conditions tell of a cell, which it may share with other cells under labels."""
        return self.cells[index].truth, self.cells[index].fixed

    def _cell_test(self, told: tuple[tuple[bool | None, ...], bool]) -> exp.Expr:
        """The shortest run of conditions on terms that only such cells meet."""
        truth, fixed = told
        rivals = [c for c in self.cells if c.truth != truth and c.fixed == fixed]
        tests: list[exp.Expr] = []
        if any(c.fixed for c in self.cells):
            null = self._null_test()
            tests.append(null if fixed else exp.Not(this=null))
        while rivals:
            term = max(range(len(self.terms)), key=lambda t: sum(c.truth[t] is not truth[t] for c in rivals))
            rivals = [c for c in rivals if c.truth[term] is truth[term]]
            tests.append(_truth_test(self.terms[term], truth[term]))
        return conjunction(tests) if len(tests) < 2 else grouped(conjunction(tests))

    def _null_test(self) -> exp.Expr:
        return null_test(self.columns[0])

    def unasked(self, what: str) -> NoReturn:
        """Say that a question was put to an axis of the wrong kind, which is an error of the program."""
        raise TypeError(f"nobody asks of a {type(self).__name__} {what}")


@dataclass(frozen=True)
class ExactAxis(PlannedAxis):
    """An exact predicate: a cell where it is TRUE, and one for the rest."""

    cells: tuple[Cell, ...] = EXACT_CELLS
    terms: tuple[exp.Expr, ...] = ()

    @property
    def channel(self) -> Axis:
        """Nothing moves."""
        return EXACT_AXIS

    @property
    def nullable(self) -> bool:
        """A predicate is NULL where it is not known."""
        return True

    def test(self, inside: frozenset[int]) -> exp.Expr:
        """The predicate, or its opposite, which holds for the rows for which the predicate is NULL, too."""
        if inside == {1}:
            return exp.Not(this=exp.Coalesce(this=self.terms[0].copy(), expressions=[exp.false()]))
        return super().test(inside)

    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """1 or 0."""
        return Weight(1.0, style.indicator(self.test(inside), self.nullable), 1)


def null_test(column: PerturbedColumn) -> exp.Expr:
    """SQL for whether a column is NULL."""
    return exp.Is(this=exp.column(exp.to_identifier(column.name, quoted=True)), expression=exp.Null())


def _truth_test(term: exp.Expr, truth: bool | None) -> exp.Expr:
    if truth is None:
        return exp.Is(this=grouped(term.copy()), expression=exp.Null())
    return grouped(term.copy()) if truth else exp.Not(this=grouped(term.copy()))
