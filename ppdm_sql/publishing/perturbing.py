"""Perturb one batch after the other, and keep what the checks over all rows need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import KernelError, RowError, position_blocks, row_blocks

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.ordering import hashes
from ppdm_sql.publishing.perturber import Perturber, Rows
from ppdm_sql.publishing.source_order import SourceOrder
from ppdm_sql.publishing.unique import Identities
from ppdm_sql.publishing.writer.ordering import HASH


class Perturbation:
    """The state of a publication between two batches: how many rows there were, and which identities."""

    def __init__(
        self,
        where: str,
        layout: Layout,
        perturbers: Sequence[Perturber],
        key: bytes,
        table: str,
        directory: Path,
    ) -> None:
        self.rows = 0
        self._read = layout.rows
        self._where = where
        self._layout = layout
        self._perturbers = perturbers
        self._key = key
        self._table = table
        self._identities = Identities(directory)
        hidden = {i: column.name for i, column in enumerate(layout.columns) if column.perturbed is not None}
        watched = layout.order.as_in_source and not layout.order.trial
        self._source_order = SourceOrder(list(hidden.values()), list(hidden)) if watched else None

    def __enter__(self) -> Perturbation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._identities.close()

    def look(self, number: int, batches: Iterable[pa.RecordBatch], done: Callable[[int], object]) -> None:
        """One of the readings that come before perturbing, for the mechanisms that need it."""
        looking = [perturber for perturber in self._perturbers if number < perturber.passes]
        rows = 0
        for batch in batches:
            known = self._rows(batch, rows)
            for perturber in looking:
                perturber.look(number, [batch.column(i) for i in perturber.columns], known)
            rows += batch.num_rows
            done(batch.num_rows)
        for perturber in looking:
            perturber.looked(number)
        self._check_rows(rows)

    def perturb(self, batch: pa.RecordBatch, done: Callable[[int], object]) -> pa.RecordBatch:
        """The released columns of a batch, and the keyed hash where rows are ordered by it."""
        count = len(self._layout.columns)
        rows = self._rows(batch, self.rows)
        if self._layout.identity:
            self._identities.add(rows.blocks)
        if self._source_order is not None:
            self._source_order.add(batch, self.rows)
        arrays = list(batch.columns[:count])
        for perturber in self._perturbers:
            changed = perturber.perturb([batch.column(i) for i in perturber.columns], rows)
            for i, array in zip(perturber.columns, changed, strict=True):
                arrays[i] = array
        self.rows += batch.num_rows
        done(batch.num_rows)
        names = batch.schema.names[:count]
        if self._layout.order.keyed:
            arrays.append(hashes(rows.blocks, self._key, self._table))
            names.append(HASH)
        return pa.RecordBatch.from_arrays(arrays, names=names)

    def check(self) -> None:
        """What only all rows together tell."""
        self._check_rows(self.rows)
        self._identities.check(self._where)
        if self._source_order is not None:
            self._source_order.check(self._where)
        for perturber in self._perturbers:
            perturber.check(self._where)

    def layout(self) -> Layout:
        """The columns with what was found out about them while reading."""
        found = {place: column for perturber in self._perturbers for place, column in perturber.released().items()}
        columns = (replace(c, perturbed=found.get(i, c.perturbed)) for i, c in enumerate(self._layout.columns))
        return replace(self._layout, columns=tuple(columns))

    def coins(self) -> dict[str, str]:
        """By column, what the addresses of its coins say of its mechanism."""
        found = {place: words for perturber in self._perturbers for place, words in perturber.coins().items()}
        return {self._layout.columns[place].name: words for place, words in found.items()}

    def _check_rows(self, rows: int) -> None:
        if self._read is not None and self._read != rows:
            raise SourceError(
                f"{self._where} had {self._read:,} rows when it was first read, and then {rows:,}: what this policy "
                "says makes it be read more than once. Pass a table or a file, not a stream, and keep it as it is."
            )
        self._read = rows

    def _rows(self, batch: pa.RecordBatch, before: int) -> Rows:
        blocks = self._blocks(batch.columns[len(self._layout.columns) :], before, batch.num_rows)
        return Rows.of(self._where, self._table, self._key, blocks, before)

    def _blocks(self, identity: list[pa.Array], before: int, count: int) -> npt.NDArray[np.uint64]:
        if not identity:
            return position_blocks(before, count)
        try:
            return row_blocks(identity, self._key, self._table)
        except RowError as error:
            problem: tuple[int, int] | str = (error.offset, error.count)
        except KernelError as error:
            problem = str(error)
        if isinstance(problem, str):
            raise PolicyError(f"identity: {problem}.")
        raise SourceError(
            f"{self._where}: row {before + problem[0] + 1:,} has no identity, for a column of it is NULL (at least "
            f"{problem[1]:,} such rows). Its coins could not be found again: use columns that are never NULL."
        )
