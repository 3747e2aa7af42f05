"""Derivatives of expressions over aggregates, for the delta method.

Where a function has a kink (ABS, GREATEST, CASE) the derivative is that of the branch taken; rounding counts as the
identity, for it is far finer than the error it would hide.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST

IDENTITY = (exp.Paren, exp.Round, exp.Ceil, exp.Floor)


class NoDerivative(Exception):
    """The expression has a part whose error is not known; `node` is that part."""

    def __init__(self, node: exp.Expr) -> None:
        super().__init__(node.sql(dialect=ANALYST))
        self.node = node


def variables(node: exp.Expr) -> list[str]:
    """The distinct columns of an expression, in order."""
    return list(dict.fromkeys(column.name for column in node.find_all(exp.Column)))


def derivative(node: exp.Expr, name: str) -> exp.Expr | None:
    """The derivative of an expression with respect to a column; None stands for zero.

    >>> import sqlglot
    >>> derivative(sqlglot.parse_one("a / b"), "b").sql()
    '-(a / (b * b))'
    """
    if name not in variables(node):
        return None
    if isinstance(node, exp.Column):
        return exp.Literal.number(1)
    if isinstance(node, IDENTITY):
        return derivative(node.this, name)
    if isinstance(node, exp.Cast):
        return _cast(node, name)
    rule = _RULES.get(type(node))
    if rule is None:
        raise NoDerivative(node)
    return rule(node, name)


def _cast(node: exp.Cast, name: str) -> exp.Expr | None:
    if node.to.this not in (*exp.DataType.NUMERIC_TYPES, exp.DType.DOUBLE):
        raise NoDerivative(node)
    return derivative(node.this, name)


def _add(node: exp.Expr, name: str) -> exp.Expr | None:
    left, right = derivative(node.this, name), derivative(node.expression, name)
    if isinstance(node, exp.Sub) and right is not None:
        right = _negative(right)
    if left is None or right is None:
        return left if right is None else right
    return exp.Paren(this=exp.Add(this=left, expression=right))


def _negate(node: exp.Expr, name: str) -> exp.Expr | None:
    inner = derivative(node.this, name)
    return None if inner is None else _negative(inner)


def _multiply(node: exp.Expr, name: str) -> exp.Expr | None:
    parts = []
    for one, other in ((node.this, node.expression), (node.expression, node.this)):
        inner = derivative(one, name)
        if inner is not None:
            parts.append(_times(inner, other))
    return parts[0] if len(parts) == 1 else exp.Paren(this=exp.Add(this=parts[0], expression=parts[1]))


def _divide(node: exp.Expr, name: str) -> exp.Expr | None:
    over, under = derivative(node.this, name), derivative(node.expression, name)
    bottom = node.expression
    parts = []
    if over is not None:
        parts.append(_over(over, bottom))
    if under is not None:
        parts.append(_negative(_over(_times(node.this, under), _times(bottom, bottom))))
    return parts[0] if len(parts) == 1 else exp.Paren(this=exp.Add(this=parts[0], expression=parts[1]))


def _nullif(node: exp.Expr, name: str) -> exp.Expr | None:
    return derivative(node.this, name)


def _sqrt(node: exp.Expr, name: str) -> exp.Expr | None:
    inner = derivative(node.this, name)
    two_roots = _times(exp.Literal.number(2), exp.Nullif(this=node.copy(), expression=exp.Literal.number(0)))
    return None if inner is None else _over(inner, two_roots)


def _exponential(node: exp.Expr, name: str) -> exp.Expr | None:
    inner = derivative(node.this, name)
    return None if inner is None else _times(inner, node)


def _logarithm(node: exp.Expr, name: str) -> exp.Expr | None:
    inner = derivative(node.this, name)
    return None if inner is None else _over(inner, node.this)


def _absolute(node: exp.Expr, name: str) -> exp.Expr | None:
    inner = derivative(node.this, name)
    return None if inner is None else _times(inner, exp.Sign(this=node.this.copy()))


def _coalesce(node: exp.Expr, name: str) -> exp.Expr | None:
    options = [node.this, *node.expressions]
    ifs = [
        exp.If(this=exp.Not(this=exp.Is(this=_whole(option), expression=exp.Null())), true=_or_zero(option, name))
        for option in options
    ]
    return exp.Case(ifs=ifs, default=exp.Literal.number(0))


def _case(node: exp.Expr, name: str) -> exp.Expr | None:
    """The branches' derivatives under the same conditions, which are taken as settled."""
    ifs = [exp.If(this=branch.this.copy(), true=_or_zero(branch.args["true"], name)) for branch in node.args["ifs"]]
    default = node.args.get("default")
    subject = node.this.copy() if node.this is not None else None
    return exp.Case(this=subject, ifs=ifs, default=_or_zero(default, name) if default else exp.Literal.number(0))


def _extreme(node: exp.Expr, name: str) -> exp.Expr | None:
    """GREATEST or LEAST: the derivative of the argument that is it."""
    options = [node.this, *node.expressions]
    ifs = [
        exp.If(this=exp.EQ(this=_whole(option), expression=node.copy()), true=_or_zero(option, name))
        for option in options
    ]
    return exp.Case(ifs=ifs, default=exp.Literal.number(0))


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, str], exp.Expr | None]] = {
    exp.Add: _add,
    exp.Sub: _add,
    exp.Neg: _negate,
    exp.Mul: _multiply,
    exp.Div: _divide,
    exp.Nullif: _nullif,
    exp.Sqrt: _sqrt,
    exp.Exp: _exponential,
    exp.Ln: _logarithm,
    exp.Abs: _absolute,
    exp.Coalesce: _coalesce,
    exp.Case: _case,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
}


def _or_zero(node: exp.Expr, name: str) -> exp.Expr:
    return derivative(node, name) or exp.Literal.number(0)


def _whole(node: exp.Expr) -> exp.Expr:
    copy = node.copy()
    return exp.Paren(this=copy) if isinstance(copy, exp.Binary | exp.Neg | exp.Case) else copy


def _times(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    for factor, rest in ((one, other), (other, one)):
        if isinstance(factor, exp.Literal) and factor.this == "1":
            return _whole(rest)
    return exp.Paren(this=exp.Mul(this=_whole(one), expression=_whole(other)))


def _over(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Paren(this=exp.Div(this=_whole(one), expression=_whole(other), typed=False, safe=False))


def _negative(one: exp.Expr) -> exp.Expr:
    return exp.Neg(this=_whole(one))
