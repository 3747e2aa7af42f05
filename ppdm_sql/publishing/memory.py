"""What DuckDB may use for reading and for writing: memory enough for its columns, never for all rows.

Each thread holds a part of every column at once, so the limit follows columns and threads. A limit below that fails on
wide tables; none at all lets DuckDB take most of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

MOST_THREADS = 8
"""More do not read or write faster than the kernels perturb, but hold memory."""
READING = 384  # megabytes
SORTING = 1024  # megabytes; more rows than fit are spilled, which costs a sixth of the time of sorting
_A_COLUMN = 4  # megabytes for each column and thread: a row group of 122,880 values, twice over


def bounded(connection: duckdb.DuckDBPyConnection, columns: int, base: int = READING) -> None:
    """Set the connection's threads and memory for a table of so many columns, and keep it from printing."""
    connection.execute("SET enable_progress_bar = false")  # DuckDB's own goes to standard output
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    connection.execute(f"SET threads = {threads}")
    connection.execute(f"SET memory_limit = '{base + _A_COLUMN * columns * threads}MB'")


@contextmanager
def limits_restored(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Put a shared database's limits back afterwards."""
    query = "SELECT current_setting('threads'), current_setting('memory_limit')"
    threads, memory = connection.execute(query).fetchall()[0]
    try:
        yield
    finally:
        connection.execute(f"SET threads = {threads}")
        connection.execute(f"SET memory_limit = '{memory}'")
