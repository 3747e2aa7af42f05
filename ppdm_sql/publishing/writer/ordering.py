"""Rows in their order: as they come while they keep to it, else sorted by DuckDB, which may spill them to a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.engines.quoting import quote_name

STREAM = "ppdm_stream"
"""What statements call the rows that arrive."""
HASH = "o"
"""What the column with the keyed hash is called there."""


def released_rows(columns: Sequence[tuple[str, str]], order: Sequence[str], further: str | None = None) -> str:
    """The query that gives arriving rows, and those of a `further` table, their names, types and order.

    `columns` are names and types, c0, c1, .. on their way, as `order` calls them too.
    """
    names = [quote_name(name) for name, _ in columns]
    casts = ", ".join(f"CAST(c{i} AS {kind}) AS c{i}" for i, (_, kind) in enumerate(columns))
    more = ", ".join(each for each in order if each == HASH)
    rows = f"SELECT {casts}{', ' if more else ''}{more} FROM {STREAM}"
    if further is not None:
        rows += f" UNION ALL SELECT {', '.join(names)} FROM {further}"
    released = ", ".join(f"c{i} AS {name}" for i, name in enumerate(names))
    if not order:
        return f"SELECT {released} FROM ({rows})"
    return f"SELECT {released} FROM ({rows}) AS arrived ORDER BY {', '.join(f'arrived.{each}' for each in order)}"


class InOrder:
    """The batches of a stream up to the first row that is out of order; `rest` has the others, None where none is."""

    def __init__(self, stream: pa.RecordBatchReader, order: Sequence[str]) -> None:
        self.rest: Iterator[pa.RecordBatch] | None = None
        self.schema = stream.schema
        self._stream = stream
        self._order = order
        self._last: pa.RecordBatch | None = None

    def reader(self) -> pa.RecordBatchReader:
        """The batches that are in order."""
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._stream:
            if not self._continues(batch):
                self.rest = _again(batch, self._stream)
                return
            yield batch

    def _continues(self, batch: pa.RecordBatch) -> bool:
        keys = [batch.column(name) for name in self._order]
        ends = batch.select(self._order)
        seam = self._last is None or _ascending(
            [pa.concat_arrays([last, key[:1]]) for last, key in zip(self._last.columns, keys, strict=True)]
        )
        self._last = ends.slice(ends.num_rows - 1)
        return seam and _ascending(keys)


def comparable(schema: pa.Schema, order: Sequence[str]) -> bool:
    """Whether rows may come in this order: hashes never do, and of some types Arrow and DuckDB have different ones."""
    kinds = pa.types
    tests = (kinds.is_integer, kinds.is_string, kinds.is_large_string, kinds.is_date, kinds.is_timestamp)
    return HASH not in order and all(any(test(schema.field(name).type) for test in tests) for name in order)


def _again(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others


def _ascending(keys: Sequence[pa.Array]) -> bool:
    """Whether no row comes before the one above it, by the first key that tells them apart; NULL is out of order."""
    above, below = [key[:-1] for key in keys], [key[1:] for key in keys]
    result = pc.less_equal(above[-1], below[-1])
    for upper, lower in zip(above[-2::-1], below[-2::-1], strict=True):
        result = pc.or_(pc.less(upper, lower), pc.and_(pc.equal(upper, lower), result))
    return not any(key.null_count for key in keys) and pc.all(result).as_py() is not False
