"""Read a policy from TOML, or from the mapping that TOML gives, and check everything that needs no data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from ppdm_sql.domain.checks import distinct, known, mapping, number
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.mechanisms.retention import check_retention
from ppdm_sql.policy.model import DROP, SOURCE, Policy

POLICY_KEYS = ("table", "identity", "order", "columns", "levels")
COLUMN_KEYS = tuple(dict.fromkeys(("mechanism", *(key for each in MECHANISMS.values() for key in each.keys))))

LARGEST_EXPONENT = 400
"""Beyond what a DOUBLE holds; 1e999999999 is short to write and takes for ever to count with."""


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
        raw = tomllib.loads(text, parse_float=_number)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{where} is not TOML: {error}.") from None
    except (ValueError, RecursionError):
        raise PolicyError(f"{where} has a number that is too long or too large, or is nested too deeply.") from None
    return parse_policy(raw)


def _number(text: str) -> Decimal:
    """A number with a point or an exponent; ValueError where its digits could not be written out."""
    found = Decimal(text)
    if found.is_finite() and abs(found.adjusted()) > LARGEST_EXPONENT:
        raise ValueError
    return found


def parse_policy(raw: Mapping[str, Any]) -> Policy:
    """Check a policy's mapping and turn it into a Policy."""
    known("the policy", raw, POLICY_KEYS)
    table = raw.get("table")
    if not isinstance(table, str) or not table.strip():
        raise PolicyError('the policy names no table: begin it with table = "name".')
    levels = {name: _level(name, value) for name, value in mapping("[levels]", raw.get("levels", {})).items()}
    columns = tuple(
        _column(name, mapping(f"column {name!r}", body), bool(levels))
        for name, body in mapping("[columns]", raw.get("columns", {})).items()
    )
    distinct("column", [c.name for c in columns])
    identity = raw.get("identity", [])
    identity = [identity] if isinstance(identity, str) else identity
    if not _are_names(identity):
        raise PolicyError('identity must be a list of column names, such as identity = ["id"].')
    distinct("identity column", list(identity))
    for name in identity:
        for column in columns:
            if column.name.casefold() == name.casefold() and column.mechanism != DROP:
                raise PolicyError(
                    f"column {name!r} is both identity and perturbed: coins that depend on the value they hide would "
                    'give it away. Use another identity, or mechanism = "drop".'
                )
    return Policy(table, columns, tuple(identity), levels, _order(raw.get("order"), columns))


def _are_names(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def _order(raw: Any, columns: tuple[ColumnPolicy, ...]) -> tuple[str, ...] | str | None:
    """What released rows are ordered by; only exact released columns, or it would tell what they hide."""
    if raw is None or raw == SOURCE:
        return None if raw is None else SOURCE
    if not _are_names(raw) or not raw:
        raise PolicyError(
            f'order must be a list of column names, such as order = ["region", "id"], or "{SOURCE}". Leave it out, and '
            "rows are ordered by the identity where that is released, else by a keyed hash."
        )
    distinct("order column", list(raw))
    for name in raw:
        for column in columns:
            if column.name.casefold() == name.casefold():
                what = "dropped" if column.mechanism == DROP else "perturbed"
                raise PolicyError(
                    f"column {name!r} is {what}, and rows in its order would give its values away: order names columns "
                    "that are released as they are."
                )
    return tuple(raw)


def _column(name: str, raw: Mapping[str, Any], has_levels: bool) -> ColumnPolicy:
    where = f"column {name!r}"
    known(where, raw, COLUMN_KEYS)
    named = raw.get("mechanism")
    if named == DROP:
        extra = sorted(set(raw) - {"mechanism"})
        if extra:
            raise PolicyError(f"{where} is dropped, so {', '.join(extra)} has no meaning there: remove it.")
        return ColumnPolicy(name, DROP)
    mechanism = MECHANISMS.get(named) if isinstance(named, str) else None
    if mechanism is None:
        said = "no mechanism" if named is None else f"unknown mechanism {named!r}"
        raise PolicyError(f"{where} has {said}. Known: {', '.join((*MECHANISMS, DROP))}.")
    extra = [key for key in raw if key not in ("mechanism", *mechanism.keys)]
    if extra:
        raise PolicyError(
            f'{where}: {extra[0]} has no meaning for mechanism = "{named}", which takes {", ".join(mechanism.keys)}.'
        )
    return mechanism.parse(name, raw, has_levels=has_levels)


def _level(name: str, value: Any) -> float:
    return check_retention(f"level {name!r}", "retain", number(f"level {name!r}", value))
