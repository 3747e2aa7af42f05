"""Parentheses around an expression that is put in the place of another."""

from __future__ import annotations

import itertools
import re

from sqlglot import exp

WHOLE = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Subquery, exp.Cast, exp.Case, exp.Anonymous)
"""What no operator beside it can take apart."""

CALL = re.compile(r"\w+\(")


def grouped(expression: exp.Expr) -> exp.Expr:
    """The expression in parentheses, where it could fall apart without.

    >>> import sqlglot
    >>> [grouped(sqlglot.parse_one(text)).sql() for text in ("a", "a + 1", "-a", "a IN (1)", "abs(a)")]
    ['a', '(a + 1)', '(-a)', '(a IN (1))', 'ABS(a)']
    """
    return expression if isinstance(expression, WHOLE) or _is_call(expression) else exp.Paren(this=expression)


def _is_call(expression: exp.Expr) -> bool:
    """Whether a function is written as a call: of some, such as DATE_ADD, sqlglot makes operators."""
    if not isinstance(expression, exp.Func) or isinstance(expression, exp.Binary | exp.Connector):
        return False
    text = expression.sql(dialect="duckdb")
    start = CALL.match(text)
    if start is None:
        return False
    depths = itertools.accumulate((char == "(") - (char == ")") for char in text)
    return next((place for place, depth in enumerate(depths) if place >= start.end() and not depth), 0) == len(text) - 1
