"""Domains as a manifest holds them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from ppdm_sql.domain.binding import check_domain
from ppdm_sql.domain.domain import MAX_POINTS, Grid, Scalar, Values
from ppdm_sql.domain.fields import MAX_DIGITS, MAX_NAME, Fields, damaged
from ppdm_sql.domain.types import UNKNOWN, SqlType
from ppdm_sql.errors import PolicyError

MAX_VALUES = 1 << 22
_UNITS = 2**130
"""Further from zero lies no number of any type."""


def domain_to_json(domain: Grid | Values) -> dict[str, Any]:
    """A domain as JSON."""
    if isinstance(domain, Grid):
        return {"low": domain.low, "step": domain.step, "size": domain.size, "scale": domain.scale}
    return {"values": [v if isinstance(v, bool | int | str) else str(v) for v in domain.values]}


def domain_from_json(fields: Fields, sql_type: SqlType, most: int = MAX_POINTS) -> Grid | Values:
    """A domain from JSON, of at most as many values; ReleaseError where it does not fit its type."""
    domain: Grid | Values
    if "values" in fields:
        listed = fields.listed("values", 1, min(most, MAX_VALUES))
        domain = Values(tuple(_scalar_from_json(fields, value, sql_type) for value in listed))
    else:
        low, step = fields.whole("low", -_UNITS, _UNITS), fields.whole("step", 1, _UNITS)
        domain = Grid(low, step, fields.whole("size", 1, most), fields.whole("scale", 0, 38))
    fields.end()
    if sql_type != UNKNOWN:
        try:
            check_domain(fields.where, domain, sql_type)
        except PolicyError as error:
            damaged(str(error).rstrip("."))
    return domain


def _scalar_from_json(fields: Fields, value: Any, sql_type: SqlType) -> Scalar:
    family = sql_type.family
    read: Scalar | None = None
    if type(value) is {"integer": int, "boolean": bool}.get(family) or family == UNKNOWN.family:
        read = value if isinstance(value, bool | int | str) else None
    elif family in ("decimal", "real") and (type(value) is int or (type(value) is str and len(value) <= MAX_DIGITS)):
        read = _decimal(value)
    elif family not in ("integer", "boolean") and type(value) is str and len(value) <= MAX_NAME and "\0" not in value:
        read = _moment(value, sql_type) if family in ("date", "timestamp") else value
    if read is None:
        fields.refuse("values", f"holds what is no {sql_type.name or 'value'}")
    return read


def _decimal(value: int | str) -> Decimal | None:
    try:
        found = Decimal(value)
    except ArithmeticError:
        return None
    return found if found.is_finite() and abs(found.adjusted()) < 400 else None


def _moment(value: str, sql_type: SqlType) -> date | datetime | None:
    """A date or a timestamp, the latter in UTC where its type has a zone and without one where it has none."""
    try:
        if sql_type.family == "date":
            return date.fromisoformat(value)
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    zone = UTC if sql_type.name.upper() == "TIMESTAMP WITH TIME ZONE" else None
    return found if found.tzinfo == zone else None
