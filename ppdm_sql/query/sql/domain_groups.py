"""Grouping by perturbed columns: what to scan, and how sums over observed cells become totals of the true groups.

Rows are grouped by the cells of the columns they are grouped by. Everything else about a row enters by its weight, so
only those columns' axes are left to invert. Where a condition is on such a column too, its cells are told apart as
well, and each part of a total keeps the cells that it holds for. Where a value v of such a column is summed, a row
adds (v [in cell] - (1 - p) E[v in cell]) / p to each cell: the sums of v by observed cell are one part of the total,
and the rows themselves, whatever cell they are in, the other.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.query.plan.formula import FALSE, Formula, axes_of, restrict
from ppdm_sql.query.plan.plan import Plan, PlannedProduct, PlannedTotal
from ppdm_sql.query.sql.states import GROUP, rank, solved_axes
from ppdm_sql.query.sql.weights import RowWeights
from ppdm_sql.query.understand.query import Value
from ppdm_sql.query.understand.scan import Scan, cell_name, conjunction, count_rows, inner, key_name, named

Tensor = npt.NDArray[np.float64]
CELLS = "ppdm_cells"
"""The name of the relation that numbers an axis's cells, followed by the axis's place."""


@dataclass(frozen=True)
class Branch:
    """Part of a total: a scan column, and over the cells of the key axes what one unit of it adds there.

    `maps` has for each key axis what a unit in an observed cell adds to the true ones, where that is not the inverse.
    """

    column: str
    scale: float
    cells: Tensor
    maps: tuple[Tensor | None, ...]


@dataclass(frozen=True)
class GroupScan:
    """The statement, the branches of each total, and the columns of products of weights for covariances."""

    statement: exp.Select
    branches: dict[int, tuple[Branch, ...]]
    products: dict[tuple[str, str], str]


def possible_cells(plan: Plan) -> npt.NDArray[np.bool_]:
    """Which combinations of cells of the key axes a row that passes WHERE can lie in."""
    shape = tuple(len(plan.axes[axis].cells) for axis in plan.key_axes)
    possible = np.zeros(shape, dtype=bool)
    for formula, cells in _restrictions(plan, plan.condition):
        if formula != FALSE:
            possible |= cells > 0
    return possible


def group_scan(plan: Plan) -> GroupScan:
    """What to scan for the totals and covariances of a plan that groups by perturbed columns."""
    scan = Scan(plan.query)
    weights = RowWeights(plan)
    bodies: dict[str, exp.Expr] = {}
    needed = plan.query.answered | set(plan.query.squares.values())
    branches = {i: tuple(_branches(plan, plan.totals[i], scan, weights, bodies)) for i in sorted(needed)}
    products = {}
    for one, other in plan.query.squares:
        for a, b in itertools.product(branches[one], branches[other]):
            pair = (a.column, b.column) if a.column <= b.column else (b.column, a.column)
            if pair not in products:
                a_body, b_body = (exp.Paren(this=bodies[column].copy()) for column in pair)
                products[pair] = scan.add(exp.Sum(this=exp.Mul(this=a_body, expression=b_body))).name
    scan.add(count_rows())
    return GroupScan(_numbered(plan, scan), branches, products)


def _branches(
    plan: Plan, total: PlannedTotal, scan: Scan, weights: RowWeights, bodies: dict[str, exp.Expr]
) -> Iterator[Branch]:
    keys = plan.key_axes
    for product in total.products:
        own = [value for value in product.values if value.axis in keys]
        rest = tuple(value for value in product.values if value.axis not in keys)
        for formula, cells in _restrictions(plan, product.formula):
            if formula == FALSE:
                continue
            weight = weights.of_product(PlannedProduct(formula, rest, product.factor, product.powers))
            worth = [_value_of_cells(plan, value) for value in own if plan.axes[value.axis].told_values]
            summed = [_summed(plan, value, cells) for value in own if not plan.axes[value.axis].told_values]
            for parts in itertools.product(*summed):
                factors = [part.factor for part in parts if part.factor is not None]
                body = functools.reduce(lambda one, other: exp.Mul(this=one, expression=other), factors, weight.body)
                column = scan.add(exp.Sum(this=body)).name
                bodies[column] = body
                maps = {part.axis: part.map for part in parts}
                yield Branch(column, weight.scale, cells * math.prod(worth), tuple(maps.get(axis) for axis in keys))


@dataclass(frozen=True)
class _Summed:
    """Part of a summed value of a key axis: a factor of rows, and what a row in an observed cell adds to true ones."""

    axis: int
    map: Tensor
    factor: exp.Expr | None = None


def _summed(plan: Plan, value: Value, cells: Tensor) -> tuple[_Summed, ...]:
    """The values of the rows that were observed in a cell, and what draws are expected to have added there."""
    others = tuple(place for place, key in enumerate(plan.key_axes) if key != value.axis)
    inside = frozenset(np.nonzero(cells.any(axis=others))[0].tolist())
    return tuple(_Summed(value.axis, *part) for part in plan.axes[value.axis].summed(value.index, inside))


def _value_of_cells(plan: Plan, value: Value) -> Tensor:
    """A value in each cell of its axis, which it tells apart, shaped to multiply a tensor over the key axes."""
    values = plan.axes[value.axis].value_of_cells(value.index)
    shape = [1] * len(plan.key_axes)
    shape[plan.key_axes.index(value.axis)] = len(values)
    return values.reshape(shape)


def _restrictions(plan: Plan, formula: Formula) -> Iterator[tuple[Formula, Tensor]]:
    """What is left of a formula in the cells of the key axes; the cells with the same rest together, as 0 and 1."""
    keys = plan.key_axes
    shape = tuple(len(plan.axes[axis].cells) for axis in keys)
    touched = [axis for axis in keys if axis in axes_of(formula)]
    if not touched:
        yield formula, np.ones(shape)
        return
    found: dict[Formula, Tensor] = {}
    for chosen in itertools.product(*(range(len(plan.axes[axis].cells)) for axis in touched)):
        rest = formula
        place: list[slice | int] = [slice(None)] * len(keys)
        for axis, cell in zip(touched, chosen, strict=True):
            rest = restrict(rest, axis, cell, plan.cell_counts)
            place[keys.index(axis)] = cell
        cells = found.setdefault(rest, np.zeros(shape))
        cells[tuple(place)] = 1.0
    yield from found.items()


def state_scan(plan: Plan, others: tuple[int, ...]) -> exp.Select:
    """The statement that counts states: cells of the key axes, and of the `others`, numbered in their order."""
    scan = Scan(plan.query)
    scan.add(count_rows())
    return _numbered(plan, scan, tuple(axis.cell_number() for axis in solved_axes(plan, others)))


def whole_scan(plan: Plan) -> exp.Select:
    """The statement that counts the states of all rows of the release, whatever the query's conditions and groups."""
    everything = replace(plan.query, exact=(), absent=frozenset(plan.query.exact_keys) | plan.query.absent)
    return state_scan(replace(plan, query=everything), ())


