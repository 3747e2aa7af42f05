"""The values that stand at places of a grid."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext

from ppdm_sql.domain.domain import Grid, Scalar, Values
from ppdm_sql.domain.types import SqlType

_DIGITS = 60
"""More than the numbers of any type have: Decimal rounds to 28 where nothing is said."""


def decimal(units: int, scale: int) -> Decimal:
    """`units / 10**scale`, not rounded."""
    with localcontext(prec=_DIGITS):
        return Decimal(units).scaleb(-scale)


def grid_value(grid: Grid, place: int, kind: SqlType) -> Scalar:
    """The value at a place, as a list of values would hold it.

    >>> from ppdm_sql.domain.types import parse_type
    >>> grid_value(Grid(250, 25, 10, 2), 1, parse_type("DOUBLE"))
    Decimal('2.75')
    """
    units = grid.low + place * grid.step
    if kind.family in ("decimal", "real"):
        return decimal(units, grid.scale)
    if kind.family == "date":
        return date(1970, 1, 1) + timedelta(days=units)
    if kind.family == "timestamp":
        zone = UTC if kind.name.upper() == "TIMESTAMP WITH TIME ZONE" else None
        return datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=units)
    return units


def domain_value(domain: Grid | Values, place: int, kind: SqlType) -> Scalar:
    """The value at a place of a domain."""
    return domain.values[place] if isinstance(domain, Values) else grid_value(domain, place, kind)
