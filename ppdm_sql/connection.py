"""What an analyst holds: a stand-in for a DuckDB connection that answers queries on releases by reconstruction."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from ppdm_sql.engines.catalog import parquet_manifest
from ppdm_sql.engines.domains import quote, text
from ppdm_sql.engines.embedded import EmbeddedEngine, first_line
from ppdm_sql.errors import QueryError, ReleaseError
from ppdm_sql.explain import explain_rewritten
from ppdm_sql.rewrite.parse import Parameters
from ppdm_sql.session import Session
from ppdm_sql.statement import Statement, understand

Result = TypeVar("Result")

_SCOPE = r"(?:(?:SESSION|LOCAL|GLOBAL)\s+)?"
SET = re.compile(rf"\s*SET\s+{_SCOPE}(ppdm_\w+)\s*(?:=|TO)\s*(.+?)\s*;?\s*", re.IGNORECASE | re.DOTALL)
RESET = re.compile(rf"\s*RESET\s+{_SCOPE}(ppdm_\w+)\s*;?\s*", re.IGNORECASE)


def connect(
    database: str | Path = ":memory:", read_only: bool = False, config: Mapping[str, Any] | None = None
) -> Connection:
    """Open a release (or any DuckDB database, or a Parquet release) for queries.

    A Parquet file, or a glob of them, appears as a view with the name of the published table.
    """
    path = str(database)
    if path.endswith(".parquet"):
        return _connect_parquet(path, config)
    if read_only and path != ":memory:" and not Path(path).exists():
        raise ReleaseError(f"there is no file {path!r}.")
    try:
        con = duckdb.connect(path, read_only=read_only, config=dict(config or {}))
    except duckdb.Error as error:
        raise ReleaseError(f"{path!r} cannot be opened: {error}") from None
    return Connection(con, Session())


def _connect_parquet(path: str, config: Mapping[str, Any] | None) -> Connection:
    con = duckdb.connect(":memory:", config=dict(config or {}))
    manifest = parquet_manifest(con, path)
    if manifest is None:
        con.close()
        raise ReleaseError(f"{path!r} is not a release: there is no such Parquet file, or it carries no manifest.")
    con.execute(f"CREATE VIEW {quote(manifest.table)} AS SELECT * FROM read_parquet({text(path)})")
    return Connection(con, Session(files={("memory", "main", manifest.table.casefold()): manifest}))


class Connection:
    """Runs SQL: on releases by reconstruction, on everything else as DuckDB does."""

    def __init__(self, con: duckdb.DuckDBPyConnection, session: Session) -> None:
        self._con = con
        self._session = session

    def execute(self, query: str, parameters: Parameters = None) -> Connection:
        """Run one or several statements; the last one's result can be fetched."""
        for sql, values in self._statements(query, parameters):
            statement = self._understand(sql, values)
            if statement is None:
                continue
            if statement.rewritten is None:
                self._con.execute(sql) if values is None else self._con.execute(sql, values)
                self._after(statement)
            else:
                self._answer(statement, self._con.execute)
        return self

    def executemany(self, query: str, parameters: Sequence[Any]) -> Connection:
        """Run a statement once for each set of parameters; not for queries on releases."""
        statement = self._understand(query, parameters[0] if parameters else None)
        if statement is not None and statement.rewritten is not None:
            raise QueryError("executemany is for statements that change tables; a release is only read.")
        self._con.executemany(query, parameters)
        self._session.forget()
        return self

    def sql(self, query: str, params: Parameters = None) -> duckdb.DuckDBPyRelation | None:
        """Run statements, and give the last one's result as a relation: fetchall(), df(), to_arrow_table(), .."""
        result = None
        for sql, values in self._statements(query, params):
            statement = self._understand(sql, values)
            if statement is None:
                result = None
            elif statement.rewritten is None:
                result = self._con.sql(sql) if values is None else self._con.sql(sql, params=values)
                self._after(statement)
            else:
                result = self._answer(statement, self._con.sql)
        return result

    def explain(self, query: str, parameters: Parameters = None) -> str:
        """What a query will do: columns, cells with their shares, method, and the SQL that runs."""
        parts = []
        for sql, values in self._statements(query, parameters):
            statement = self._understand(sql, values, run=False)
            parts.append("a setting of ppdm_sql" if statement is None else explain_rewritten(statement))
        return "\n\n".join(parts)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return self._con.fetchone()

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows."""
        return self._con.fetchmany(size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._con.fetchall()

    def df(self) -> Any:
        """The result as a pandas frame."""
        return self._con.df()

    def arrow(self) -> pa.Table:
        """The result as an Arrow table."""
        with warnings.catch_warnings():  # DuckDB would rather be asked by sql(..).to_arrow_table()
            warnings.simplefilter("ignore", UserWarning)
            return self._con.to_arrow_table()

    @property
    def description(self) -> list[Any]:
        """Names and types of the result's columns, as DB-API says."""
        return list(self._con.description or [])

    def cursor(self) -> Connection:
        """A second connection to the same database, with settings of its own."""
        return Connection(self._con.cursor(), self._session.copy())

    def close(self) -> None:
        """Close the connection."""
        self._con.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _statements(self, query: str, parameters: Parameters) -> list[tuple[str, Parameters]]:
        """The statements of a text; parameters belong to the last."""
        texts = [statement.query for statement in self._con.extract_statements(query)]
        return [(sql, parameters if i == len(texts) - 1 else None) for i, sql in enumerate(texts)]

    def _understand(self, sql: str, parameters: Parameters, run: bool = True) -> Statement | None:
        """None for a setting of ours, which is made (unless `run` is False)."""
        session = self._session
        if match := SET.fullmatch(sql):
            changed = session.settings.with_setting(match.group(1), match.group(2).strip("'\""))
        elif match := RESET.fullmatch(sql):
            changed = session.settings.reset(match.group(1))
        else:
            return understand(EmbeddedEngine(self._con), session, sql, parameters)
        if run:
            session.settings = changed
        return None

    def _answer(self, statement: Statement, run: Callable[[str], Result]) -> Result:
        """Run what stands in a query's place; what DuckDB finds wrong with it is wrong with the query."""
        assert statement.rewritten is not None
        ppdm_groups = statement.groups  # noqa: F841  # DuckDB finds the table by the name of this variable
        try:
            return run(statement.rewritten)
        except duckdb.Error as error:
            raise QueryError(first_line(error)) from None

    def _after(self, statement: Statement) -> None:
        if not statement.reads_only:
            self._session.forget()
