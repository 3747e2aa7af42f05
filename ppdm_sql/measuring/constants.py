"""Constants of a query that can be placed on a grid by arithmetic, with the same result as the engine's comparison."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction

from sqlglot import exp

from ppdm_sql.domain.step import microseconds
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.dialects import ANALYST

MAX_DIGITS = 15
"""Decimal digits that a DOUBLE keeps apart; a longer constant is left to the engine."""


def grid_units(value: exp.Expr, column: RetainedColumn) -> Fraction | None:
    """Where a constant stands, in the units of the column's grid; None where only the engine can tell."""
    family = column.type.family
    if family in ("integer", "decimal") or column.type.name.upper() == "DOUBLE":
        number = _number(value)
        scale = getattr(column.domain, "scale", 0)
        return number if number is None or not scale else number * 10**scale
    if family == "date":
        day = _day(value)
        return None if day is None else Fraction((day - date(1970, 1, 1)).days)
    if column.type.name.upper() == "TIMESTAMP":
        moment = _moment(value)
        return None if moment is None else Fraction(microseconds(moment - datetime(1970, 1, 1, tzinfo=UTC)))
    return None


def _number(value: exp.Expr) -> Fraction | None:
    node, sign = value.unnest(), 1
    if isinstance(node, exp.Neg):
        node, sign = node.this.unnest(), -1
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = node.this
    if text.isdecimal() and len(text) <= MAX_DIGITS:
        return Fraction(sign * int(text))
    if not text.replace(".", "", 1).isdigit() or len(text.replace(".", "").strip("0")) > MAX_DIGITS:
        return None
    return sign * Fraction(text)


def _day(value: exp.Expr) -> date | None:
    text = _text(value, ("DATE",))
    try:
        return date.fromisoformat(text) if text is not None and len(text) == 10 else None
    except ValueError:
        return None


def _moment(value: exp.Expr) -> datetime | None:
    text = _text(value, ("TIMESTAMP", "DATE"))
    if text is None or (_is_cast(value, "DATE") and len(text) != 10):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else None


def _text(value: exp.Expr, types: tuple[str, ...]) -> str | None:
    """The text of a string constant, bare or cast to one of the types."""
    node = value.unnest()
    if any(_is_cast(node, name) for name in types):
        node = node.this
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def _is_cast(value: exp.Expr, type_name: str) -> bool:
    node = value.unnest()
    return type(node) is exp.Cast and node.to.sql(dialect=ANALYST) == type_name
