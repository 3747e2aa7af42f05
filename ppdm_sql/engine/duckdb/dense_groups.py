"""Room for groups of a dense integer key in an array: DuckDB then adds to a place instead of looking a key up.

DuckDB does so by itself for up to 2^12 groups. A query that counts a few rows of the table can do without more, but a
reconstruction needs every row: measured on 10 million rows in a million groups, an array takes a third of the time.
"""

from __future__ import annotations

import contextlib
import math

import duckdb

SETTING = "perfect_ht_threshold"
MOST_BITS = 32
ROOM = 2**28
"""Bytes that the arrays of all threads may take together."""

BYTES_A_GROUP = 32
"""Two aggregates, as an estimate has at most where only its own error is asked for."""


class DenseGroupSetting:
    """What one connection allows for the arrays."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._before: int | None = None

    def make(self) -> None:
        """Allow arrays as large as there is room for."""
        query = f"SELECT current_setting('{SETTING}')::INTEGER, current_setting('threads')::INTEGER"
        [(before, threads)] = self._con.execute(query).fetchall()
        bits = int(math.log2(ROOM // (BYTES_A_GROUP * threads)))
        self._before = before
        self._con.execute(f"SET {SETTING} = {max(before, min(bits, MOST_BITS))}")

    def give_back(self) -> None:
        """Undo it; this ends a result of the connection that is not fetched yet."""
        if self._before is not None:
            with contextlib.suppress(duckdb.Error):  # in a transaction that failed only ROLLBACK works; then later
                self._con.execute(f"SET {SETTING} = {self._before}")
                self._before = None
