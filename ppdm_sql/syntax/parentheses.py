"""Parentheses around an expression that is put in the place of another."""

from __future__ import annotations

import itertools
import re

from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST

WHOLE = (exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Subquery, exp.Cast, exp.Case, exp.Anonymous)
"""What no operator beside it can take apart."""

MAX_DECIMAL_DIGITS = 38

CALL = re.compile(r"\w+\(")


def grouped(expression: exp.Expr) -> exp.Expr:
    """The expression in parentheses, where it could fall apart without.

    >>> import sqlglot
    >>> [grouped(sqlglot.parse_one(text)).sql() for text in ("a", "a + 1", "-a", "a IN (1)", "abs(a)")]
    ['a', '(a + 1)', '(-a)', '(a IN (1))', 'ABS(a)']
    """
    return expression if isinstance(expression, WHOLE) or _is_call(expression) else exp.Paren(this=expression)


def bare(expression: exp.Expr) -> exp.Expr:
    """The expression without parentheses around it; a subquery keeps its own.

    >>> import sqlglot
    >>> [bare(sqlglot.parse_one(text)).sql() for text in ("((a))", "((SELECT 1))")]
    ['a', '(SELECT 1)']
    """
    while isinstance(expression, exp.Paren) or _holds_subquery(expression):
        expression = expression.this
    return expression


def _holds_subquery(expression: exp.Expr) -> bool:
    plain = isinstance(expression, exp.Subquery) and isinstance(expression.this, exp.Subquery)
    return plain and not any(value for part, value in expression.args.items() if part != "this")


def is_number(expression: exp.Expr) -> bool:
    """Whether an expression is what GROUP BY and ORDER BY would read as a position, also one that there is not.

    >>> import sqlglot
    >>> [is_number(sqlglot.parse_one(text)) for text in ("2", "(-2)", "'2'", "1 + 1")]
    [True, True, False, False]
    """
    inside = bare(expression)
    constant = bare(inside.this) if isinstance(inside, exp.Neg) else inside
    return isinstance(constant, exp.Literal) and not constant.is_string


def settled(expression: exp.Expr) -> exp.Expr:
    """What stands in a column's place: in parentheses where needed, a constant with its type, for it is no position.

    >>> import sqlglot
    >>> [settled(sqlglot.parse_one(text)).sql("duckdb") for text in ("a - 1", "-2", "1.5", "'a'")]
    ['(a - 1)', 'CAST(-2 AS INT)', 'CAST(1.5 AS DECIMAL(2, 1))', "CAST('a' AS TEXT)"]
    """
    constant = expression.this if isinstance(expression, exp.Neg) else expression
    if isinstance(constant, exp.Literal):
        kind = "VARCHAR" if constant.is_string else _number_type(constant.this)
    elif isinstance(constant, exp.Boolean):
        kind = "BOOLEAN"
    elif isinstance(constant, exp.Null):
        kind = "INTEGER"
    else:
        return grouped(expression)
    return exp.Cast(this=expression, to=exp.DataType.build(kind, dialect=ANALYST))


def _number_type(text: str) -> str:
    """The type that DuckDB gives a number."""
    if text.isdigit():
        return "INTEGER" if int(text) < 2**31 else "BIGINT" if int(text) < 2**63 else "HUGEINT"
    whole, dot, decimals = text.replace("_", "").partition(".")
    digits = len(whole.lstrip("0")) + len(decimals)
    if not dot or not decimals.isdigit() or digits > MAX_DECIMAL_DIGITS:
        return "DOUBLE"
    return f"DECIMAL({digits}, {len(decimals)})"


def _is_call(expression: exp.Expr) -> bool:
    """Whether a function is written as a call: of some, such as DATE_ADD, sqlglot makes operators."""
    if not isinstance(expression, exp.Func) or isinstance(expression, exp.Binary | exp.Connector):
        return False
    text = expression.sql(dialect=ANALYST)
    start = CALL.match(text)
    if start is None:
        return False
    depths = itertools.accumulate((char == "(") - (char == ")") for char in text)
    return next((place for place, depth in enumerate(depths) if place >= start.end() and not depth), 0) == len(text) - 1
