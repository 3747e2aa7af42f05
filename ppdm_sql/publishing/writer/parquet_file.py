"""A Parquet file as its writer holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ppdm_sql.publishing.memory import SORTING, bounded
from ppdm_sql.publishing.names import quote_path
from ppdm_sql.publishing.pipeline import Batches, ahead
from ppdm_sql.publishing.writer.ordering import STREAM
from ppdm_sql.publishing.writing import writing
from ppdm_sql.release.seal import RELEASE_KEY, seal
from ppdm_sql.syntax.quoting import quote_text

ROWS_A_GROUP = 262_144
"""Rows of a row group: enough for good compression, few enough for readers on many cores."""
ROWS_A_NUMBER = 8
"""A dictionary of numbers is worth its time where each is seen at least so often; it is half of what writing costs."""


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

    def write(self, stream: pa.RecordBatchReader, order: Sequence[str]) -> None:
        """Batch after batch, under the released names."""
        if order:
            self._write_sorted(stream, order)
        else:
            self._write(stream.schema, iter(stream))

    def write_rest(self, stream: pa.RecordBatchReader, order: Sequence[str]) -> None:
        """Sort what was written with what comes now, into a new file."""
        self.close()
        earlier = self._aside.with_name(self._aside.name + ".earlier")
        writing(self._where, lambda: self._aside.replace(earlier))
        batches = chain(_read_again(earlier, stream.schema), stream)
        self._write_sorted(pa.RecordBatchReader.from_batches(stream.schema, batches), order)

    def finish(self, metadata: Mapping[str, str]) -> Path:
        """The number of rows is known now, so what is to be said of them goes in at the end."""
        return writing(self._where, lambda: self._finish(metadata))

    def close(self) -> None:
        """Let go of the file."""
        if self._writer is not None:
            with suppress(OSError, pa.ArrowException):
                self._writer.close()

    def _write(self, schema: pa.Schema, batches: Batches) -> None:
        released = self._released(schema)
        first = next(batches, None)
        options = {
            "compression": self._compression,
            "write_page_checksum": True,
            "use_dictionary": _with_dictionary(released, first),
        }
        self._writer = writing(self._where, lambda: pq.ParquetWriter(self._aside, released, **options))
        for batch in chain([] if first is None else [first], batches):
            writing(self._where, partial(self._write_batch, batch, released))

    def _write_sorted(self, stream: pa.RecordBatchReader, order: Sequence[str]) -> None:
        columns = [f"c{i}" for i in range(len(self._names))]
        schema = pa.schema([stream.schema.field(name) for name in columns])
        spill = self._aside.with_name(self._aside.name + ".spill")  # perturbed rows that wait to be sorted
        with duckdb.connect() as sorting:
            bounded(sorting, len(columns), SORTING)
            sorting.execute(f"SET temp_directory = {quote_text(str(spill))}")
            sorting.register(STREAM, stream)
            query = f"SELECT {', '.join(columns)} FROM {STREAM} ORDER BY {', '.join(order)}"
            rows = writing(self._where, lambda: sorting.sql(query).to_arrow_reader(ROWS_A_GROUP))
            with ahead(batch.cast(schema) for batch in rows) as batches:
                self._write(schema, batches)

    def _finish(self, metadata: Mapping[str, str]) -> Path:
        assert self._writer is not None
        self._writer.add_key_value_metadata(dict(metadata))
        self._writer.close()
        seal(self._aside)
        return self._aside

    def _write_batch(self, batch: pa.RecordBatch, released: pa.Schema) -> None:
        assert self._writer is not None
        arrays = [_stored(array, field.type) for array, field in zip(batch.columns, released, strict=True)]
        self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=released), row_group_size=ROWS_A_GROUP)

    def _released(self, schema: pa.Schema) -> pa.Schema:
        kinds = (pa.uuid() if i in self._uuids else field.type for i, field in enumerate(schema))
        return pa.schema(list(zip(self._names, kinds, strict=True)), {RELEASE_KEY: "perturbed by ppdm_sql"})


def _with_dictionary(schema: pa.Schema, first: pa.RecordBatch | None) -> list[str]:
    """The paths of the columns that a dictionary makes smaller: all but numbers that seldom occur twice.

    Whether they do is read off the first rows of the release.
    """
    empty = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), empty)
    leaves: Any = pq.ParquetFile(pa.BufferReader(empty.getvalue())).schema
    arrays = [] if first is None else first.columns
    seldom = {field.name for field, array in zip(schema, arrays, strict=False) if _differ(array)}
    return [path for i in range(len(leaves)) if (path := leaves.column(i).path) not in seldom]


def _differ(array: pa.Array) -> bool:
    kind = array.type
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return numbers and not pa.types.is_interval(kind) and ROWS_A_NUMBER * pc.count_distinct(array).as_py() > len(array)


def _read_again(path: Path, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows of a file of ours as they arrived."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(ROWS_A_GROUP):
            arrays = [a.storage if isinstance(a, pa.ExtensionArray) else a for a in batch.columns]
            yield pa.RecordBatch.from_arrays(arrays, names=schema.names).cast(schema)


def _stored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """UUIDs travel as bytes and are stored as what they are."""
    if isinstance(kind, pa.UuidType):
        return pa.ExtensionArray.from_storage(kind, array.cast(kind.storage_type))
    return array
