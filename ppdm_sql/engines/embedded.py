"""The embedded DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell
from ppdm_sql.engines.intervals import Row
from ppdm_sql.engines.measure import measure
from ppdm_sql.errors import QueryError
from ppdm_sql.policy.binding import BoundColumn


class EmbeddedEngine:
    """Runs statements on a DuckDB connection."""

    dialect = "duckdb"

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def table(self, statement: exp.Expr) -> pa.Table:
        """The result of a statement, as Arrow."""
        try:
            return self.con.sql(statement.sql(dialect=self.dialect)).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(first_line(error)) from None

    def measure(
        self, columns: Sequence[tuple[BoundColumn, Sequence[exp.Expr], Sequence[exp.Expr]]]
    ) -> list[tuple[Cell, ...]]:
        """How each column's domain falls into cells under its terms; errors of the terms are the query's."""
        return measure(self._rows, columns)

    def _rows(self, sql: str) -> Sequence[Row]:
        try:
            return self.con.execute(sql).fetchall()
        except duckdb.Error as error:
            raise QueryError(first_line(error)) from None


def first_line(error: duckdb.Error) -> str:
    """What DuckDB says, without the statement that we wrote."""
    return str(error).split("\n\nLINE", maxsplit=1)[0].strip()
