"""Read a policy from TOML, or from the mapping that TOML gives, and check everything that needs no data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.domain import Point, Range, Scalar, Step, Values
from ppdm_sql.policy.model import MECHANISMS, NULL_RULES, OUTSIDE_RULES, ColumnPolicy, Policy
from ppdm_sql.policy.retention import Retention, check_breach, check_retention
from ppdm_sql.policy.step import parse_time_step

POLICY_KEYS = ("table", "identity", "columns", "levels")
COLUMN_KEYS = ("mechanism", "domain", "retain", "gamma", "epsilon", "privacy", "nulls", "outside")
RETENTION_KEYS = ("retain", "gamma", "epsilon", "privacy")
DOMAIN_KEYS = ("min", "max", "step", "values")


def load_policy(policy: Policy | Mapping[str, Any] | str | Path) -> Policy:
    """A policy from a TOML file, from TOML text with a line break in it, or from a mapping of the same shape.

    Raises PolicyError, which names the column, the rule and the remedy.
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return parse_policy(policy)
    if isinstance(policy, str) and "\n" in policy:
        return _from_toml("the policy", policy)
    path = Path(policy)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text, or not a path"
        raise PolicyError(f"policy {str(path)!r} cannot be read: {reason}.") from None
    return _from_toml(f"policy {str(path)!r}", text)


def _from_toml(where: str, text: str) -> Policy:
    try:
        return parse_policy(tomllib.loads(text, parse_float=Decimal))
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{where} is not TOML: {error}.") from None


def parse_policy(raw: Mapping[str, Any]) -> Policy:
    """Check a policy's mapping and turn it into a Policy."""
    _known("the policy", raw, POLICY_KEYS)
    table = raw.get("table")
    if not isinstance(table, str) or not table.strip():
        raise PolicyError('the policy names no table: begin it with table = "name".')
    levels = {name: _level(name, value) for name, value in _mapping("[levels]", raw.get("levels", {})).items()}
    columns = tuple(
        _column(name, _mapping(f"column {name!r}", body), bool(levels))
        for name, body in _mapping("[columns]", raw.get("columns", {})).items()
    )
    _distinct("column", [c.name for c in columns])
    identity = raw.get("identity", [])
    identity = [identity] if isinstance(identity, str) else identity
    if not isinstance(identity, list | tuple) or not all(isinstance(name, str) for name in identity):
        raise PolicyError('identity must be a list of column names, such as identity = ["id"].')
    _distinct("identity column", list(identity))
    for name in identity:
        for column in columns:
            if column.name.casefold() == name.casefold() and column.mechanism != "drop":
                raise PolicyError(
                    f"column {name!r} is both identity and perturbed: coins that depend on the value they hide would "
                    'give it away. Use another identity, or mechanism = "drop".'
                )
    return Policy(table, columns, tuple(identity), levels)


def _column(name: str, raw: Mapping[str, Any], has_levels: bool) -> ColumnPolicy:
    where = f"column {name!r}"
    _known(where, raw, COLUMN_KEYS)
    mechanism = raw.get("mechanism")
    if mechanism not in MECHANISMS:
        said = "no mechanism" if mechanism is None else f"unknown mechanism {mechanism!r}"
        raise PolicyError(f"{where} has {said}. Known: {', '.join(MECHANISMS)}.")
    if mechanism == "drop":
        extra = sorted(set(raw) - {"mechanism"})
        if extra:
            raise PolicyError(f"{where} is dropped, so {', '.join(extra)} has no meaning there: remove it.")
        return ColumnPolicy(name, mechanism)
    if "domain" not in raw:
        raise PolicyError(
            f"{where} has no domain. Declare it, domain = {{ min = .., max = .. }} or {{ values = [..] }}: it is never "
            "read off the data, whose own range is a disclosure."
        )
    nulls = _one_of(where, "nulls", raw.get("nulls", "error"), NULL_RULES)
    outside = _one_of(where, "outside", raw.get("outside", "error"), OUTSIDE_RULES)
    domain = _domain(where, _mapping(f"{where}: domain", raw["domain"]))
    if outside == "clamp" and isinstance(domain, Values):
        raise PolicyError(f'{where}: outside = "clamp" needs a domain with min and max; a list has no nearest value.')
    return ColumnPolicy(name, mechanism, domain, _retention(where, raw, has_levels), nulls, outside)


def _retention(where: str, raw: Mapping[str, Any], has_levels: bool) -> Retention | None:
    said = [key for key in RETENTION_KEYS if key in raw]
    if not said and has_levels:
        return None
    if len(said) != 1:
        problem = "says nothing of how much is kept" if not said else f"says it twice ({', '.join(said)})"
        raise PolicyError(f"{where} {problem}: give exactly one of {', '.join(RETENTION_KEYS)}.")
    asked = said[0]
    if asked != "privacy":
        return Retention(asked, check_retention(where, asked, _number(f"{where}: {asked}", raw[asked])))
    pair = _mapping(f"{where}: privacy", raw["privacy"])
    _known(f"{where}: privacy", pair, ("rho1", "rho2"))
    if set(pair) != {"rho1", "rho2"}:
        raise PolicyError(f"{where}: privacy needs both numbers, privacy = {{ rho1 = 0.1, rho2 = 0.5 }}.")
    rho1, rho2 = (_number(f"{where}: {key}", pair[key]) for key in ("rho1", "rho2"))
    check_breach(where, rho1, rho2)
    return Retention("privacy", rho1, rho2)


def _domain(where: str, raw: Mapping[str, Any]) -> Range | Values:
    _known(f"{where}: domain", raw, DOMAIN_KEYS)
    if "values" in raw:
        if len(raw) > 1:
            raise PolicyError(f"{where}: a domain has either values, or min and max (and step), not both.")
        return _values(where, raw["values"])
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


def _values(where: str, raw: Any) -> Values:
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


def _level(name: str, value: Any) -> float:
    return check_retention(f"level {name!r}", "retain", _number(f"level {name!r}", value))


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PolicyError(f"{where} must be a number, not {value!r}.")
    return float(value)


def _mapping(where: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"{where} must be a table of names and values, not {value!r}.")
    return value


def _known(where: str, raw: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in raw:
        if key not in keys:
            raise PolicyError(f"{where} has an unknown key {key!r}. Known: {', '.join(keys)}.")


def _one_of(where: str, key: str, value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        raise PolicyError(f"{where}: {key} = {value!r} must be one of {', '.join(words)}.")
    return str(value)


def _distinct(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise PolicyError(f"{what} {name!r} is named twice (names do not depend on case).")
        seen.add(name.casefold())