def _numbered(plan: Plan, scan: Scan, others: tuple[exp.Expr, ...] = ()) -> exp.Select:
    """The scan, with the numbers of groups and cells in the place of keys, labels and terms."""
    told = [plan.axes[axis].telling() for axis in plan.key_axes]
    scanned = scan.select((*itertools.chain(*told), *others))
    keys = [exp.column(key_name(i)) for i in plan.query.exact_keys]
    columns: list[exp.Expr] = [*keys, named(rank(keys), GROUP)]
    columns += [exp.column(item.alias) for item in scanned.expressions if item.alias.startswith("ppdm_n")]
    joins, first = [], 0
    for place, own in enumerate(told):
        table = f"{CELLS}{place}"
        tests: list[exp.Expr] = [
            exp.NullSafeEQ(this=exp.column(cell_name(first + i)), expression=exp.column(f"t{i}", table=table))
            for i in range(len(own))
        ]
        joins.append(exp.Join(this=exp.to_table(table), on=conjunction(tests)))
        columns.append(named(exp.column("cell", table=table), place_name(place)))
        first += len(own)
    columns += [named(exp.column(cell_name(first + i)), place_name(len(told) + i)) for i in range(len(others))]
    return exp.Select(expressions=columns, from_=exp.From(this=inner(scanned, "ppdm_scan")), joins=joins)


def place_name(place: int) -> str:
    """Name of the number of a row's cell on an axis of the tensor."""
    return f"ppdm_place{place}"
