"""Rows that come in the order in which they are released need not be sorted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.writer.ordering import HASH


class InOrder:
    """Batches up to the first row that is out of order; `rest` has the others, None where there are none."""

    def __init__(self, batches: Batches, order: Sequence[str]) -> None:
        self.rest: Batches | None = None
        self._batches = batches
        self._order = order
        self._last: pa.RecordBatch | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if batch.num_rows and not self._continues(batch):
                self.rest = chain([batch], self._batches)
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


def _ascending(keys: Sequence[pa.Array]) -> bool:
    """Whether no row comes before the one above it, by the first key that tells them apart; NULL is out of order."""
    above, below = [key[:-1] for key in keys], [key[1:] for key in keys]
    result = pc.less_equal(above[-1], below[-1])
    for upper, lower in zip(above[-2::-1], below[-2::-1], strict=True):
        result = pc.or_(pc.less(upper, lower), pc.and_(pc.equal(upper, lower), result))
    return not any(key.null_count for key in keys) and pc.all(result).as_py() is not False
