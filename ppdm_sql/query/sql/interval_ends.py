"""Intervals of expressions with a kink: the ends of an estimate's interval go through the expression themselves.

The delta method takes the slope at the estimate, and where GREATEST or ABS or rounding is flat there, it promises that
nothing is uncertain. A function that rises, or falls, with its one uncertain argument maps ends to ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from ppdm_sql.query.sql.derivative import NoDerivative
from ppdm_sql.query.understand.scan import typed

Ends = tuple[exp.Expr, exp.Expr]
ROUNDING = (exp.Round, exp.Ceil, exp.Floor)
KINKS = (*ROUNDING, exp.Greatest, exp.Least, exp.Abs, exp.Coalesce, exp.Case, exp.If, exp.Sign)
MONOTONE = (*ROUNDING, exp.Paren, exp.Neg, exp.Exp, exp.Ln, exp.Sqrt, exp.Cast)
"""What rises, or falls, with its first argument."""


def is_kinked(node: exp.Expr, is_column: Callable[[exp.Expr], bool]) -> bool:
    """Whether an expression has a kink outside of what is a column of the groups: an aggregate, or a key."""
    return any(isinstance(below, KINKS) and not is_column(below) for below in node.walk(prune=is_column))


def interval_ends(
    node: exp.Expr,
    plain: Callable[[exp.Expr], exp.Expr],
    smooth: Callable[[exp.Expr], Ends | None],
    is_column: Callable[[exp.Expr], bool],
) -> Ends | None:
    """The ends of the interval of an expression with kinks, None where it is certain.

    `plain` gives an expression's value, `smooth` the ends of one without kinks (None where it is certain). What
    `is_column` of the groups has none, whatever it is computed by.
    """

    def ends(below: exp.Expr) -> Ends | None:
        return interval_ends(below, plain, smooth, is_column)

    def through(function: exp.Expr, argument: str, inside: Ends) -> Ends:
        if isinstance(function, exp.Cast):
            return _cast(function, inside)
        return _ordered(*(_with(function, plain, argument, _defined(function, end)) for end in inside))

    if (known := smooth(node)) is not None or is_column(node):
        return known
    if isinstance(node, exp.Greatest | exp.Least):
        options = [(ends(option), option) for option in (node.this, *node.expressions)]
        if all(found is None for found, _ in options):
            return None
        sides = [[plain(option) if found is None else found[side] for found, option in options] for side in (0, 1)]
        pick = _largest if isinstance(node, exp.Greatest) else _least
        return pick(sides[0]), pick(sides[1])
    if isinstance(node, exp.Coalesce):
        return _coalesced(node, plain, ends)
    if isinstance(node, exp.Case | exp.If):
        return _chosen(node, plain, ends)
    if isinstance(node, exp.Abs) and (inside := ends(node.this)) is not None:
        low, high = inside
        zero = exp.Literal.number("0e0")
        nearest = _largest([low.copy(), exp.Neg(this=exp.Paren(this=high.copy())), zero])
        return nearest, _largest([exp.Abs(this=low), exp.Abs(this=high)])
    if isinstance(node, MONOTONE):
        inside = ends(node.this)
        return None if inside is None else through(node, "this", inside)
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        left, right = ends(node.this), ends(node.expression)
        if right is None:
            return None if left is None else through(node, "this", left)
        if left is None and not isinstance(node, exp.Div):
            return through(node, "expression", right)
    if all(ends(below) is None for below in node.iter_expressions()):
        return None
    raise NoDerivative(node)


def _coalesced(
    node: exp.Coalesce, plain: Callable[[exp.Expr], exp.Expr], ends: Callable[[exp.Expr], Ends | None]
) -> Ends | None:
    """The ends of the first value that is known."""
    options = [(ends(option), option) for option in (node.this, *node.expressions)]
    if all(found is None for found, _ in options):
        return None
    sides = []
    for side in (0, 1):
        ifs = [
            exp.If(
                this=exp.Not(this=exp.Is(this=exp.Paren(this=plain(option)), expression=exp.Null())),
                true=plain(option) if found is None else found[side],
            )
            for found, option in options
        ]
        sides.append(exp.Case(ifs=ifs))
    return sides[0], sides[1]


def _chosen(
    node: exp.Expr, plain: Callable[[exp.Expr], exp.Expr], ends: Callable[[exp.Expr], Ends | None]
) -> Ends | None:
    """The ends of the branch that is taken; where that is not certain, of all branches together."""
    branches = list(node.args["ifs"]) if isinstance(node, exp.Case) else [node]
    default = node.args.get("default") or node.args.get("false")
    subject = node.this if isinstance(node, exp.Case) else None
    outcomes = [*(branch.args["true"] for branch in branches), *([default] if default is not None else [])]
    found = [(plain(one), plain(one)) if (inside := ends(one)) is None else inside for one in outcomes]
    tests = [*(branch.this for branch in branches), *([subject] if subject is not None else [])]
    if not all(_is_certain(test, ends) for test in tests):
        lows, highs = ([one[side].copy() for one in found] for side in (0, 1))
        return _least(lows), _largest(highs)
    if all(ends(one) is None for one in outcomes):
        return None
    sides = []
    for side in (0, 1):
        ifs = [exp.If(this=plain(b.this), true=one[side]) for b, one in zip(branches, found, strict=False)]
        rest = found[-1][side] if default is not None else None
        sides.append(exp.Case(this=None if subject is None else plain(subject), ifs=ifs, default=rest))
    return sides[0], sides[1]


def _is_certain(test: exp.Expr, ends: Callable[[exp.Expr], Ends | None]) -> bool:
    try:
        return ends(test) is None
    except NoDerivative:
        return False


def _with(function: exp.Expr, plain: Callable[[exp.Expr], exp.Expr], argument: str, end: exp.Expr) -> exp.Expr:
    """The function with an end in the place of its uncertain argument."""
    found = function.copy()
    for name, value in function.args.items():
        if name == argument:
            found.set(name, exp.Paren(this=end.copy()))
        elif isinstance(value, exp.Expr) and not isinstance(value, exp.DataType):
            found.set(name, plain(value))
    return found


def _defined(function: exp.Expr, end: exp.Expr) -> exp.Expr:
    """An end of an argument, where the function has a value: neither roots nor logarithms have one below zero."""
    return _largest([end, exp.Literal.number("0e0")]) if isinstance(function, exp.Sqrt | exp.Ln) else end


def _cast(function: exp.Cast, inside: Ends) -> Ends:
    """The ends in another type; one that the type cannot hold is beyond all that it can."""
    beyond = (f"{sign}Infinity" for sign in ("-", ""))
    cast = (exp.TryCast(this=exp.Paren(this=end.copy()), to=function.args["to"].copy()) for end in inside)
    low, high = (
        exp.Coalesce(this=typed(one, "DOUBLE"), expressions=[typed(exp.Literal.string(other), "DOUBLE")])
        for one, other in zip(cast, beyond, strict=True)
    )
    return low, high


def _ordered(one: exp.Expr, other: exp.Expr) -> Ends:
    return _least([one, other]), _largest([one.copy(), other.copy()])


def _least(options: Sequence[exp.Expr]) -> exp.Expr:
    """The least of those that are not NULL."""
    return exp.Least(this=options[0], expressions=list(options[1:]), ignore_nulls=True)


def _largest(options: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Greatest(this=options[0], expressions=list(options[1:]), ignore_nulls=True)
