"""How many values a declared domain has, as far as that can be told before the column's type is known."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from ppdm_sql.domain.binding import bind_domain
from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.mechanisms.base import ColumnPolicy


@dataclass(frozen=True)
class DomainSize:
    """`points` is the number of declared values, None where only the type can tell; `condition` what it depends on.

    `drawn` counts NULL too, where it is a value: as many as replacements are drawn from.
    """

    points: int | None
    drawn: int | None
    condition: str = ""


def domain_size(column: ColumnPolicy, type_name: str | None = None) -> DomainSize:
    """The size of a column's domain; without its type, of the type that the domain looks made for.

    >>> domain_size(ColumnPolicy("age", "uniform", Range(17, 90), nulls="value"))
    DomainSize(points=74, drawn=75, condition='if the column holds whole numbers')
    """
    guess, condition = _guess(column) if type_name is None else (type_name, "")
    points = _points(column, guess)
    return DomainSize(points, None if points is None else points + (column.nulls == "value"), condition)


def _guess(column: ColumnPolicy) -> tuple[str | None, str]:
    """The type that a domain without a step looks made for, and how to say that it is a guess."""
    domain = column.domain
    if not isinstance(domain, Range):
        return None, ""
    if isinstance(domain.low, datetime):
        return ("TIMESTAMP", "") if isinstance(domain.step, timedelta) else (None, "")
    if isinstance(domain.low, date):
        return "DATE", "if the column holds dates"
    if isinstance(domain.low, int) and isinstance(domain.high, int) and domain.step is None:
        return "HUGEINT", "if the column holds whole numbers"
    return None, ""


def _points(column: ColumnPolicy, type_name: str | None) -> int | None:
    domain = column.domain
    if domain is not None and type_name is not None:
        return bind_domain(f"column {column.name!r} ({type_name})", domain, type_name)[0].size
    if isinstance(domain, Values):
        return domain.size
    assert domain is not None
    if isinstance(domain.low, int | Decimal) and isinstance(domain.step, int | Decimal):
        points = (Decimal(domain.high) - Decimal(domain.low)) / Decimal(domain.step)  # type: ignore[arg-type]
        return int(points) + 1 if points == int(points) else None
    return None
