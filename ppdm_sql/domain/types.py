"""SQL types by family: which kind of domain a column of that type can have."""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGERS = {
    "TINYINT": (-(2**7), 2**7 - 1),
    "SMALLINT": (-(2**15), 2**15 - 1),
    "INTEGER": (-(2**31), 2**31 - 1),
    "BIGINT": (-(2**63), 2**63 - 1),
    "HUGEINT": (-(2**127), 2**127 - 1),
    "UTINYINT": (0, 2**8 - 1),
    "USMALLINT": (0, 2**16 - 1),
    "UINTEGER": (0, 2**32 - 1),
    "UBIGINT": (0, 2**64 - 1),
    "UHUGEINT": (0, 2**128 - 1),
}
TIMESTAMP_UNITS = {  # microseconds in the type's own tick; a nanosecond is finer than any step we take
    "TIMESTAMP": 1,
    "TIMESTAMP WITH TIME ZONE": 1,
    "TIMESTAMP_S": 1_000_000,
    "TIMESTAMP_MS": 1_000,
    "TIMESTAMP_NS": 1,
}


@dataclass(frozen=True)
class SqlType:
    """A type name as DuckDB writes it, and the family that decides how its values are perturbed."""

    name: str
    family: str
    width: int = 0
    scale: int = 0


UNKNOWN = SqlType("", "unknown")
"""For who reads a column's parameters without its type, such as the ledger; no column has it."""


def parse_type(name: str) -> SqlType:
    """The family of a type; `other` for those that cannot be perturbed value by value.

    >>> parse_type("DECIMAL(10,2)")
    SqlType(name='DECIMAL(10,2)', family='decimal', width=10, scale=2)
    """
    upper = name.upper()
    if upper in INTEGERS:
        return SqlType(name, "integer")
    if upper in ("FLOAT", "DOUBLE"):
        return SqlType(name, "real")
    if match := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", upper):
        return SqlType(name, "decimal", int(match.group(1)), int(match.group(2)))
    if upper in TIMESTAMP_UNITS:
        return SqlType(name, "timestamp")
    if upper.startswith("ENUM("):
        return SqlType(name, "enum")
    family = {"DATE": "date", "BOOLEAN": "boolean", "VARCHAR": "text"}.get(upper, "other")
    return SqlType(name, family)
