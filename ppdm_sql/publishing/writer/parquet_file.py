"""A Parquet file as its writer holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ppdm_sql.publishing.names import quote_path
from ppdm_sql.publishing.writing import writing

ROWS_A_GROUP = 262_144
"""Rows of a row group: enough for good compression, few enough for readers on many cores."""


class ParquetFile:
    """A new file; `uuids` are the places of columns whose bytes stand for UUIDs."""

    def __init__(self, where: str, aside: str, names: Sequence[str], uuids: Sequence[int], compression: str) -> None:
        self._where = where
        self._aside = Path(aside)
        self._names = names
        self._uuids = uuids
        self._compression = compression
        self._writer: pq.ParquetWriter | None = None

    def types(self, schema: pa.Schema) -> list[str]:
        """What DuckDB reads from an empty file of this schema: ENUM comes back as VARCHAR, HUGEINT as DECIMAL(38,0)."""
        trial = self._aside.with_name(self._aside.name + ".trial")

        def look() -> list[str]:
            pq.write_table(self._released(schema).empty_table(), trial)
            with duckdb.connect() as looking:
                return [str(kind) for kind in looking.sql(f"FROM read_parquet({quote_path(trial)})").types]

        return writing(self._where, look, "one of its columns cannot be stored in Parquet")

    def write(self, stream: pa.RecordBatchReader) -> None:
        """Batch after batch, under the released names."""
        released = self._released(stream.schema)
        options = {"compression": self._compression}
        self._writer = writing(self._where, lambda: pq.ParquetWriter(self._aside, released, **options))
        for batch in stream:
            writing(self._where, partial(self._write_batch, batch, released))

    def finish(self, metadata: Mapping[str, str]) -> Path:
        """The number of rows is known now, so what is to be said of them goes in at the end."""
        return writing(self._where, lambda: self._finish(metadata))

    def close(self) -> None:
        """Let go of the file."""
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.close()

    def _finish(self, metadata: Mapping[str, str]) -> Path:
        assert self._writer is not None
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()
        return self._aside

    def _write_batch(self, batch: pa.RecordBatch, released: pa.Schema) -> None:
        assert self._writer is not None
        arrays = [_stored(array, field.type) for array, field in zip(batch.columns, released, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=released), row_group_size=ROWS_A_GROUP)

    def _released(self, schema: pa.Schema) -> pa.Schema:
        kinds = (pa.uuid() if i in self._uuids else field.type for i, field in enumerate(schema))
        return pa.schema(list(zip(self._names, kinds, strict=True)))


def _stored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """UUIDs travel as bytes and are stored as what they are."""
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, array.cast(kind.storage_type))
    return array
