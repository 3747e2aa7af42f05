"""A released column as PERTURB would say it: what `perturb_clause` reads, written.

Made from what is public of the column, so it gives the same values again where the key and the rows are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.syntax.quoting import quote_name, quote_text

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def clause_text(column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> str:
    """The column of a clause; `perturbed` are all of the release, with which its noise may go together."""
    body = MECHANISMS[column.mechanism].declared(column, perturbed)
    options = [_option(key, value) for key, value in body.items()]
    return " ".join([_name(column.name), column.mechanism.upper(), *options])


def _option(key: str, value: Any) -> str:
    word = key.upper()
    if key == "compress":
        return word
    if key == "domain":
        return _domain(word, value)
    if key == "privacy":
        return f"{word} ({_number(value['rho1'])} TO {_number(value['rho2'])})"
    if key == "replace":
        pairs = zip(map(_literal, value["values"]), map(_number, value["weights"]), strict=True)
        null = [f"NULL {_number(value['null'])}"] if "null" in value else []
        return f"{word} ({', '.join([*(f'{one} {weight}' for one, weight in pairs), *null])})"
    if isinstance(value, Mapping):
        return f"{word} ({', '.join(f'{_name(name)} {_number(number)}' for name, number in value.items())})"
    if key == "part":
        return f"{word} {_name(value)}"
    return f"{word} {value.upper() if isinstance(value, str) else _number(value)}"


def _domain(word: str, value: Mapping[str, Any]) -> str:
    if "values" in value:
        return f"{word} ({', '.join(map(_literal, value['values']))})"
    step = value.get("step")
    written = quote_text(step) if isinstance(step, str) else None if step is None else _number(step)
    text = f"{word} ({_literal(value['min'])} TO {_literal(value['max'])})"
    return text if written is None else f"{text} STEP {written}"


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, datetime):
        return f"{'TIMESTAMP' if value.tzinfo is None else 'TIMESTAMPTZ'} {quote_text(value.isoformat(' '))}"
    if isinstance(value, date):
        return f"DATE {quote_text(value.isoformat())}"
    return quote_text(value) if isinstance(value, str) else _number(value)


def _number(value: float | Decimal) -> str:
    """A number that is read as the same again."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote_name(name)
