"""A release as a Parquet file, with the manifest in its metadata."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.policy.manifest import METADATA_KEY
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.names import quote_path
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.targets import Writer, writing

COMPRESSION = "zstd"
ROWS_A_GROUP = 262_144
"""Rows of a row group: enough for good compression, few enough for readers on many cores."""


class ParquetWriter(Writer):
    """Writes a new file."""

    def __init__(self, target: Path, aside: Path, layout: Layout, table: str, *, replace: bool) -> None:
        self._where = f"target {str(target)!r}"
        self._aside = aside
        self._layout = layout
        self._writer: pq.ParquetWriter | None = None
        if target.exists() and not replace:
            raise TargetError(
                f"{self._where} exists already. Say replace = True (--replace) to put a new release in its place, or "
                "name another target."
            )

    def types(self, schema: pa.Schema) -> list[str]:
        """What DuckDB reads from an empty file of this schema: ENUM comes back as VARCHAR, HUGEINT as DECIMAL(38,0)."""
        trial = self._aside.with_name(self._aside.name + ".trial")

        def look() -> list[str]:
            pq.write_table(self._released(schema).empty_table(), trial)
            with duckdb.connect() as looking:
                return [str(kind) for kind in looking.sql(f"FROM read_parquet({quote_path(trial)})").types]

        return writing(self._where, look, "one of its columns cannot be stored in Parquet")

    def write(self, schema: pa.Schema, batches: Batches) -> None:
        """Batch after batch, under the released names."""
        released = self._released(schema)
        self._writer = writing(self._where, lambda: pq.ParquetWriter(self._aside, released, compression=COMPRESSION))
        for batch in batches:
            writing(self._where, partial(self._write_batch, batch, released))

    def finish(self, manifest: Manifest) -> Path:
        """The number of rows is known now, so the manifest goes in at the end."""
        return writing(self._where, lambda: self._finish(manifest))

    def close(self) -> None:
        """Let go of the file."""
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.close()

    def _finish(self, manifest: Manifest) -> Path:
        assert self._writer is not None
        self._writer.add_key_value_metadata({METADATA_KEY: manifest.to_json()})
        self._writer.close()
        return self._aside

    def _write_batch(self, batch: pa.RecordBatch, released: pa.Schema) -> None:
        assert self._writer is not None
        arrays = [_stored(array, field.type) for array, field in zip(batch.columns, released, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=released), row_group_size=ROWS_A_GROUP)

    def _released(self, schema: pa.Schema) -> pa.Schema:
        columns = zip(self._layout.columns, schema, strict=True)
        return pa.schema([(column.name, pa.uuid() if column.uuid else field.type) for column, field in columns])


def _stored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """UUIDs travel as bytes and are stored as what they are."""
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, array.cast(kind.storage_type))
    return array
