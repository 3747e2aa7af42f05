"""Domains whose SQL type is known: a declared range becomes a grid in the type's own unit."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from ppdm_sql.domain.decimal_scale import MAX_REAL_SCALE, decimal_places, unit_name
from ppdm_sql.domain.domain import MAX_POINTS, Grid, Range, Scalar, Values
from ppdm_sql.domain.fields import MAX_NAME
from ppdm_sql.domain.step import microseconds
from ppdm_sql.domain.types import INTEGERS, TIMESTAMP_UNITS, SqlType, parse_type
from ppdm_sql.errors import PolicyError

NEEDS = {
    "integer": "whole numbers",
    "decimal": "numbers",
    "real": "numbers",
    "date": "dates",
    "timestamp": "dates with times",
    "boolean": "true and false",
    "text": "text",
    "enum": "text",
}


DAY = 86_400_000_000
"""Microseconds."""


def bind_domain(where: str, declared: Range | Values, type_name: str) -> tuple[Grid | Values, SqlType]:
    """A declared domain in the unit of its SQL type; PolicyError names the rule that does not hold."""
    sql_type = parse_type(type_name)
    if sql_type.family == "other":
        raise PolicyError(
            f"{where}: values of this type cannot be perturbed. Cast it in the source to a number, a date, a "
            'timestamp, text or a boolean, or use mechanism = "drop".'
        )
    domain: Grid | Values
    if isinstance(declared, Values):
        domain = _bind_values(where, declared, sql_type)
    else:
        domain = _bind_range(where, declared, sql_type)
    if domain.size > MAX_POINTS:
        raise PolicyError(f"{where}: its domain has {domain.size:,} values, more than 2^53: use a coarser step.")
    return domain, sql_type


def check_domain(where: str, domain: Grid | Values, sql_type: SqlType) -> None:
    """Refuse a domain that `bind_domain` would not have made for a type."""
    family = sql_type.family
    if family not in NEEDS:
        raise PolicyError(f"{where}: values of type {sql_type.name} cannot be perturbed.")
    if isinstance(domain, Values):
        if len(set(domain.values)) < domain.size:
            raise PolicyError(f"{where}: a value is listed twice; each may stand once.")
        if family in ("text", "enum") and not all(isinstance(value, str) for value in domain.values):
            raise PolicyError(f"{where}: its values do not fit this type, which needs {NEEDS[family]}.")
        _bind_values(where, domain, sql_type)
        return
    if family in ("text", "enum", "boolean"):
        raise PolicyError(f"{where}: a range does not fit this type.")
    most = {"decimal": (sql_type.scale, sql_type.scale), "real": (0, MAX_REAL_SCALE)}.get(family, (0, 0))
    if not most[0] <= domain.scale <= most[1]:
        raise PolicyError(f"{where}: its decimal places do not fit this type.")
    if family == "timestamp" and domain.step % TIMESTAMP_UNITS[sql_type.name.upper()]:
        raise PolicyError(f"{where}: the step is finer than what this type can hold.")
    if domain.size > MAX_POINTS:
        raise PolicyError(f"{where}: its domain has more than 2^53 values.")
    _check_bounds(where, domain.low, domain.high, sql_type)
    _check_fineness(where, domain, sql_type)


def grid_place(where: str, value: Scalar, grid: Grid, sql_type: SqlType) -> int | None:
    """The place of a declared value on a grid, None where it is not one of its points."""
    place, rest = divmod(_units(where, value, sql_type, grid.scale) - grid.low, grid.step)
    return place if rest == 0 and 0 <= place < grid.size else None


def _bind_range(where: str, declared: Range, sql_type: SqlType) -> Grid:
    family = sql_type.family
    if family in ("text", "enum", "boolean"):
        raise PolicyError(f"{where}: min and max do not fit this type: list its values, domain = {{ values = [..] }}.")
    kinds = date if family in ("date", "timestamp") else int | Decimal
    for name, point in (("min", declared.low), ("max", declared.high)):
        if not isinstance(point, kinds) or (family == "date" and isinstance(point, datetime)):
            raise PolicyError(f"{where}: {name} = {point} does not fit this type, which needs {NEEDS[family]}.")
    scale = _scale(where, declared, sql_type)
    low, high = (_units(where, point, sql_type, scale) for point in (declared.low, declared.high))
    step = _step_units(where, declared, sql_type, scale)
    if (high - low) % step:
        raise PolicyError(
            f"{where}: max is not a whole number of steps above min; the grid must end at both. "
            f"Change max by {(high - low) % step} or step to a divisor (in units of {unit_name(sql_type, scale)})."
        )
    _check_bounds(where, low, high, sql_type)
    _check_fineness(where, Grid(low, step, (high - low) // step + 1, scale), sql_type)
    return Grid(low, step, (high - low) // step + 1, scale)


def _scale(where: str, declared: Range, sql_type: SqlType) -> int:
    if sql_type.family == "decimal":
        return sql_type.scale
    if sql_type.family != "real":
        return 0
    if declared.step is None:
        raise PolicyError(
            f"{where}: a column of reals needs a step, such as step = 0.01. Values are rounded to it: a random real "
            "would be told from a true value by its digits."
        )
    scale = max(decimal_places(v) for v in (declared.low, declared.high, declared.step) if isinstance(v, int | Decimal))
    if scale > MAX_REAL_SCALE:
        raise PolicyError(
            f"{where}: at most {MAX_REAL_SCALE} decimal places are kept apart by a real: use a coarser step."
        )
    return scale


def _units(where: str, value: Scalar | timedelta, sql_type: SqlType, scale: int) -> int:
    """`value` in whole units of the type."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return microseconds(moment - datetime(1970, 1, 1, tzinfo=UTC))
    if isinstance(value, date):
        days = (value - date(1970, 1, 1)).days
        return days * DAY if sql_type.family == "timestamp" else days
    if isinstance(value, timedelta):
        return microseconds(value)
    if not isinstance(value, int | Decimal):
        raise PolicyError(f"{where}: {value!r} does not fit this type.")
    scaled = Fraction(value) * 10**scale  # Decimal's own arithmetic would round to 28 digits
    if scaled.denominator != 1:
        kind = "a whole number" if scale == 0 else f"a number with at most {scale} decimal places"
        raise PolicyError(f"{where}: {value} is not {kind}.")
    return int(scaled)


