"""Fetching the result of the last statement, in every form."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa


class Results:
    """The part of a connection, or cursor, that reads what the last `execute` left; DuckDB's own results."""

    arraysize = 1
    """How many rows `fetchmany` gives when it is not told."""

    _con: duckdb.DuckDBPyConnection

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row."""
        return self._con.fetchone()

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, as many as `arraysize` says where no size is given."""
        return self._con.fetchmany(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows that are left."""
        return self._con.fetchall()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while (row := self.fetchone()) is not None:
            yield row

    def fetchnumpy(self) -> dict[str, Any]:
        """The rows that are left, as one numpy array a column."""
        return self._con.fetchnumpy()

    def df(self, *, date_as_object: bool = False) -> Any:
        """The rows that are left, as a pandas frame."""
        return self._con.df(date_as_object=date_as_object)

    fetchdf = fetch_df = df

    def fetch_df_chunk(self, vectors_per_chunk: int = 1, *, date_as_object: bool = False) -> Any:
        """The next rows, as a pandas frame: 2,048 for each vector."""
        return self._con.fetch_df_chunk(vectors_per_chunk, date_as_object=date_as_object)

    def to_arrow_table(self, batch_size: int | None = None) -> pa.Table:
        """The rows that are left, as an Arrow table."""
        with _without_advice():
            return self._con.to_arrow_table(*_given(batch_size))

    arrow = fetch_arrow_table = to_arrow_table

    def to_arrow_reader(self, batch_size: int | None = None) -> pa.RecordBatchReader:
        """The rows that are left, as a reader of Arrow batches."""
        with _without_advice():
            return self._con.to_arrow_reader(*_given(batch_size))

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
