"""The embedded DuckDB."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import duckdb
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.domain.types import SqlType, parse_type
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.measuring.bins import measure_bins
from ppdm_sql.measuring.intervals import Row
from ppdm_sql.measuring.joint import measure_joint
from ppdm_sql.measuring.measure import Asked, Expressions, measure
from ppdm_sql.measuring.noisy import measure_noisy
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

NO_NUMBER = re.compile(r"Conversion Error: Unimplemented type for cast \((.+) -> DOUBLE\)")


class EmbeddedEngine:
    """Runs statements on a DuckDB connection."""

    dialect = ANALYST

    def __init__(self, con: duckdb.DuckDBPyConnection, queries: str = "") -> None:
        self.con = con
        self.queries = queries

    def seeing(self, clauses: Sequence[exp.With]) -> EmbeddedEngine:
        """The engine for parts of a statement: they may name the queries of its WITH clauses."""
        names = [query.alias.casefold() for clause in clauses for query in clause.expressions]
        if not names:
            return EmbeddedEngine(self.con)
        if len(set(names)) < len(names):
            raise Unsupported("Unsupported: two queries of WITH bear one name, beside a release. Rename one of them.")
        recursive = "RECURSIVE " if any(clause.args.get("recursive") for clause in clauses) else ""
        queries = [query.sql(dialect=self.dialect) for clause in clauses for query in clause.expressions]
        return EmbeddedEngine(self.con, f"WITH {recursive}{', '.join(queries)} ")

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
        self, columns: tuple[RetainedColumn, RetainedColumn], terms: Sequence[exp.Expr], values: Sequence[exp.Expr]
    ) -> JointCells:
        """How the domain of two columns together falls into cells under terms that may span both."""
        return measure_joint(self._arrow, columns, terms, values)

    def columns(self, source: exp.Expr) -> list[tuple[str, SqlType]]:
        """The columns of what may stand in FROM."""
        statement = exp.Select(expressions=[exp.Star()], from_=exp.From(this=source.copy()))
        try:
            found = self.con.sql(f"{self.queries}{statement.sql(dialect=self.dialect)}")
        except duckdb.Error as error:
            raise QueryError(first_line(error)) from None
        return [(name, parse_type(str(kind))) for name, kind in zip(found.columns, found.types, strict=True)]

    def is_called(self, source: exp.Expr, name: str) -> bool:
        """Whether the columns of what may stand in FROM can be named by a name."""
        everything = exp.Column(this=exp.Star(), table=exp.to_identifier(name, quoted=True))
        statement = exp.Select(expressions=[everything], from_=exp.From(this=source.copy()))
        try:
            self.con.sql(statement.sql(dialect=self.dialect))
        except duckdb.Error:
            return False
        return True

    def is_unique(self, source: exp.Expr, columns: Sequence[str]) -> bool:
        """Whether some columns are a key of what may stand in FROM, rows with NULL in them left out."""
        keys = [exp.column(exp.to_identifier(name, quoted=True)) for name in columns]
        known = exp.and_(*(exp.Not(this=exp.Is(this=key, expression=exp.Null())) for key in keys))
        twice = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))
        statement = exp.select("1").from_(source.copy()).where(known).group_by(*keys).having(twice).limit(1)
        return not self._rows(statement.sql(dialect=self.dialect))

    def overlap(self, one: exp.Expr, other: exp.Expr, columns: Sequence[str]) -> bool:
        """Whether some row of one source has the values of a row of another in some columns; in doubt it has."""
        kinds = [{name.casefold(): kind for name, kind in self.columns(source)} for source in (one, other)]
        for name in columns:
            here, there = (found[name.casefold()] for found in kinds)
            if here.name != there.name and {here.family, there.family} != {"integer"}:
                return True
        keys = ", ".join(quote_name(name) for name in columns)
        mine, theirs = (f"(SELECT {keys} FROM {source.sql(dialect=self.dialect)})" for source in (one, other))
        return bool(self._rows(f"SELECT 1 FROM {mine} AS a SEMI JOIN {theirs} AS b USING ({keys}) LIMIT 1"))

    def measure_bins(self, column: RetainedColumn, terms: Sequence[exp.Expr], starts: Sequence[int]) -> Cells:
        """The cells of a grid column that rows are grouped by in bins, which start at some places."""
        return measure_bins(self._rows, self._arrow, column, terms, starts)

    def measure_noisy(self, column: NoisyColumn, terms: Expressions, labels: Expressions, release: exp.Expr) -> Cells:
        """How the line falls into stretches under the terms of a query on a column with noise."""
        return measure_noisy(self._arrow, column, terms, labels, release.sql(dialect=self.dialect))

    def estimated_rows(self, statement: exp.Expr) -> int:
        """How many rows DuckDB expects, from the statistics it keeps of the tables."""
        [(_, text)] = self._rows(f"EXPLAIN (FORMAT json) {self.queries}{statement.sql(dialect=self.dialect)}")
        return int(json.loads(text)[0]["extra_info"].get("Estimated Cardinality", 0))

    def _arrow(self, sql: str) -> pa.Table:
        try:
            return self.con.sql(f"{self.queries}{sql}").to_arrow_table()
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise of_query(error) from None

    def _rows(self, sql: str) -> Sequence[Row]:
        try:
            queries = "" if sql.startswith("EXPLAIN") else self.queries
            return self.con.execute(f"{queries}{sql}").fetchall()
        except (duckdb.ProgrammingError, duckdb.DataError) as error:
            raise of_query(error) from None


def of_query(error: duckdb.Error) -> QueryError:
    """What DuckDB finds wrong with a part of a query, said of the query."""
    said = first_line(error)
    no_number = NO_NUMBER.match(said)
    if no_number is None:
        return QueryError(said)
    return QueryError(
        f"a value of type {no_number[1]} is no number: it is not summed or averaged. Make a number of it, as epoch(..) "
        "and date_diff(..) do of a date, or count ranges."
    )


def first_line(error: duckdb.Error) -> str:
    """What DuckDB says, without the statement that we wrote."""
    return str(error).split("\n\nLINE", maxsplit=1)[0].strip()
