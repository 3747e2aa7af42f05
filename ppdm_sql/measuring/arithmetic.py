"""Cells by arithmetic alone: comparisons of a column with constants need no question to the engine.

Only where Python's comparison is the engine's, to the last bit: numbers, dates and timestamps on their grids, and truth
values. Text is left to the engine, which may have been told to fold case.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.channels.cells import Cell
from ppdm_sql.domain.domain import Grid
from ppdm_sql.measuring.constants import grid_units
from ppdm_sql.measuring.intervals import compared_constants, places_of
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.long_lists import constants_of, whole_numbers

Number = Fraction | int
Point = Number | bool | None
Members = Mapping[int, frozenset[Number]]
"""What lists of constants hold, by the identity of their nodes."""

COMPARE: dict[type[exp.Expr], Callable[[Number, Number], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
}


class Unknown(Exception):
    """Only the engine can tell."""


def cells_by_arithmetic(column: RetainedColumn, terms: Sequence[exp.Expr]) -> list[Cell] | None:
    """The cells of a column under some terms, or None where only the engine can tell."""
    try:
        points = _points(column, terms)
        members = {id(node): _members(node, column) for term in terms for node in term.find_all(exp.In)}
        found: dict[tuple[tuple[bool | None, ...], bool], float] = {}
        for point, weight, fixed in points:
            truth = tuple(_truth(term, point, column, members) for term in terms)
            found[truth, fixed] = found.get((truth, fixed), 0) + weight
    except Unknown:
        return None
    return [Cell(truth, weight, fixed) for (truth, fixed), weight in found.items()]


def _points(column: RetainedColumn, terms: Sequence[exp.Expr]) -> list[tuple[Point, float, bool]]:
    """Points that stand for all of the domain: each with the weight of those it stands for, and whether it is fixed."""
    grid = column.domain
    points: list[tuple[Point, float, bool]]
    if isinstance(grid, Grid):
        compared = [compared_constants(term, lists=True) for term in terms]
        if any(found is None for found in compared):
            raise Unknown
        places = places_of(grid, [unit for found in compared for value in found or () for unit in _all(value, column)])
        stretches = itertools.pairwise(places)
        points = [(grid.low + a * grid.step, column.weight(a, b), False) for a, b in stretches]
    elif column.type.family == "boolean":
        points = [(bool(value), column.weight(i, i + 1), False) for i, value in enumerate(grid.values)]
    else:
        raise Unknown
    if column.nulls == "value":
        points.append((None, column.weight(column.size - 1, column.size), False))
    elif column.nulls == "keep":
        points.append((None, 0, True))
    return points


def _members(node: exp.In, column: RetainedColumn) -> frozenset[Number]:
    """The constants of a list; a set, for a list may be as long as the domain."""
    return frozenset(unit for value in node.expressions for unit in _all(value, column))


def _all(value: exp.Expr, column: RetainedColumn) -> Sequence[Number]:
    """Where a constant stands in the units of the column's grid, or each of a long list."""
    numbers = whole_numbers(value) if column.type.family == "integer" else None
    if numbers is not None:
        return numbers
    return [_units(each, column) for each in constants_of(value) or [value]]


def _truth(node: exp.Expr, point: Point, column: RetainedColumn, members: Members) -> bool | None:
    """The value of a term at a point, NULL as None; `members` are those of its lists."""
    if isinstance(node, exp.Paren):
        return _truth(node.this, point, column, members)
    if isinstance(node, exp.Not):
        inner = _truth(node.this, point, column, members)
        return None if inner is None else not inner
    if isinstance(node, exp.And | exp.Or):
        sides = [_truth(side, point, column, members) for side in (node.left, node.right)]
        settles = isinstance(node, exp.Or)
        return settles if settles in sides else None if None in sides else not settles
    if isinstance(node, exp.Is):
        if not isinstance(node.this.unnest(), exp.Column) or not isinstance(node.expression, exp.Null):
            raise Unknown
        return point is None
    if isinstance(point, bool) or column.type.family == "boolean":
        return _boolean(node, point)
    if isinstance(node, exp.Between):
        return _between(node, point, column)
    if isinstance(node, exp.In):
        return None if point is None else point in members[id(node)]
    compare = COMPARE.get(type(node))
    if compare is None or not isinstance(node, exp.Binary):
        raise Unknown
    if point is None:
        return None
    if isinstance(node.left.unnest(), exp.Column):
        return compare(point, _units(node.right, column))
    return compare(_units(node.left, column), point)


def _between(node: exp.Between, point: Point, column: RetainedColumn) -> bool | None:
    if point is None:
        return None
    return _units(node.args["low"], column) <= point <= _units(node.args["high"], column)


def _boolean(node: exp.Expr, point: Point) -> bool | None:
    """A truth value used bare, or compared with TRUE or FALSE."""
    if isinstance(node, exp.Cast) and node.to.this == exp.DType.BOOLEAN:
        node = node.this
    if isinstance(node, exp.Column):
        return None if point is None else bool(point)
    if not isinstance(node, exp.EQ | exp.NEQ) or not isinstance(node.left, exp.Column):
        raise Unknown
    if not isinstance(node.right, exp.Boolean):
        raise Unknown
    return None if point is None else (bool(point) == node.right.this) == isinstance(node, exp.EQ)


def _units(value: exp.Expr, column: RetainedColumn) -> Fraction:
    units = grid_units(value, column)
    if units is None:
        raise Unknown
    return units
