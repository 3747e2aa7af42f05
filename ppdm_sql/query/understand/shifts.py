"""Numbers whose mean does not matter, less a constant.

A spread is what is left of a sum of squares when the square of the mean is taken off. Where the numbers lie far from 0
and close together, the two are nearly equal, and rounding is all that is left. Less a constant that lies among them,
numbers have the same spread, and squares that are no larger than it.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import number, typed
from ppdm_sql.syntax.parentheses import bare, grouped

CENTRED = "ppdm_centred"
"""Marks a column with noise whose mean does not matter."""


def shifted(query: Query, node: exp.Expr) -> exp.Expr:
    """An expression with the same spread: without added constants, and less a number of its own size.

    >>> import sqlglot
    >>> from ppdm_sql.query.understand.shifts import without_constants
    >>> without_constants(sqlglot.parse_one("age + 100")).sql()
    'age'
    """
    node = without_constants(node)
    perturbed = query.perturbed_in(node)
    if isinstance(node, exp.Column) and perturbed:
        return _column(node, perturbed[0])
    if perturbed or query.piecewise or query.settings.portable or node.find(exp.Query):
        return node
    source = exp.Select(expressions=[_least(typed(node.copy(), "DOUBLE"))], from_=exp.From(this=query.table.copy()))
    return exp.Paren(this=exp.Sub(this=typed(node.copy(), "DOUBLE"), expression=exp.Subquery(this=source)))


def _least(real: exp.Expr) -> exp.Expr:
    """The least finite number of all rows, also of those that a condition leaves out; 0 where there is none."""
    known = exp.Anonymous(this="try", expressions=[real])
    finite = exp.Anonymous(this="isfinite", expressions=[known.copy()])
    least = exp.Min(this=exp.Case(ifs=[exp.If(this=finite, true=known)]))
    return exp.Coalesce(this=least, expressions=[number(0.0)])


def without_constants(node: exp.Expr) -> exp.Expr:
    """An expression without the numbers that are added to it, or taken from it, as a whole."""
    node = bare(node)
    if isinstance(node, exp.Add | exp.Sub) and _is_number(node.expression):
        return without_constants(node.this)
    if isinstance(node, exp.Add) and _is_number(node.this):
        return without_constants(node.expression)
    return node


def _is_number(node: exp.Expr) -> bool:
    node = bare(node)
    inner = bare(node.this) if isinstance(node, exp.Neg) else node
    return isinstance(inner, exp.Literal) and not inner.is_string


def _column(node: exp.Column, column: PerturbedColumn) -> exp.Expr:
    """A perturbed column: marked, or less the middle of a domain that is far from 0."""
    if column.adds_noise:
        marked = node.copy()
        marked.meta[CENTRED] = True
        return marked
    if not column.middle:
        return node
    return grouped(exp.Sub(this=typed(node.copy(), "DOUBLE"), expression=number(column.middle)))
