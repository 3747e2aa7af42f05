"""Ratios, products and differences of totals, as SQL expressions."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.query.understand.scan import typed
from ppdm_sql.syntax.parentheses import grouped


def over(top: exp.Expr, bottom: exp.Expr) -> exp.Expr:
    """A ratio, NULL where there is nothing to divide by."""
    zero = exp.Nullif(this=bottom.copy(), expression=exp.Literal.number("0e0"))
    return exp.Paren(this=exp.Div(this=top.copy(), expression=zero, typed=False, safe=False))


def is_nothing(spread: exp.Expr, squares: exp.Expr) -> exp.Expr:
    """Whether a spread about the mean is no more than the rounding of the squares that it is the rest of."""
    rounding = exp.Mul(this=exp.Literal.number("1e-11"), expression=squares)
    return exp.LTE(this=spread.copy(), expression=rounding)


def unless_nothing(spread: exp.Expr, squares: exp.Expr) -> exp.Expr:
    """A spread about the mean, 0 where it is no more than rounding."""
    nothing = is_nothing(exp.Abs(this=spread.copy()), squares)
    return exp.Case(ifs=[exp.If(this=nothing, true=exp.Literal.number("0e0"))], default=spread)


def less_one(rows: exp.Expr) -> exp.Expr:
    """One less than a number of rows."""
    return exp.Paren(this=exp.Sub(this=rows.copy(), expression=exp.Literal.number(1)))


def product(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """The product of two totals."""
    return exp.Paren(this=exp.Mul(this=grouped(one.copy()), expression=grouped(other.copy())))


def real_product(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """The product of two values, as DOUBLE: their own type might be too narrow for it."""
    return exp.Mul(this=typed(one.copy(), "DOUBLE"), expression=typed(other.copy(), "DOUBLE"))
