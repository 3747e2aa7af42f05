"""How fine declared values are: their decimal places, and the unit of a column in words."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from ppdm_sql.domain.types import SqlType

MAX_REAL_SCALE = 15


def decimal_places(value: int | Decimal) -> int:
    """Decimal places of a number, trailing zeros not counted."""
    places, fraction = 0, Fraction(value)
    while fraction.denominator != 1 and places <= MAX_REAL_SCALE:
        places, fraction = places + 1, fraction * 10
    return places


def unit_name(sql_type: SqlType, scale: int) -> str:
    """What a step of one is called, for messages."""
    if sql_type.family == "date":
        return "days"
    if sql_type.family == "timestamp":
        return "microseconds"
    return "1" if scale == 0 else f"{Decimal(1).scaleb(-scale)}"
