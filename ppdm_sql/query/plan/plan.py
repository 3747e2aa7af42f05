"""The plan: axes with their cells and shares, and for each aggregate the states it counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.formula import FALSE, TRUE, All, Atom, Formula, Some, axes_of, simplify
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.observing import AxisQuestion, observer_of
from ppdm_sql.query.plan.planned_axis import ExactAxis, PlannedAxis
from ppdm_sql.query.understand.noise import Powers
from ppdm_sql.query.understand.noisy_ranges import DECONVOLUTION, check_ranges
from ppdm_sql.query.understand.query import Condition, Junction, Query, QueryAxis, Total, Value
from ppdm_sql.syntax.dialects import ANALYST


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
        return tuple(i for i, axis in enumerate(self.axes) if axis.reads_release)

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
        return frozenset(name for piece in self.pieces for axis in piece.axes for name in axis.whole_numbers)

    def certain(self, total: PlannedTotal) -> bool:
        """Whether no perturbed column takes part, so that the total is exact."""
        if any(product.powers for product in total.products):
            return False
        used = [self.axes[axis] for axis in (*total.axes, *self.label_axes)]
        return all(axis.certain for axis in used)

    @property
    def noisy_axis(self) -> int | None:
        """The axis of a column of which ranges are counted, where there is a condition on one."""
        return next((i for i, axis in enumerate(self.axes) if axis.only_method == DECONVOLUTION), None)


def make_plan(query: Query, engine: Measuring) -> Plan:
    """Ask for the cells of every perturbed column, and settle the conditions."""
    query = _with_source(query)
    axes = _planned_axes(query, engine)
    counts = [len(axis.cells) for axis in axes]
    totals = tuple(PlannedTotal(tuple(_settled(total, axes, counts))) for total in query.totals)
    possible = simplify(_settle(query.condition, axes), counts)
    return Plan(query, tuple(axes), totals, _method(query, axes, totals), possible)


def _planned_axes(query: Query, engine: Measuring) -> list[PlannedAxis]:
    """Each by the mechanism of its columns; those that can be are measured together."""
    own = any(column.drawn_from_release for axis in query.axes for column in axis.columns)
    questions = [AxisQuestion(query, axis, _telling(axis, own), own) for axis in query.axes]
    asked = [observer_of(axis.columns[0]).measured(q) if (axis := q.axis).columns else None for q in questions]
    together = [one for one in asked if one is not None]
    measured = iter(engine.measure(together) if together else [])
    check_ranges(query)
    axes: list[PlannedAxis] = []
    for question, one in zip(questions, asked, strict=True):
        columns = question.axis.columns
        if not columns:
            axes.append(ExactAxis(terms=question.axis.terms))
        else:
            found = None if one is None else next(measured)
            axes.append(observer_of(columns[0]).planned(question, engine, found))
    return axes


def _telling(axis: QueryAxis, own: bool) -> tuple[exp.Expr, ...]:
    """The labels that tell the cells of an axis apart by value.

    Beside a distribution that is read off the release, the values that are summed are among them.
    """
    told = own and (any(column.drawn_from_release for column in axis.columns) or bool(axis.labels))
    return (*axis.labels, *(axis.values if told else ()))


def _with_source(query: Query) -> Query:
    """The query, with the released table told to the columns whose distribution is read off it."""
    if not any(column.drawn_from_release for axis in query.axes for column in axis.columns):
        return query
    table = query.table.copy()
    table.set("alias", None)
    source = table.sql(dialect=ANALYST)
    axes = [replace(axis, columns=tuple(column.read_from(source) for column in axis.columns)) for axis in query.axes]
    return replace(query, axes=tuple(axes))


def _method(query: Query, axes: Sequence[PlannedAxis], totals: Sequence[PlannedTotal]) -> str:
    only = {axis.only_method for axis in axes}
    if DECONVOLUTION in only:
        return DECONVOLUTION
    asked = query.settings.method
    _check_method(asked, axes)
    if "inversion" in only:
        return "inversion"
    counts = all(total.counted is not None for total in totals)
    if asked == "auto":
        return "bayes" if query.labels and counts and all(axis.suits_bayes for axis in axes) else "inversion"
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


def _check_method(asked: str, axes: Sequence[PlannedAxis]) -> None:
    """Refuse a method that an axis does not allow, and axes that do not go together."""
    for axis in sorted(axes, key=lambda one: any(column.drawn_from_release for column in one.columns)):
        for refusal in (axis.bayes_refusal if asked == "bayes" else None, axis.refusal_beside(axes)):
            if refusal is not None:
                raise Unsupported(refusal)


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