def _step_units(where: str, declared: Range, sql_type: SqlType, scale: int) -> int:
    step, family = declared.step, sql_type.family
    if family == "timestamp":
        if not isinstance(step, timedelta):
            raise PolicyError(f"{where}: a timestamp needs a step, such as step = '1 hour'; values are rounded to it.")
        tick = TIMESTAMP_UNITS[sql_type.name.upper()]
        if microseconds(step) % tick:
            raise PolicyError(f"{where}: the step is finer than what this type can hold.")
        return microseconds(step)
    if step is None:
        return 1
    if family == "date":
        days = step.days if isinstance(step, timedelta) and not step.seconds and not step.microseconds else step
        if not isinstance(days, int):
            raise PolicyError(f"{where}: the step of a date is a whole number of days, such as '7 days'.")
        return days
    if isinstance(step, timedelta):
        raise PolicyError(f"{where}: the step is a length of time, but the column holds numbers.")
    return _units(f"{where}: step", step, sql_type, scale)


def _check_bounds(where: str, low: int, high: int, sql_type: SqlType) -> None:
    if sql_type.family == "integer":
        least, most = INTEGERS[sql_type.name.upper()]
    elif sql_type.family == "decimal":
        most = 10**sql_type.width - 1
        least = -most
    elif sql_type.family == "real":
        most = 2**53
        least = -most
    elif sql_type.name.upper() == "TIMESTAMP_NS":
        most = (2**63 - 1) // 1000
        least = -most
    else:  # what Python, and a policy, can say: the years 1 to 9999
        epoch, ends = date(1970, 1, 1), (date.min, date.max)
        least, most = ((day - epoch).days for day in ends)
        if sql_type.family == "timestamp":
            least, most = least * DAY, (most + 1) * DAY - 1
    if low < least or high > most:
        raise PolicyError(f"{where}: its domain reaches beyond what this type can hold exactly.")


