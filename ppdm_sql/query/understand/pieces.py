"""Exact aggregates of a whole from those of its pieces, the members of a union."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.query.understand.scan import typed

PIECES: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.Count: exp.Sum,
    exp.CountIf: exp.Sum,
    exp.Sum: exp.Sum,
    exp.Min: exp.Min,
    exp.Max: exp.Max,
}
"""Exact aggregates that can be put together from those of pieces, and by which aggregate."""


def piece_of(node: exp.Expr) -> exp.Expr:
    """An exact aggregate of one piece; a count is never NULL, unlike COUNT_IF where its test is never TRUE or FALSE."""
    counts = isinstance(counting(node), exp.Count)
    return exp.Coalesce(this=node.copy(), expressions=[exp.Literal.number(0)]) if counts else node.copy()


def put_together(node: exp.Expr, pieces: exp.Expr) -> exp.Expr:
    """An exact aggregate of all from the column `pieces` that holds it for each piece."""
    function = counting(node)
    assert function is not None
    whole: exp.Expr = PIECES[type(function)](this=pieces)
    if isinstance(function, exp.Count):
        return typed(exp.Coalesce(this=whole, expressions=[exp.Literal.number(0)]), "BIGINT")
    return typed(whole, "INT128") if isinstance(function, exp.CountIf) else whole


def counting(node: exp.Expr) -> exp.Expr | None:
    """The function of an aggregate, without its FILTER; None where it looks at distinct values or several."""
    function = node.this if isinstance(node, exp.Filter) else node
    plain = not isinstance(function.this, exp.Distinct) and not function.expressions
    return function if plain else None
