"""Read a source as often as its mechanisms need: some look at all rows before the first of them is perturbed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import duckdb
import pyarrow as pa

from ppdm_sql.errors import SourceError
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.perturber import Perturber
from ppdm_sql.publishing.perturbing import Perturbation
from ppdm_sql.publishing.safe_read import batches_of, guarded
from ppdm_sql.publishing.sources import Source


def passes_of(perturbers: Sequence[Perturber]) -> int:
    """How often all rows are read before they are perturbed."""
    return max((perturber.passes for perturber in perturbers), default=0)


class Readings:
    """The rows of a query again and again; leave it, for an open result keeps its connection from anything else."""

    def __init__(self, source: Source, query: duckdb.DuckDBPyRelation, layout: Layout) -> None:
        self._source = source
        self._query = query
        self._rows = layout.batch_rows
        self._passes = 0
        self._opened: list[pa.RecordBatchReader] = []
        self._first: pa.RecordBatchReader | None = self._open()
        self.schema = pa.schema(list(self._first.schema)[: len(layout.columns)])

    def __enter__(self) -> Readings:
        return self

    def __exit__(self, *_: object) -> None:
        for reader in self._opened:
            with suppress(Exception):
                reader.close()

    def _open(self) -> pa.RecordBatchReader:
        reader = guarded(self._source.where, lambda: self._query.to_arrow_reader(self._rows))
        self._opened.append(reader)
        return reader

    def check(self, perturbers: Sequence[Perturber]) -> None:
        """Refuse a stream that is over when it has been read once, where it is to be read more often."""
        self._passes = passes_of(perturbers)
        if self._passes and self._source.once:
            raise SourceError(
                f"{self._source.where} can be read once only, and a mechanism of this policy reads it "
                f"{self._passes + 1} times: pass a table, a dataset or a file."
            )

    def look(self, work: Perturbation, done: Callable[[int], object]) -> None:
        """All readings that come before perturbing."""
        for number in range(self._passes):
            work.look(number, self.batches(), done)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The batches of one more reading."""
        reader, self._first = self._first or self._open(), None
        yield from batches_of(self._source.where, reader)
