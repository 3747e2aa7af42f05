"""A release as a table of a DuckDB file, beside other releases if it likes, never beside anything else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from ppdm_sql.errors import ReleaseError, TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.stored_answers import View, answers_to, dropping, warn_of_dropped
from ppdm_sql.publishing.targets import Writer
from ppdm_sql.publishing.writer.duckdb_file import DATABASE
from ppdm_sql.publishing.writer.process import WriterProcess
from ppdm_sql.release.stored import Place, stored_manifests
from ppdm_sql.syntax.quoting import quote_text

# fmt: off
_STORED = frozenset({
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
    "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "BLOB", "DATE", "TIME", "TIMESTAMP", "UUID", "ENUM",
})
# fmt: on
"""Types that every storage version knows."""


@dataclass(frozen=True)
class Present:
    """What an existing target holds; `answers` are the views of answers to the release that gives way."""

    tables: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    answers: tuple[View, ...] = ()


class DuckdbWriter(Writer):
    """Writes to a new file, or to a copy of a release that gets one more table."""

    def __init__(
        self, process: WriterProcess, target: Path, aside: Path, layout: Layout, table: str, *, replace: bool
    ) -> None:
        self._where = f"target {str(target)!r}"
        self._place = Place(DATABASE, "main", table)
        present = _present(target, self._where, table)
        again = [name for name in present.tables if name.casefold() == table.casefold()]
        if again and not replace:
            raise TargetError(
                f"{self._where} has a table {again[0]!r} already. Say replace = True (--replace) to put a new release "
                "in its place, or name another target."
            )
        if table.casefold() in (name.casefold() for name in present.views):
            raise TargetError(f"{self._where} has a view {table!r}: name the table otherwise, or drop the view.")
        self._answers = present.answers if again else ()
        others = len(present.tables) + len(present.views) - len(again)
        # What is dropped stays in the file's free blocks, so an old table must not be in what is renamed.
        self._compact = bool(again) and others > 0
        self.keeps = others > 0
        self._order = layout.order.sent_names
        columns = [(column.name, column.type) for column in layout.columns]
        self._types = [column.type for column in layout.columns]
        copied = str(target) if others else None
        self._process = process
        process.open("duckdb", aside=str(aside), columns=columns, copied=copied)

    def types(self, schema: pa.Schema) -> list[str]:
        """As in the source, except that an ENUM has declared labels only.

        Only types that the storage may not know are tried: the process that tries them has to start first.
        """
        if all(kind.partition("(")[0] in _STORED for kind in self._types):
            return self._types
        return [str(kind) for kind in self._process.ask("types", schema=schema.serialize().to_pybytes().hex())]

    def write(self, schema: pa.Schema, batches: Batches) -> None:
        """Hand all rows over."""
        before = [f"CREATE SCHEMA IF NOT EXISTS {self._place.schema_sql}"]
        self._process.send_rows(schema, batches, name=self._place.sql, order=self._order, before=before)

    def finish(self, manifest: Manifest) -> Path:
        """Manifest in, file closed; nothing is left in a log beside it."""
        statements = [*dropping(DATABASE, self._answers), *self._place.described(manifest)]
        warn_of_dropped(self._where, self._place.name, self._answers)
        return Path(self._process.ask("finish", statements=statements, compact=self._compact))

    def abandon(self) -> None:
        """Stop at once."""
        self._process.kill()

    def close(self) -> None:
        """Let go of the file."""
        self._process.close()


def _present(target: Path, where: str, table: str) -> Present:
    """What is at the target; TargetError where that is no release."""
    if not target.exists() or target.stat().st_size == 0:
        return Present()
    if target.with_name(target.name + ".wal").exists():
        raise TargetError(f"{where} is open elsewhere or was not closed: there is a log beside it. Close it first.")
    try:
        with duckdb.connect() as looking:
            looking.execute(f"ATTACH {quote_text(str(target))} AS present (READ_ONLY)")
            found = looking.execute(
                "SELECT schema_name, table_name, FALSE FROM duckdb_tables() WHERE database_name = 'present' UNION ALL "
                "SELECT schema_name, view_name, TRUE FROM duckdb_views() "
                "WHERE database_name = 'present' AND NOT internal"
            ).fetchall()
            answers = tuple(answers_to(looking, "present", table))
            released = {(place.stored_schema, place.name.casefold()) for place, _ in stored_manifests(looking)}
    except ReleaseError as error:
        raise TargetError(f"{where}: {error} Name a file that does not exist yet.") from None
    except duckdb.Error as error:
        reason = type(error).__name__
    else:
        tables = [(schema, name) for schema, name, view in found if not view]
        others = [name for schema, name in tables if (schema, name.casefold()) not in released]
        if (found and not released) or others:
            raise TargetError(
                f"{where} is a database that is not a release: a release must not travel with other data. Name a file "
                "that does not exist yet."
            )
        return Present(tuple(name for _, name in tables), tuple(name for _, name, view in found if view), answers)
    raise TargetError(f"{where} exists and is no DuckDB file that can be opened ({reason}). Name another file.")
