"""What publishing asks of a mechanism: something that changes columns of one batch after the other."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import KeyedRows, NullFound, OutsideDomain, RowError, keyed_rows

from ppdm_sql.errors import SourceError
from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.publishing.column import Column


@dataclass(frozen=True)
class Rows:
    """The rows of a batch: their identities, how many came before them, and what their coins are drawn from."""

    where: str
    table: str
    key: bytes = field(repr=False)
    blocks: npt.NDArray[np.uint64]
    keyed: KeyedRows = field(repr=False)
    before: int = 0
    threads: int | None = None

    @staticmethod
    def of(
        where: str,
        table: str,
        key: bytes,
        blocks: npt.NDArray[np.uint64],
        before: int = 0,
        threads: int | None = None,
    ) -> Rows:
        """Rows by their identities, which are encrypted once for all columns."""
        return Rows(where, table, key, blocks, keyed_rows(blocks, len(blocks), key=key, table=table), before, threads)


class Perturber(ABC):
    """Perturbs one column, or several that belong together.

    `columns` are their places in the release; arrays come and go in this order. A column that the mechanism adds to the
    release (`Publishing.added`) is one of them. With `passes` all rows are read that often before the first of them is
    perturbed, and handed to `look`.
    """

    passes: int = 0

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = tuple(columns)

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:  # noqa: B027 - few mechanisms look
        """Take a batch of reading `number`, counted from 0, into account."""

    def looked(self, number: int) -> None:  # noqa: B027 - few mechanisms look
        """End a reading."""

    @abstractmethod
    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released arrays; SourceError, which never quotes a value, where a row breaks a rule."""

    def check(self, where: str) -> None:  # noqa: B027 - few mechanisms have anything to check
        """What only all rows together tell."""

    def coins(self) -> Mapping[int, str]:
        """By place, what the addresses of the columns' coins say of the mechanism, where it is known by now.

        Two releases of a column are levels of one path where this is the same for both, and independent where not.
        """
        return {}

    def kinds(self) -> Mapping[int, pa.DataType]:
        """The Arrow types of the columns that are released in another one than they come in, by their place."""
        return {}

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The columns whose public parameters were found while reading, by their place."""
        return {}


class SingleColumn(Perturber):
    """Perturbs one column value by value, so that a view can do it too."""

    def __init__(self, place: int, name: str) -> None:
        super().__init__((place,))
        self.name = name

    @abstractmethod
    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """The released values; RowError where a row breaks a rule."""

    @abstractmethod
    def remedy(self) -> str:
        """What a publisher can do about values outside of the domain."""

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released array; a row that breaks a rule is named by its place."""
        try:
            return [self.values(arrays[0], rows)]
        except RowError as error:
            found = error
        # Outside of the handler: an exception remembers the one it was raised in.
        raise SourceError(self.refused(rows, found))

    def refused(self, rows: Rows, error: RowError) -> str:
        """Which rule rows break, where the first one is, what to do; never a value."""
        return refused(rows, self.name, error, self.remedy())


Perturbers: TypeAlias = Callable[[Sequence[Column], Sequence[pa.DataType], Sequence[int]], list[Perturber]]
"""From all columns of a release, the Arrow types they travel in, and the places of a mechanism's own columns."""


def one_each(make: Callable[[int, PerturbedColumn, pa.DataType], Perturber]) -> Perturbers:
    """Perturbers of single columns that have nothing to do with each other."""

    def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
        found = []
        for place in mine:
            column = columns[place].perturbed
            assert column is not None
            found.append(make(place, column, kinds[place]))
        return found

    return perturbers


@dataclass(frozen=True)
class Publishing:
    """How a mechanism publishes; `added` gives further public columns that its perturbers fill.

    With `row_by_row` its perturbers are `SingleColumn`s that look at no other row, so that a view can use them.
    """

    perturbers: Perturbers
    added: Callable[[Sequence[PerturbedColumn]], list[Column]] = lambda columns: []
    row_by_row: bool = False


def released_schema(schema: pa.Schema, perturbers: Sequence[Perturber]) -> pa.Schema:
    """The schema of what is written, from that of what is read."""
    changed = {place: kind for perturber in perturbers for place, kind in perturber.kinds().items()}
    return pa.schema([field.with_type(changed.get(i, field.type)) for i, field in enumerate(schema)])


def refused(rows: Rows, name: str, error: RowError, remedy: str) -> str:
    """Which rule rows break, where the first one is, what to do; never a value."""
    place = f"row {rows.before + error.offset + 1:,} is the first of at least {error.count:,}"
    if isinstance(error, NullFound):
        return (
            f'{rows.where}: column {name!r} is NULL where nulls = "error" allows none; {place}. Say nulls = "value" '
            '(NULL is perturbed like a value) or "keep" (which rows are NULL stays visible).'
        )
    assert isinstance(error, OutsideDomain)
    return f"{rows.where}: column {name!r} has values outside its declared domain; {place}. Correct them, or {remedy}."
