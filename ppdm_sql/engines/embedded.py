"""The embedded DuckDB."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.engines.intervals import Row
from ppdm_sql.engines.joint import measure_joint
from ppdm_sql.engines.measure import Asked, measure
from ppdm_sql.errors import QueryError
from ppdm_sql.policy.binding import BoundColumn


class EmbeddedEngine:
    """Runs statements on a DuckDB connection."""

    dialect = "duckdb"

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con

    def table(self, statement: exp.Expr, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """The result of a statement, as Arrow; `tables` are there for it alone."""
        for name, table in (tables or {}).items():
            self.con.register(name, table)
        try:
            return self._arrow(statement.sql(dialect=self.dialect))
        finally:
            for name in tables or {}:
                self.con.unregister(name)

    def measure(self, columns: Sequence[Asked]) -> list[Cells]:
        """How each column's domain falls into cells under its terms; errors of the terms are the query's."""
        return measure(self._rows, self._arrow, columns)

    def measure_joint(
        self, columns: tuple[BoundColumn, BoundColumn], terms: Sequence[exp.Expr], values: Sequence[exp.Expr]
    ) -> JointCells:
        """How the domain of two columns together falls into cells under terms that may span both."""
        return measure_joint(self._arrow, columns, terms, values)

    def estimated_rows(self, statement: exp.Expr) -> int:
        """How many rows DuckDB expects, from the statistics it keeps of the tables."""
        [(_, text)] = self._rows(f"EXPLAIN (FORMAT json) {statement.sql(dialect=self.dialect)}")
        return int(json.loads(text)[0]["extra_info"].get("Estimated Cardinality", 0))

    def _arrow(self, sql: str) -> pa.Table:
        try:
            return self.con.sql(sql).to_arrow_table()
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise QueryError(first_line(error)) from None

    def _rows(self, sql: str) -> Sequence[Row]:
        try:
            return self.con.execute(sql).fetchall()
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise QueryError(first_line(error)) from None


def first_line(error: duckdb.Error) -> str:
    """What DuckDB says, without the statement that we wrote."""
    return str(error).split("\n\nLINE", maxsplit=1)[0].strip()
