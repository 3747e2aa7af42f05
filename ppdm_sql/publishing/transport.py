"""How a column travels from DuckDB through Arrow to its target without losing anything.

Arrow has no BIT, no TIME WITH TIME ZONE, no 128-bit integer and shorter intervals; DuckDB hands some of these over in a
form it does not read back. Such values travel as text and are cast back where they arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duckdb.sqltypes import DuckDBPyType

from ppdm_sql.errors import SourceError
from ppdm_sql.syntax.quoting import quote_name

_AS_TEXT = frozenset({"bit", "time with time zone", "uhugeint", "interval", "bignum"})
_NESTED = frozenset({"list", "array", "struct", "map", "tuple", "union"})
_UUID_BYTES = "unhex(replace(CAST({name} AS VARCHAR), '-', ''))"


def travelling(name: str, kind: DuckDBPyType, *, parquet: bool) -> str:
    """The expression that selects an exact column in a form that survives Arrow.

    Parquet files are read by others, without our casts: there HUGEINT must keep to the digits of DECIMAL(38, 0), and a
    UUID is its 16 bytes.
    """
    quoted = quote_name(name)
    if parquet and kind.id == "uuid":
        return _UUID_BYTES.format(name=quoted)
    wanted = _rewritten(kind, lambda leaf: _travelling_type(leaf, parquet))
    return quoted if wanted is None else f"CAST({quoted} AS {wanted})"


def released_type(kind: DuckDBPyType) -> str:
    """The type of an exact column in a release: an ENUM inside of it is text, for its labels need not all occur."""
    return _rewritten(kind, lambda leaf: "VARCHAR" if leaf.id == "enum" else None) or str(kind)


def _travelling_type(kind: DuckDBPyType, parquet: bool) -> str | None:
    if kind.id in _AS_TEXT or kind.id == "enum":
        return "VARCHAR"
    return "DECIMAL(38, 0)" if parquet and kind.id == "hugeint" else None


def _rewritten(kind: DuckDBPyType, leaf: Callable[[DuckDBPyType], str | None]) -> str | None:
    """The type with what is not nested in it changed, None where nothing is."""
    if kind.id not in _NESTED:
        return leaf(kind)
    children: list[tuple[str, Any]] = [child for child in kind.children if isinstance(child[1], DuckDBPyType)]
    inner = [_rewritten(child, leaf) for _, child in children]
    if not any(inner):
        return None
    types = [cast or str(child) for cast, (_, child) in zip(inner, children, strict=True)]
    return _nested(kind, [field for field, _ in children], types)


def _nested(kind: DuckDBPyType, fields: list[str], types: list[str]) -> str:
    if kind.id == "union":
        raise SourceError(f"values of type {kind} cannot be carried over: cast them in the source, or drop the column.")
    if kind.id == "list":
        return f"{types[0]}[]"
    if kind.id == "array":
        return f"{types[0]}[{dict(kind.children)['size']}]"
    if kind.id == "struct":
        types = [f"{quote_name(field)} {each}" for field, each in zip(fields, types, strict=True)]
    return f"{kind.id.upper()}({', '.join(types)})"
