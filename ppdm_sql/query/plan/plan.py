"""The plan: axes with their cells and shares, and for each aggregate the states it counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.channels.cells import EXACT_AXIS, EXACT_CELLS, Cell, Cells, column_axis
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.query.plan.formula import FALSE, TRUE, All, Atom, Formula, Some, axes_of, simplify
from ppdm_sql.query.plan.planned_axis import BasketAxis, JointAxis, PlannedAxis
from ppdm_sql.query.understand.memberships import asked_item
from ppdm_sql.query.understand.noise import Powers
from ppdm_sql.query.understand.noisy_ranges import DECONVOLUTION, check_ranges, refuse_blurred
from ppdm_sql.query.understand.query import Condition, Junction, Query, QueryAxis, Total, Value
from ppdm_sql.syntax.dialects import ANALYST

Expressions = Sequence[exp.Expr]
MAX_BASKET_ITEMS = 8
"""Items of one column of baskets in one query: its cells are 2**items."""


class Measuring(Protocol):
    """What a plan asks of an engine: how domains fall into cells under some terms, and what values sum to in each."""

    def measure(self, columns: Sequence[tuple[RetainedColumn, Expressions, Expressions, Expressions]]) -> list[Cells]:
        """The cells of each column."""

    def measure_joint(
        self, columns: tuple[RetainedColumn, RetainedColumn], terms: Expressions, values: Expressions
    ) -> JointCells:
        """The cells of two columns together."""

    def measure_noisy(self, column: NoisyColumn, terms: Expressions, labels: Expressions, release: exp.Expr) -> Cells:
        """The stretches of a column with noise."""


@dataclass(frozen=True)
class PlannedProduct:
    """Part of a total whose condition is settled into cells."""

    formula: Formula
    values: tuple[Value, ...] = ()
    factor: exp.Expr | None = None
    powers: Powers = ()


@dataclass(frozen=True)
class PlannedTotal:
    """A total whose conditions are settled; without products it is zero."""

    products: tuple[PlannedProduct, ...]

    @property
    def counted(self) -> Formula | None:
        """The formula whose rows it counts, or None where it adds up numbers."""
        if not self.products:
            return FALSE
        first = self.products[0]
        plain = len(self.products) == 1 and not first.values and first.factor is None and not first.powers
        return first.formula if plain else None

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that take part, in order."""
        used = [axes_of(product.formula) | {value.axis for value in product.values} for product in self.products]
        return tuple(sorted(frozenset().union(*used)))


@dataclass(frozen=True)
class Plan:
    """How a query will be answered; with `many_groups`, each further aggregate of the scan costs much.

    With `parts`, its groups are those of the parts, added up (`parts.py`).
    """

    query: Query
    axes: tuple[PlannedAxis, ...]
    totals: tuple[PlannedTotal, ...]
    method: str
    condition: Formula = TRUE
    many_groups: bool = False
    parts: tuple[Plan, ...] = ()

    @property
    def label_axes(self) -> tuple[int, ...]:
        """The axes that rows are grouped by."""
        return tuple(sorted({label.axis for label in self.query.labels.values()}))

    @property
    def own_axes(self) -> tuple[int, ...]:
        """The axes whose replacing distribution is read off the release."""
        return tuple(
            i for i, a in enumerate(self.axes) if isinstance(a.column, SelfReplacedColumn) and a.axis.retain < 1
        )

    @property
    def key_axes(self) -> tuple[int, ...]:
        """The axes whose cells are told apart: those that rows are grouped by, and those read off the release."""
        return tuple(sorted({*self.label_axes, *self.own_axes}))

    @property
    def cell_counts(self) -> list[int]:
        """The number of cells of each axis."""
        return [len(axis.cells) for axis in self.axes]

    @property
    def one_statement(self) -> bool:
        """Whether one statement gives the groups, with nothing reconstructed outside the engine."""
        return self.method == "inversion" and not self.key_axes and not self.query.quantiles

    @property
    def empty(self) -> bool:
        """Whether there is no group, for no row can pass WHERE."""
        if self.parts:
            return all(part.empty for part in self.parts)
        return self.condition == FALSE and bool(self.query.present_keys)

    @property
    def pieces(self) -> tuple[Plan, ...]:
        """The parts, or the plan itself where it has none."""
        return self.parts or (self,)

    @property
    def whole_numbers(self) -> frozenset[str]:
        """The perturbed columns of whole numbers that take part."""
        columns = (axis.column for piece in self.pieces for axis in piece.axes)
        return frozenset(c.name for c in columns if c is not None and c.type.family == "integer")

    def certain(self, total: PlannedTotal) -> bool:
        """Whether no perturbed column takes part, so that the total is exact."""
        if any(product.powers for product in total.products):
            return False
        used = [self.axes[axis] for axis in (*total.axes, *self.label_axes)]
        return all(axis.axis.retain == 1 and axis.noisy is None for axis in used)

    @property
    def noisy_axis(self) -> int | None:
        """The axis of a column with Gaussian noise, where there is a condition on one."""
        return next((i for i, axis in enumerate(self.axes) if axis.noisy is not None), None)


