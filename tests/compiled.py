"""What answers one release of a table answers them all, for only the coins differ: made once, and asked of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

import ppdm_sql
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import Unsupported


def ask_each(releases: Sequence[Path], statements: Sequence[str], method: str = "auto") -> list[list[tuple[Any, ...]]]:
    """The row that each statement gives on each DuckDB release, by release.

    Where all can be compiled, what runs is what was compiled for the first release, which must answer that itself.
    """
    with _opened(releases[0], method) as con:
        first = [con.execute(sql).fetchall()[0] for sql in statements]
        compiled = None if method == "bayes" else _compiled(con, statements)
    if compiled is None:
        return [first, *(_asked(path, statements, method) for path in releases[1:])]
    result = []
    for path in releases:
        with duckdb.connect(str(path), read_only=True) as plain:
            result.append([plain.execute(sql).fetchall()[0] for sql in compiled])
    assert result[0] == first
    return result


def _compiled(con: Connection, statements: Sequence[str]) -> list[str] | None:
    try:
        return [con.compile(sql) for sql in statements]
    except Unsupported:
        return None


def _opened(path: Path, method: str) -> Connection:
    con = ppdm_sql.connect(path, read_only=True)
    con.execute(f"SET ppdm_method = '{method}'")
    return con


def _asked(path: Path, statements: Sequence[str], method: str) -> list[tuple[Any, ...]]:
    with _opened(path, method) as con:
        return [con.execute(sql).fetchall()[0] for sql in statements]
