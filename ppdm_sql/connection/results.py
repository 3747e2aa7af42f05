"""Fetching the result of the last statement, in every form."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, TypeVar

import duckdb
import pyarrow as pa

from ppdm_sql.connection.dbapi import as_dbapi
from ppdm_sql.engine.duckdb.limits import Clock, Quota
from ppdm_sql.errors import LimitExceeded

Given = ParamSpec("Given")
Fetched = TypeVar("Fetched")
Fetch = Callable[Concatenate["Results", Given], Fetched]


def limited(fetch: Fetch[Given, Fetched]) -> Fetch[Given, Fetched]:
    """Fetch within the limits of the connection; where they are exceeded, no result is left."""

    @functools.wraps(fetch)
    def call(self: Results, /, *args: Given.args, **kwargs: Given.kwargs) -> Fetched:
        if not (self._clock.limited or self._quota.limited):
            return fetch(self, *args, **kwargs)
        with as_dbapi():
            try:
                return self._clock.run(functools.partial(fetch, self, *args, **kwargs))
            except LimitExceeded:
                self._con.execute("")
                raise

    return call


class Results:
    """The part of a connection, or cursor, that reads what the last `execute` left; DuckDB's own results.

    Where rows are limited, `execute` has asked for one more than there may be.
    """

    arraysize = 1
    """How many rows `fetchmany` gives when it is not told."""

    _con: duckdb.DuckDBPyConnection
    _clock: Clock
    _quota: Quota

    @limited
    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        row = self._con.fetchone()
        self._quota.take(0 if row is None else 1)
        return row

    @limited
    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, as many as `arraysize` says where no size is given."""
        rows = self._con.fetchmany(self._quota.most(self.arraysize if size is None else size))
        self._quota.take(len(rows))
        return rows

    @limited
    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        rows = self._con.fetchall()
        self._quota.take(len(rows))
        return rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    @limited
    def fetchnumpy(self) -> dict[str, Any]:
        """The rows that are left, as one numpy array a column."""
        columns = self._con.fetchnumpy()
        self._quota.take(max(map(len, columns.values()), default=0))
        return columns

    @limited
    def df(self, *, date_as_object: bool = False) -> Any:
        """The rows that are left, as a pandas frame."""
        frame = self._con.df(date_as_object=date_as_object)
        self._quota.take(0 if frame is None else len(frame))
        return frame

    fetchdf = fetch_df = df

    @limited
    def fetch_df_chunk(self, vectors_per_chunk: int = 1, *, date_as_object: bool = False) -> Any:
        """The next rows, as a pandas frame: 2,048 for each vector."""
        chunk = self._con.fetch_df_chunk(vectors_per_chunk, date_as_object=date_as_object)
        self._quota.take(len(chunk))
        return chunk

    @limited
    def to_arrow_table(self, batch_size: int | None = None) -> pa.Table:
        """The rows that are left, as an Arrow table."""
        with _without_advice():
            table = self._con.to_arrow_table(*_given(batch_size))
        self._quota.take(0 if table is None else table.num_rows)
        return table

    arrow = fetch_arrow_table = to_arrow_table

    def to_arrow_reader(self, batch_size: int | None = None) -> pa.RecordBatchReader:
        """The rows that are left, as a reader of Arrow batches."""
        reader = self._opened(batch_size)
        if reader is None or not (self._clock.limited or self._quota.limited):
            return reader
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reader))

    @limited
    def _opened(self, batch_size: int | None) -> pa.RecordBatchReader:
        with _without_advice():
            return self._con.to_arrow_reader(*_given(batch_size))

    def _batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        while (batch := self._next_batch(reader)) is not None:
            yield batch

    @limited
    def _next_batch(self, reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
        batch = next(reader, None)
        self._quota.take(0 if batch is None else batch.num_rows)
        return batch

    fetch_record_batch = to_arrow_reader

    def pl(self) -> Any:
        """The rows that are left, as a polars frame."""
        return polars_frame(self.to_arrow_table())

    @property
    def description(self) -> list[Any] | None:
        """Names and types of the result's columns, as DB-API says; None where the last statement has no result."""
        return self._con.description

    @property
    def rowcount(self) -> int:
        """How many rows the last statement changed, -1 where it only read."""
        return self._con.rowcount

    def setinputsizes(self, sizes: Any) -> None:
        """Nothing: DB-API asks for the name, and DuckDB needs no hint."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Nothing: DB-API asks for the name, and DuckDB needs no hint."""


def polars_frame(table: pa.Table | None) -> Any:
    """An Arrow table as a polars frame; polars is not needed for anything else."""
    try:
        polars = importlib.import_module("polars")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "pl() gives a polars frame, and polars is not installed. Install it, or use df() or arrow().", name="polars"
        ) from None
    return None if table is None else polars.from_arrow(table)


def _given(batch_size: int | None) -> tuple[int, ...]:
    return () if batch_size is None else (batch_size,)


@contextmanager
def _without_advice() -> Iterator[None]:
    """DuckDB would rather be asked by sql(..).to_arrow_table(), and warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
