"""A query that can be run again and again, on our connection or on DuckDB's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import duckdb

from ppdm_sql.connection.connection import Connection
from ppdm_sql.release.stored import PERTURBED

Either: TypeAlias = Connection | duckdb.DuckDBPyConnection


def stored_rows(release: Path) -> duckdb.DuckDBPyConnection:
    """DuckDB's own connection to the rows of a release, under the names that it is shown with."""
    con = duckdb.connect(str(release), read_only=True)
    con.execute(f"USE {PERTURBED}")
    return con


def fetched(con: Either, sql: str) -> Callable[[], object]:
    """The query with all its rows as Python objects."""
    return lambda: con.execute(sql).fetchall()


def as_arrow(con: Either, sql: str) -> Callable[[], object]:
    """The query with its result as an Arrow table."""

    def run() -> object:
        relation = con.sql(sql)
        assert relation is not None
        return relation.to_arrow_table()

    return run
