"""A release as a table of a DuckDB file, beside other releases if it likes, never beside anything else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from ppdm_sql.engines.quoting import quote_name, quote_text
from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.policy.manifest import MANIFEST_TABLE
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.memory import bounded
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.targets import Writer, writing

STORAGE_VERSION = "v1.0.0"
"""The oldest format that DuckDB writes: every client since June 2024 reads it."""


@dataclass(frozen=True)
class Present:
    """What an existing target holds, the manifest's own table left out."""

    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()


class DuckdbWriter(Writer):
    """Writes to a new file, or to a copy of a release that gets one more table."""

    def __init__(self, target: Path, aside: Path, layout: Layout, table: str, *, replace: bool) -> None:
        self._where = f"target {str(target)!r}"
        self._aside = aside
        self._layout = layout
        self._table = table
        present = _present(target, self._where)
        again = [name for name in present.tables if name.casefold() == table.casefold()]
        if again and not replace:
            raise TargetError(
                f"{self._where} has a table {again[0]!r} already. Say replace = True (--replace) to put a new release "
                "in its place, or name another target."
            )
        if table.casefold() in (name.casefold() for name in present.views):
            raise TargetError(f"{self._where} has a view {table!r}: name the table otherwise, or drop the view.")
        others = len(present.tables) + len(present.views) - len(again)
        # What is dropped stays in the file's free blocks, so an old table must not be in what is renamed.
        self._compact = bool(again) and others > 0
        if others:
            writing(self._where, lambda: shutil.copyfile(target, aside))
        self._connection = duckdb.connect()
        self._attach(aside, "release")
        bounded(self._connection, len(layout.columns))
        self._connection.execute("SET temp_directory = ''")

    def types(self, schema: pa.Schema) -> list[str]:
        """As in the source, except that an ENUM has declared labels only."""
        for column in self._layout.columns:
            what = f"column {column.name!r} ({column.type}) cannot be stored so that older clients read it"
            writing(self._where, partial(self._try, column.type), what)
        return [column.type for column in self._layout.columns]

    def write(self, schema: pa.Schema, batches: Batches) -> None:
        """One statement from one stream: DuckDB keeps the rows' order and compresses on all cores."""
        selected = ", ".join(
            f"CAST(c{i} AS {column.type}) AS {quote_name(column.name)}" for i, column in enumerate(self._layout.columns)
        )
        stream = pa.RecordBatchReader.from_batches(schema, batches)
        self._connection.register("ppdm_stream", stream)
        name = f"release.main.{quote_name(self._table)}"
        query = f"CREATE OR REPLACE TABLE {name} AS SELECT {selected} FROM ppdm_stream"
        writing(self._where, lambda: self._connection.execute(query))
        self._connection.unregister("ppdm_stream")

    def finish(self, manifest: Manifest) -> Path:
        """Manifest in, file closed; nothing is left in a log beside it."""
        return writing(self._where, lambda: self._finish(manifest))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _finish(self, manifest: Manifest) -> Path:
        run, kept = self._connection.execute, f"release.main.{MANIFEST_TABLE}"
        run(f"CREATE TABLE IF NOT EXISTS {kept} (table_name VARCHAR, manifest VARCHAR)")
        run(f"DELETE FROM {kept} WHERE lower(table_name) = lower(?)", [manifest.table])
        run(f"INSERT INTO {kept} VALUES (?, ?)", [manifest.table, manifest.to_json()])
        finished = self._aside
        if self._compact:
            finished = self._aside.with_name(self._aside.name + ".compact")
            self._attach(finished, "compacted")
            run("COPY FROM DATABASE release TO compacted")
            run("CHECKPOINT compacted")
            run("DETACH compacted")
        run("CHECKPOINT release")
        run("DETACH release")
        return finished

    def _attach(self, path: Path, name: str) -> None:
        version = f"(STORAGE_VERSION '{STORAGE_VERSION}')"
        query = f"ATTACH {quote_text(str(path))} AS {name} {version}"
        writing(self._where, lambda: self._connection.execute(query))

    def _try(self, kind: str) -> None:
        """A table that never stays: whether the storage knows the type."""
        self._connection.execute("BEGIN")
        try:
            self._connection.execute(f"CREATE TABLE release.main.ppdm_trial (x {kind})")
        finally:
            self._connection.execute("ROLLBACK")


def _present(target: Path, where: str) -> Present:
    """What is at the target; TargetError where that is no release."""
    if not target.exists() or target.stat().st_size == 0:
        return Present()
    if target.with_name(target.name + ".wal").exists():
        raise TargetError(f"{where} is open elsewhere or was not closed: there is a log beside it. Close it first.")
    try:
        with duckdb.connect() as looking:
            looking.execute(f"ATTACH {quote_text(str(target))} AS present (READ_ONLY)")
            found = looking.execute(
                "SELECT table_name, FALSE FROM duckdb_tables() WHERE database_name = 'present' UNION ALL "
                "SELECT view_name, TRUE FROM duckdb_views() WHERE database_name = 'present' AND NOT internal"
            ).fetchall()
            released = _released(looking) if (MANIFEST_TABLE, False) in found else set()
    except duckdb.Error as error:
        reason = type(error).__name__
    else:
        others = [name for name, view in found if not view and name != MANIFEST_TABLE and name.lower() not in released]
        if (found and (MANIFEST_TABLE, False) not in found) or others:
            raise TargetError(
                f"{where} is a database that is not a release: a release must not travel with other data. Name a file "
                "that does not exist yet."
            )
        tables = tuple(name for name, view in found if not view and name != MANIFEST_TABLE)
        return Present(tables, tuple(name for name, view in found if view))
    raise TargetError(f"{where} exists and is no DuckDB file that can be opened ({reason}). Name another file.")


def _released(looking: duckdb.DuckDBPyConnection) -> set[str]:
    """The tables that were published into the file."""
    rows = looking.execute(f"SELECT lower(table_name) FROM present.main.{MANIFEST_TABLE}").fetchall()
    return {name for (name,) in rows}
