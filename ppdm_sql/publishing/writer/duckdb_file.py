"""A DuckDB file as its writer holds it; what its tables are called and mean is the owner's to say."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from ppdm_sql.engines.quoting import quote_name, quote_text
from ppdm_sql.publishing.memory import bounded
from ppdm_sql.publishing.writing import writing

STORAGE_VERSION = "v1.0.0"
"""The oldest format that DuckDB writes: every client since June 2024 reads it."""
DATABASE = "release"
"""What statements of the owner call the file."""


class DuckdbFile:
    """A new file, or a copy of a release that gets one more table."""

    def __init__(self, where: str, aside: str, columns: Sequence[tuple[str, str]], copied: str | None) -> None:
        self._where = where
        self._aside = Path(aside)
        self._columns = columns
        if copied is not None:
            writing(where, lambda: shutil.copyfile(copied, aside))
        self._connection = duckdb.connect()
        self._attach(self._aside, DATABASE)
        bounded(self._connection, len(columns))
        self._connection.execute("SET temp_directory = ''")

    def types(self, schema: pa.Schema) -> list[str]:
        """As in the source; an error where the storage does not know one."""
        for name, kind in self._columns:
            what = f"column {name!r} ({kind}) cannot be stored so that older clients read it"
            writing(self._where, partial(self._try, kind), what)
        return [kind for _, kind in self._columns]

    def write(self, stream: pa.RecordBatchReader, name: str, before: Sequence[str] = ()) -> None:
        """One statement from one stream: DuckDB keeps the rows' order and compresses on all cores."""
        selected = ", ".join(
            f"CAST(c{i} AS {kind}) AS {quote_name(column)}" for i, (column, kind) in enumerate(self._columns)
        )
        self._connection.register("ppdm_stream", stream)
        query = f"CREATE OR REPLACE TABLE {name} AS SELECT {selected} FROM ppdm_stream"
        for statement in (*before, query):
            writing(self._where, partial(self._connection.execute, statement))
        self._connection.unregister("ppdm_stream")

    def finish(self, statements: Sequence[str], compact: bool) -> Path:
        """What is to be said of the rows is stored; the file is closed, and nothing is left in a log beside it."""
        return writing(self._where, lambda: self._finish(statements, compact))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _finish(self, statements: Sequence[str], compact: bool) -> Path:
        run = self._connection.execute
        for statement in statements:
            run(statement)
        finished = self._aside
        if compact:
            finished = self._aside.with_name(self._aside.name + ".compact")
            self._attach(finished, "compacted")
            run(f"COPY FROM DATABASE {DATABASE} TO compacted")
            run("CHECKPOINT compacted")
            run("DETACH compacted")
        run(f"CHECKPOINT {DATABASE}")
        run(f"DETACH {DATABASE}")
        return finished

    def _attach(self, path: Path, name: str) -> None:
        version = f"(STORAGE_VERSION '{STORAGE_VERSION}')"
        query = f"ATTACH {quote_text(str(path))} AS {name} {version}"
        writing(self._where, lambda: self._connection.execute(query))

    def _try(self, kind: str) -> None:
        """A table that never stays: whether the storage knows the type."""
        self._connection.execute("BEGIN")
        try:
            self._connection.execute(f"CREATE TABLE {DATABASE}.main.ppdm_trial (x {kind})")
        finally:
            self._connection.execute("ROLLBACK")
