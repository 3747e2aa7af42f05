"""A domain as it is declared: what stands under `domain` in a policy."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from ppdm_sql.domain.checks import known
from ppdm_sql.domain.domain import Point, Range, Scalar, Step, Values
from ppdm_sql.domain.step import parse_time_step
from ppdm_sql.errors import PolicyError

DOMAIN_KEYS = ("min", "max", "step", "values")


def parse_domain(where: str, raw: Mapping[str, Any]) -> Range | Values:
    """A range with min and max, or a list of values."""
    known(f"{where}: domain", raw, DOMAIN_KEYS)
    if "values" in raw:
        if len(raw) > 1:
            raise PolicyError(f"{where}: a domain has either values, or min and max (and step), not both.")
        return parse_values(where, raw["values"])
    missing = [key for key in ("min", "max") if key not in raw]
    if missing:
        raise PolicyError(f"{where}: its domain has no {' and no '.join(missing)}.")
    low, high = (_point(f"{where}: {key}", raw[key]) for key in ("min", "max"))
    if type(low) is not type(high) and not all(isinstance(p, int | Decimal) for p in (low, high)):
        raise PolicyError(f"{where}: min and max are of different kinds ({low}, {high}).")
    if isinstance(low, datetime) and isinstance(high, datetime) and (low.tzinfo is None) != (high.tzinfo is None):
        raise PolicyError(f"{where}: give both min and max a time zone, or neither.")
    if low > high:  # type: ignore[operator]  # the check above left comparable kinds only
        raise PolicyError(f"{where}: min = {low} is above max = {high}.")
    step = _step(where, raw["step"], low) if "step" in raw else None
    return Range(low, high, step)


def parse_values(where: str, raw: Any) -> Values:
    """A list of distinct values of one kind."""
    if not isinstance(raw, list | tuple) or not raw:
        raise PolicyError(f"{where}: values must be a list with at least one value.")
    values = tuple(_scalar(where, value) for value in raw)
    kinds = {Decimal if isinstance(v, int | Decimal) and not isinstance(v, bool) else type(v) for v in values}
    if len(kinds) > 1:
        raise PolicyError(f"{where}: values are of different kinds ({', '.join(sorted(k.__name__ for k in kinds))}).")
    if len(set(values)) < len(values):
        raise PolicyError(f"{where}: a value is listed twice; each may stand once.")
    return Values(values)


def _scalar(where: str, value: Any) -> Scalar:
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal) and not value.is_finite():
        raise PolicyError(f"{where}: {value} is not a finite number.")
    if isinstance(value, bool | int | Decimal | str | date | datetime):
        return value
    raise PolicyError(f"{where}: a value of a domain may be text, a number, true or false, or a date, not {value!r}.")


def _point(where: str, raw: Any) -> Point:
    value = _scalar(where, raw)
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
        except ValueError:
            raise PolicyError(f"{where} = {value!r} is neither a number nor a date: list text in values.") from None
    if isinstance(value, bool):
        raise PolicyError(f"{where} = {str(value).lower()}: list true and false in values.")
    return value


def _step(where: str, value: Any, low: Point) -> Step:
    if isinstance(value, str):
        if isinstance(low, date):
            return parse_time_step(where, value)
        raise PolicyError(f"{where}: step {value!r} is text, but min and max are numbers: write step = 1 or 0.01.")
    if isinstance(value, bool | time | date) or not isinstance(value, int | float | Decimal):
        raise PolicyError(f"{where}: step must be a number, or text such as '1 hour' for times.")
    number = value if isinstance(value, int) else Decimal(repr(value) if isinstance(value, float) else value)
    if not Decimal(number).is_finite() or number <= 0:
        raise PolicyError(f"{where}: step = {value} must be above 0.")
    if isinstance(low, datetime):
        raise PolicyError(f"{where}: step = {value} has no unit: write it as text, such as step = '1 hour'.")
    return number
