"""The original and its releases, opened so that they can be read as often as an audit needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import duckdb
import pyarrow as pa

from ppdm_sql.domain.domain import Values
from ppdm_sql.engine.duckdb.release_files import manifest_of
from ppdm_sql.errors import ReleaseError, SourceError
from ppdm_sql.policy import ColumnPolicy, Manifest, Policy, RetainedColumn
from ppdm_sql.publishing.names import nearest
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.sources import open_source
from ppdm_sql.release.stored import Place
from ppdm_sql.syntax.quoting import quote_text

Result = TypeVar("Result")

ROWS_A_BATCH = 65_536
SCANNED = "ppdm_scanned"


@dataclass(frozen=True)
class Original:
    """The publisher's table; `names` maps folded names to those of the table."""

    where: str
    names: Mapping[str, str]
    relation: duckdb.DuckDBPyRelation
    rows: int | None

    def name(self, column: str) -> str:
        """The column's own spelling; SourceError where there is none."""
        found = self.names.get(column.casefold())
        if found is None:
            raise SourceError(
                f"{self.where} has no column {column!r}, which is released: is it the table that was published? "
                f"{nearest(column, self.names.values())}"
            )
        return found

    def read(self, select: str) -> pa.RecordBatchReader:
        """All rows, in order."""
        return guarded(self.where, lambda: self.relation.project(select).to_arrow_reader(ROWS_A_BATCH))

    def ask(self, select: str, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a query on `ppdm_scanned`, which has the selected expressions; DuckDB may use the whole machine."""
        return self.run(select, lambda con: con.execute(sql).fetchall())

    def arrow(self, select: str, sql: str) -> pa.Table:
        """The same, as Arrow."""
        return self.run(select, lambda con: con.sql(sql).to_arrow_table())

    def run(self, select: str, action: Callable[[duckdb.DuckDBPyConnection], Result]) -> Result:
        """Run an action on a connection that has the selected expressions as `ppdm_scanned`, to be read once."""
        with in_memory() as con:
            con.register(SCANNED, self.read(select))
            return guarded(self.where, lambda: action(con))


@dataclass(frozen=True)
class Copy:
    """One released table."""

    path: str
    manifest: Manifest
    cursor: duckdb.DuckDBPyConnection
    table: str

    def read(self, select: str) -> pa.RecordBatchReader:
        """All rows, in order."""
        try:
            return self.cursor.sql(f"SELECT {select} FROM {self.table}").to_arrow_reader(ROWS_A_BATCH)
        except duckdb.Error as error:
            raise ReleaseError(f"{self.path!r} cannot be read ({type(error).__name__}).") from None


@contextmanager
def in_memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that never writes to a disk."""
    with duckdb.connect(":memory:") as con:
        con.execute("SET temp_directory = ''")  # nothing of the original may spill
        con.execute("SET enable_progress_bar = false")
        yield con


@contextmanager
def open_original(source: Any, policy: Policy) -> Iterator[Original]:
    """Whatever can be published."""
    again = source.read_all() if isinstance(source, pa.RecordBatchReader) else source
    with open_source(again, policy) as opened:
        names = {name.casefold(): name for name in opened.names}
        yield Original(opened.where, names, opened.relation, opened.rows)


@contextmanager
def open_copies(releases: Sequence[str], table: str | None) -> Iterator[list[Copy]]:
    """The released tables, in one database and with a cursor each, so that they can be read side by side."""
    found = [(str(path), manifest_of(str(path), table)) for path in releases]
    with in_memory() as con:
        copies = []
        try:
            for i, (path, manifest) in enumerate(found):
                if path.lower().endswith(".parquet"):
                    name = f"read_parquet({quote_text(path)})"
                else:
                    con.execute(f"ATTACH {quote_text(path)} AS ppdm_release_{i} (READ_ONLY)")
                    name = Place(f"ppdm_release_{i}", "main", manifest.table).sql
                copies.append(Copy(path, manifest, con.cursor(), name))
        except duckdb.Error as error:
            raise ReleaseError(f"{path!r} cannot be opened ({type(error).__name__}). Name each release once.") from None
        yield copies
        for copy in copies:
            copy.cursor.close()


def policy_of(manifest: Manifest) -> Policy:
    """As much of the policy as reading the original needs: which columns hold listed values."""
    columns = [
        ColumnPolicy(c.name, c.mechanism, c.domain)
        for c in manifest.perturbed
        if isinstance(c, RetainedColumn) and isinstance(c.domain, Values)
    ]
    return Policy(manifest.table, tuple(columns))