def make_plan(query: Query, engine: Measuring) -> Plan:
    """Ask for the cells of every perturbed column, and settle the conditions."""
    query = _with_source(query)
    own = any(
        isinstance(axis.column, SelfReplacedColumn) for axis in query.axes
    )  # its values and others' are told apart
    columns = [
        (axis.column, axis.terms, axis.values, _telling(axis, own))
        for axis in query.axes
        if isinstance(axis.column, RetainedColumn) and axis.partner is None
    ]
    measured = iter(engine.measure(columns) if columns else [])
    axes: list[PlannedAxis] = []
    check_ranges(query)
    for axis in query.axes:
        if axis.basket is not None:
            axes.append(_basket_axis(axis, axis.basket))
        elif isinstance(axis.column, NoisyColumn):
            stretches = engine.measure_noisy(axis.column, axis.terms, axis.labels, query.table)
            if stretches.blurred is not None:
                refuse_blurred(query.sql, stretches.blurred, axis.column)
            channel = Axis(1.0, (1.0,) * len(stretches.cells))
            parts = (axis.labels, stretches.labels, axis.column, stretches.runs)
            axes.append(PlannedAxis(channel, stretches.cells, axis.terms, None, (), *parts))
        elif axis.column is None:
            axes.append(PlannedAxis(EXACT_AXIS, EXACT_CELLS, axis.terms, None))
        elif axis.partner is not None:
            joint = engine.measure_joint((axis.column, axis.partner), axis.terms, axis.values)
            both = Axis(axis.column.retain * axis.partner.retain, (1.0,))
            told = (axis.terms, axis.column, axis.values)
            axes.append(JointAxis(both, joint.cells, *told, partner=axis.partner, joint=joint))
        else:
            found = next(measured)
            channel = column_axis(axis.column, found.cells)
            asked = (axis.terms, axis.column, axis.values, _telling(axis, own))
            axes.append(PlannedAxis(channel, found.cells, *asked, found.labels, told_values=own))
    counts = [len(axis.cells) for axis in axes]
    totals = tuple(PlannedTotal(tuple(_settled(total, axes, counts))) for total in query.totals)
    possible = simplify(_settle(query.condition, axes), counts)
    noisy = any(axis.noisy is not None for axis in axes)
    return Plan(query, tuple(axes), totals, DECONVOLUTION if noisy else _method(query, axes, totals), possible)


def _telling(axis: QueryAxis, own: bool) -> tuple[exp.Expr, ...]:
    """The labels that tell the cells of an axis apart by value.

    Beside a distribution that is read off the release, the values that are summed are among them.
    """
    told = own and (isinstance(axis.column, SelfReplacedColumn) or bool(axis.labels))
    return (*axis.labels, *(axis.values if told else ()))


