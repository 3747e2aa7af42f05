"""A query that can be run again and again, on our connection or on DuckDB's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import duckdb

from ppdm_sql.connection import Connection

Either: TypeAlias = Connection | duckdb.DuckDBPyConnection


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
