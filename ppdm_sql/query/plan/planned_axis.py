"""An axis of a plan: its cells, and the SQL that tells whether a row lies in some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.channels.cells import Cell, Runs
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.query.understand.scan import conjunction, disjunction
from ppdm_sql.syntax.parentheses import grouped


@dataclass(frozen=True)
class PlannedAxis:
    """An axis whose cells are known.

    `labels` tell its cells apart as `terms` do, and `label_values` are theirs in each cell; with `told_values`, the
    last labels are the values.
    """

    axis: Axis
    cells: tuple[Cell, ...]
    terms: tuple[exp.Expr, ...]
    column: RetainedColumn | None
    values: tuple[exp.Expr, ...] = ()
    labels: tuple[exp.Expr, ...] = ()
    label_values: tuple[Any, ...] = ()
    noisy: NoisyColumn | None = None
    runs: Runs | None = None
    told_values: bool = False

    def test(self, inside: frozenset[int]) -> exp.Expr:
        """SQL that is TRUE where the row lies in one of the cells, and FALSE or NULL elsewhere."""
        assert self.noisy is None, "a noisy number is never tested as if it were true"
        if self.column is None and inside == {1}:  # the rest holds the rows for which the predicate is NULL, too
            return exp.Not(this=exp.Coalesce(this=self.terms[0].copy(), expressions=[exp.false()]))
        whole = [i for i, term in enumerate(self.terms) if self.true_cells(i) == inside]
        if whole:
            return self.terms[whole[0]].copy()
        tests = [self._cell_test(cell) for cell in dict.fromkeys(self._told(i) for i in sorted(inside))]
        return grouped(disjunction(tests))

    def true_cells(self, term: int) -> frozenset[int]:
        """The cells in which a term is TRUE."""
        return frozenset(i for i, cell in enumerate(self.cells) if cell.truth[term] is True)

    def whole(self, inside: frozenset[int]) -> bool:
        """Whether the cells hold every value that can be drawn: then perturbation moves no row in or out."""
        return self.column is not None and all(i in inside or cell.fixed for i, cell in enumerate(self.cells))

    @property
    def told_by_terms(self) -> bool:
        """Whether conditions alone tell all cells apart, without labels."""
        return len({self._told(i) for i in range(len(self.cells))}) == len(self.cells)

    def _told(self, index: int) -> tuple[tuple[bool | None, ...], bool]:
        """What conditions tell of a cell, which it may share with other cells under labels."""
        return self.cells[index].truth, self.cells[index].fixed

    def _cell_test(self, told: tuple[tuple[bool | None, ...], bool]) -> exp.Expr:
        """The shortest run of conditions on terms that only such cells meet."""
        truth, fixed = told
        rivals = [c for c in self.cells if c.truth != truth and c.fixed == fixed]
        tests: list[exp.Expr] = []
        if any(c.fixed for c in self.cells):
            assert self.column is not None
            null = exp.Is(this=exp.column(exp.to_identifier(self.column.name, quoted=True)), expression=exp.Null())
            tests.append(null if fixed else exp.Not(this=null))
        while rivals:
            term = max(range(len(self.terms)), key=lambda t: sum(c.truth[t] is not truth[t] for c in rivals))
            rivals = [c for c in rivals if c.truth[term] is truth[term]]
            tests.append(_truth_test(self.terms[term], truth[term]))
        return conjunction(tests) if len(tests) < 2 else grouped(conjunction(tests))

    @property
    def nullable(self) -> bool:
        """Whether a test of this axis may give NULL."""
        return self.column is None or any(truth is None for cell in self.cells for truth in cell.truth)


@dataclass(frozen=True)
class JointAxis(PlannedAxis):
    """Two columns that one expression spans.

    Their cells do not mix by shares: `axis` only says that they are perturbed, rows are weighed by `joint`, and
    nothing may invert along this axis.
    """

    partner: RetainedColumn | None = None
    joint: JointCells | None = None

    @property
    def columns(self) -> tuple[RetainedColumn, RetainedColumn]:
        """Both columns."""
        assert self.column is not None
        assert self.partner is not None
        return self.column, self.partner


@dataclass(frozen=True)
class BasketAxis(PlannedAxis):
    """A column of baskets: a cell is a set of the items asked for, by their numbers in the item set.

    As of a `JointAxis`, `axis` only says that it is perturbed.
    """

    basket: BasketColumn = field(kw_only=True)
    items: tuple[int, ...] = ()


def _truth_test(term: exp.Expr, truth: bool | None) -> exp.Expr:
    if truth is None:
        return exp.Is(this=grouped(term.copy()), expression=exp.Null())
    return grouped(term.copy()) if truth else exp.Not(this=grouped(term.copy()))