def _with_source(query: Query) -> Query:
    """The query, with the released table told to the columns whose distribution is read off it."""
    if not any(isinstance(axis.column, SelfReplacedColumn) for axis in query.axes):
        return query
    table = query.table.copy()
    table.set("alias", None)
    source = table.sql(dialect=ANALYST)
    axes = [
        replace(axis, column=replace(axis.column, source=source))
        if isinstance(axis.column, SelfReplacedColumn)
        else axis
        for axis in query.axes
    ]
    return replace(query, axes=tuple(axes))


def _basket_axis(axis: QueryAxis, basket: BasketColumn) -> BasketAxis:
    """A cell for each set of the items asked for, and one for NULL where there may be one."""
    numbers = [basket.number(item) if (item := asked_item(term)) is not None else None for term in axis.terms]
    items = tuple(dict.fromkeys(number for number in numbers if number is not None))
    if len(items) > MAX_BASKET_ITEMS:
        raise Unsupported(
            f"Unsupported: {len(items)} items of {basket.name} in one query, with at most {MAX_BASKET_ITEMS} allowed. "
            "Ask for fewer at a time."
        )

    def truth(term: int, mask: int) -> bool:
        found = numbers[term]
        return found is not None and bool(mask >> items.index(found) & 1)

    masks = range(1 << len(items))
    cells = [Cell(tuple(truth(term, mask) for term in range(len(numbers))), 1) for mask in masks]
    if basket.nulls == "keep":
        fixed = tuple(True if asked_item(term) is None else None for term in axis.terms)
        cells.append(Cell(fixed, 0, fixed=True))
    return BasketAxis(Axis(0.5, (1.0,)), tuple(cells), axis.terms, None, labels=axis.labels, basket=basket, items=items)


def _method(query: Query, axes: Sequence[PlannedAxis], totals: Sequence[PlannedTotal]) -> str:
    asked = query.settings.method
    baskets = [axis.basket.name for axis in axes if isinstance(axis, BasketAxis)]
    if baskets and asked == "bayes":
        raise Unsupported(
            f"Unsupported: baskets ({baskets[0]}) are reconstructed by inversion only. Use SET ppdm_method = 'auto'."
        )
    own = [
        axis.column.name for axis in query.axes if isinstance(axis.column, SelfReplacedColumn) and not axis.column.exact
    ]
    if own and baskets:
        raise Unsupported(
            f"Unsupported: {baskets[0]} holds baskets, which are not reconstructed together with {own[0]}, whose "
            "replacing distribution is read off the release. Ask for one of them at a time."
        )
    if own and asked == "bayes":
        raise Unsupported(
            f"Unsupported: iterative Bayes with {own[0]}, whose replacing distribution is read off the release and has "
            "an error of its own. Use SET ppdm_method = 'auto'."
        )
    if own:
        return "inversion"
    counts = all(total.counted is not None for total in totals)
    if asked == "auto":
        joint = any(isinstance(axis, JointAxis) for axis in axes)  # Bayes would need every pair of their values
        return "bayes" if query.labels and counts and not joint and not baskets else "inversion"
    if asked == "bayes" and query.quantiles:
        raise Unsupported(
            "Unsupported: iterative Bayes reconstructs counts, and this query asks for a quantile, which is found by "
            "inversion. Use SET ppdm_method = 'auto'."
        )
    if asked == "bayes" and not counts:
        raise Unsupported(
            "Unsupported: iterative Bayes reconstructs counts, and this query adds up numbers. "
            "Use SET ppdm_method = 'auto'."
        )
    return asked


def _settled(total: Total, axes: Sequence[PlannedAxis], counts: Sequence[int]) -> Iterator[PlannedProduct]:
    for product in total.products:
        formula = simplify(_settle(product.condition, axes), counts)
        if formula != FALSE:
            yield PlannedProduct(formula, product.values, product.factor, product.powers)


def _settle(node: Condition, axes: Sequence[PlannedAxis]) -> Formula:
    if isinstance(node, Junction):
        kind = All if node.every else Some
        return kind(tuple(_settle(part, axes) for part in node.parts))
    cells = axes[node.axis].cells
    inside = (i for i, cell in enumerate(cells) if (cell.truth[node.term] is node.truth) != node.otherwise)
    return Atom(node.axis, frozenset(inside))
