"""The functions that a DuckDB connection has, read once: to list them takes longer than most queries on a release."""

from __future__ import annotations

from typing import NamedTuple

import duckdb


class Function(NamedTuple):
    """One of those that matter here: macros and functions of the user's, aggregates, and what draws or tells time."""

    database: str
    schema: str
    name: str
    kind: str
    internal: bool
    definition: str | None
    parameters: list[str]
    volatile: bool

    @property
    def is_own_macro(self) -> bool:
        """Whether it is a macro that the database holds or the user made."""
        return not self.internal and self.definition is not None


def read_functions(con: duckdb.DuckDBPyConnection) -> list[Function]:
    """The functions that are not DuckDB's own, and of those that are the aggregates and the volatile ones."""
    rows = con.execute(
        "SELECT database_name, schema_name, function_name, function_type, internal, macro_definition, parameters, "
        "coalesce(stability = 'VOLATILE', FALSE) FROM duckdb_functions() "
        "WHERE NOT internal OR function_type = 'aggregate' OR stability = 'VOLATILE'"
    ).fetchall()
    return [Function(*row) for row in rows]
