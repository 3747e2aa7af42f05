"""A DuckDB file as its writer holds it; what its tables are called and mean is the owner's to say."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from ppdm_sql.publishing.memory import SORTING, bounded
from ppdm_sql.publishing.writer.ordering import STREAM, released_rows
from ppdm_sql.publishing.writing import writing
from ppdm_sql.syntax.quoting import quote_text

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
        self._copied = copied
        self._connection = duckdb.connect()
        self._begin()
        bounded(self._connection, len(columns), SORTING)
        spill = self._aside.with_name(self._aside.name + ".spill")  # perturbed rows that wait to be sorted
        self._connection.execute(f"SET temp_directory = {quote_text(str(spill))}")

    def types(self, schema: pa.Schema) -> list[str]:
        """As in the source; an error where the storage does not know one."""
        for name, kind in self._columns:
            what = f"column {name!r} ({kind}) cannot be stored so that older clients read it"
            writing(self._where, partial(self._try, kind), what)
        return [kind for _, kind in self._columns]

    def write(self, stream: pa.RecordBatchReader, name: str, order: Sequence[str], before: Sequence[str] = ()) -> None:
        """One statement from one stream: DuckDB compresses on all cores."""
        self._create(stream, name, order, before)

    def write_rest(
        self, stream: pa.RecordBatchReader, name: str, order: Sequence[str], before: Sequence[str] = ()
    ) -> None:
        """Sort what was written with what comes now.

        That makes a new file: the order in which rows came must not be left in free blocks of this one.
        """
        earlier = self._begin_again() + name[name.index(".") :]
        self._create(stream, name, order, before, earlier)

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

    def _create(
        self,
        stream: pa.RecordBatchReader,
        name: str,
        order: Sequence[str],
        before: Sequence[str],
        further: str | None = None,
    ) -> None:
        query = f"CREATE OR REPLACE TABLE {name} AS {released_rows(self._columns, order, further)}"
        self._connection.register(STREAM, stream)
        for statement in (*before, query):
            writing(self._where, partial(self._connection.execute, statement))
        self._connection.unregister(STREAM)

    def _begin(self) -> None:
        copied = self._copied
        if copied is not None:
            writing(self._where, lambda: shutil.copyfile(copied, self._aside))
        self._attach(self._aside, DATABASE)

    def _begin_again(self) -> str:
        """A new file; what is in the old one can be read under the name that is returned."""
        earlier = self._aside.with_name(self._aside.name + ".earlier")
        for statement in (f"CHECKPOINT {DATABASE}", f"DETACH {DATABASE}"):
            writing(self._where, partial(self._connection.execute, statement))
        writing(self._where, lambda: self._aside.replace(earlier))
        self._begin()
        self._attach(earlier, "earlier")
        return "earlier"

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