def _check_fineness(where: str, grid: Grid, sql_type: SqlType) -> None:
    """Neighbouring points must be different values of the type, and survive a trip through it."""
    if sql_type.family == "timestamp":
        if grid.low % TIMESTAMP_UNITS[sql_type.name.upper()]:
            raise PolicyError(f"{where}: min is finer than what this type can hold.")
        return
    if sql_type.family != "real" or grid.size == 1:
        return
    type_name = sql_type.name.upper()
    bits = 23 if type_name == "FLOAT" else 48  # of the type's 24 and 53, less what rounding may take
    if max(abs(grid.low), abs(grid.high)) > grid.step * 2**bits:
        raise PolicyError(
            f"{where}: so far from zero, neighbouring points of its domain are one and the same {type_name}: "
            "use a coarser step, or cast the column to DECIMAL in the source."
        )


def _bind_values(where: str, declared: Values, sql_type: SqlType) -> Values:
    family = sql_type.family
    kinds: dict[str, type | tuple[type, ...]] = {
        "integer": int,
        "decimal": (int, Decimal),
        "real": (int, Decimal),
        "date": date,
        "timestamp": date,
        "boolean": bool,
        "text": str,
        "enum": str,
    }
    for value in declared.values:
        wrong = not isinstance(value, kinds[family]) or (isinstance(value, bool) and family != "boolean")
        if wrong or (family == "date" and isinstance(value, datetime)):
            raise PolicyError(f"{where}: {value!r} in its domain does not fit this type, which needs {NEEDS[family]}.")
        if family in ("integer", "decimal"):
            units = _units(where, value, sql_type, sql_type.scale)
            _check_bounds(where, units, units, sql_type)
        if isinstance(value, str) and ("\0" in value or len(value) > MAX_NAME):
            raise PolicyError(
                f"{where}: a text in its domain has up to {MAX_NAME:,} characters, and none of them is NUL."
            )
    if family == "timestamp":
        return _bind_moments(where, declared, sql_type)
    if family == "real":
        _check_real_values(where, declared, sql_type)
    return declared


def _bind_moments(where: str, declared: Values, sql_type: SqlType) -> Values:
    """Moments as the type holds them: with a time zone they are in UTC, which is also what a bare time means."""
    tick = TIMESTAMP_UNITS[sql_type.name.upper()]
    units = [_units(where, value, sql_type, 0) for value in declared.values]
    if len(set(units)) < len(units):
        raise PolicyError(f"{where}: two values of its domain are the same moment; each may stand once.")
    for unit in units:
        if unit % tick:
            raise PolicyError(f"{where}: a value of its domain is finer than what this type can hold.")
        _check_bounds(where, unit, unit, sql_type)
    zone = UTC if sql_type.name.upper() == "TIMESTAMP WITH TIME ZONE" else None
    return Values(tuple(datetime(1970, 1, 1, tzinfo=zone) + timedelta(microseconds=unit) for unit in units))


def _check_real_values(where: str, declared: Values, sql_type: SqlType) -> None:
    """Listed reals are found by equality, so they must be different numbers of the type."""
    code = "<f" if sql_type.name.upper() == "FLOAT" else "<d"
    try:
        held = {struct.pack(code, float(value)) for value in declared.values if isinstance(value, int | Decimal)}
    except OverflowError:
        raise PolicyError(f"{where}: its domain reaches beyond what this type can hold exactly.") from None
    if len(held) < declared.size:
        raise PolicyError(f"{where}: two values of its domain are one and the same {sql_type.name.upper()}.")
