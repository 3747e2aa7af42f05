"""What rows are called on their way to their writer, and how DuckDB sorts them, which may spill them to a disk."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.syntax.quoting import quote_name

STREAM = "ppdm_stream"
"""What statements call the rows that arrive."""
HASH = "o"
"""What the column with the keyed hash is called there."""


def released_rows(columns: Sequence[tuple[str, str]], order: Sequence[str], further: str | None = None) -> str:
    """The query that gives arriving rows, and those of a `further` table, their names, types and order.

    `columns` are names and types, c0, c1, .. on their way, as `order` calls them too.
    """
    names = [quote_name(name) for name, _ in columns]
    casts = ", ".join(f"CAST(c{i} AS {kind}) AS c{i}" for i, (_, kind) in enumerate(columns))
    more = ", ".join(each for each in order if each == HASH)
    rows = f"SELECT {casts}{', ' if more else ''}{more} FROM {STREAM}"
    if further is not None:
        rows += f" UNION ALL SELECT {', '.join(names)} FROM {further}"
    released = ", ".join(f"c{i} AS {name}" for i, name in enumerate(names))
    if not order:
        return f"SELECT {released} FROM ({rows})"
    return f"SELECT {released} FROM ({rows}) AS arrived ORDER BY {', '.join(f'arrived.{each}' for each in order)}"
