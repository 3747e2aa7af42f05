"""What every part of a policy is checked for: tables, known keys, numbers, one of some words."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ppdm_sql.errors import PolicyError


def number(where: str, value: Any) -> float:
    """A number, from whatever TOML or Python calls one."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise PolicyError(f"{where} must be a number, not {value!r}.")
    return float(value)


def mapping(where: str, value: Any) -> Mapping[str, Any]:
    """A table of names and values."""
    if not isinstance(value, Mapping):
        raise PolicyError(f"{where} must be a table of names and values, not {value!r}.")
    for name in value:
        if not isinstance(name, str):
            raise PolicyError(f"{where} has a name that is no text: {name!r}.")
    return value


def known(where: str, raw: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    """Refuse a key that has no meaning there."""
    for key in raw:
        if key not in keys:
            raise PolicyError(f"{where} has an unknown key {key!r}. Known: {', '.join(keys)}.")


def one_of(where: str, key: str, value: Any, words: tuple[str, ...]) -> str:
    """One of some words."""
    if value not in words:
        raise PolicyError(f"{where}: {key} = {value!r} must be one of {', '.join(words)}.")
    return str(value)


def distinct(what: str, names: list[str]) -> None:
    """Refuse a name that stands twice."""
    seen: set[str] = set()
    for name in names:
        if name.casefold() in seen:
            raise PolicyError(f"{what} {name!r} is named twice (names do not depend on case).")
        seen.add(name.casefold())
