"""Domains as a policy would write them: their points, their steps, and the whole."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from ppdm_sql.domain.domain import Grid
from ppdm_sql.domain.step import describe_microseconds
from ppdm_sql.mechanisms.retained.column import RetainedColumn

_SHOWN_VALUES = 8


def describe_domain(column: RetainedColumn) -> str:
    """A domain in words.

    >>> from ppdm_sql.domain.types import parse_type
    >>> describe_domain(RetainedColumn("age", parse_type("INTEGER"), Grid(17, 1, 74), 0.3, "value", "error"))
    '17 to 90, or NULL'
    """
    domain = column.domain
    if isinstance(domain, Grid):
        text = f"{describe_point(column, domain.low)} to {describe_point(column, domain.high)}"
        unit = domain.step == 1 and domain.scale == 0 and column.type.family != "timestamp"
        text += "" if unit else f" by {describe_step(column, domain.step)}"
    else:
        shown = [str(v).lower() if isinstance(v, bool) else str(v) for v in domain.values[:_SHOWN_VALUES]]
        text = ", ".join(shown) + (", .." if domain.size > _SHOWN_VALUES else "")
    return f"{text}, or NULL" if column.nulls == "value" else text


def describe_value(column: RetainedColumn, place: int) -> str:
    """The value at a place of the domain; NULL comes after the last.

    >>> from ppdm_sql.domain.types import parse_type
    >>> age = RetainedColumn("age", parse_type("INTEGER"), Grid(17, 1, 74), 0.3, "value", "error")
    >>> describe_value(age, 25), describe_value(age, 74)
    ('42', 'NULL')
    """
    domain = column.domain
    if place >= domain.size:
        return "NULL"
    if isinstance(domain, Grid):
        return describe_point(column, domain.low + place * domain.step)
    value = domain.values[place]
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe_point(column: RetainedColumn, point: int) -> str:
    """A grid's point as the policy would write it."""
    if column.type.family == "date":
        return str(date(1970, 1, 1) + timedelta(days=point))
    if column.type.family == "timestamp":
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=point)
        return moment.replace(tzinfo=None).isoformat()
    return _number(column, point)


def describe_step(column: RetainedColumn, step: int) -> str:
    """A step as the policy would write it."""
    if column.type.family == "date":
        return f"{step} day{'' if step == 1 else 's'}"
    if column.type.family == "timestamp":
        return describe_microseconds(step)
    return _number(column, step)


def _number(column: RetainedColumn, units: int) -> str:
    assert isinstance(column.domain, Grid)
    if not column.domain.scale:
        return str(units)
    sign, digits = ("-" if units < 0 else ""), str(abs(units)).rjust(column.domain.scale + 1, "0")
    text = f"{sign}{digits[: -column.domain.scale]}.{digits[-column.domain.scale :]}".rstrip("0").rstrip(".")
    return text
