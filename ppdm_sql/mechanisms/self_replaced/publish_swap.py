"""Swap: the replaced rows are found first, and their values dealt out among them in an order drawn from the key.

Which rows are replaced depends on a digest of the whole column, for who gets whose value depends on all rows. Needs
memory for all values and 16 bytes for each, and about 60 more for each replaced row while the order is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ppdm_udfs import NullFound, dealing, swapped_rows

from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.self_replaced.rare_values import Counts, warn_of_rare_values
from ppdm_sql.publishing.column_digest import ColumnDigest
from ppdm_sql.publishing.perturber import Perturber, Rows, refused


class SwapColumn(Perturber):
    """One column."""

    passes = 1

    def __init__(self, place: int, column: PerturbedColumn, kind: pa.DataType) -> None:
        assert isinstance(column, SelfReplacedColumn)
        super().__init__((place,))
        self._column = column
        self._counts = Counts()
        self._digest = ColumnDigest(column)
        self._read: list[tuple[pa.Array, Rows]] = []
        self._dealt: pa.ChunkedArray | None = None
        self._given = 0

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Keep a batch: which of its rows are replaced is known when all have been read."""
        array = arrays[0]
        if self._column.nulls == "error" and array.null_count:
            missing = pc.is_null(array).to_numpy(zero_copy_only=False)
            error = NullFound(int(missing.argmax()), int(missing.sum()))
            raise SourceError(refused(rows, self._column.name, error, ""))
        self._counts.add(array)
        self._digest.add(array, rows)
        self._read.append((array, replace(rows, blocks=rows.keyed.blocks)))  # which leaves half of it to keep

    def looked(self, number: int) -> None:
        """Deal the values of the replaced rows out."""
        values, blocks, orders = [], [], []
        while self._read:
            array, rows = self._read.pop(0)
            chosen, order = self._replaced(array, rows)
            values.append(array.filter(pa.array(chosen)))
            blocks.append(rows.keyed.blocks[chosen])
            orders.append(order[chosen])
        if values:
            places = dealing(np.concatenate(blocks), np.concatenate(orders))
            self._dealt = pa.chunked_array(values).take(pa.array(places))

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The batch with the dealt values in the place of the replaced ones, in the order of the first reading."""
        array = arrays[0]
        chosen, _ = self._replaced(array, rows)
        count = int(chosen.sum())
        if not count:
            return [array]
        left = 0 if self._dealt is None else len(self._dealt) - self._given
        if self._dealt is None or left < count:
            raise SourceError(f"{rows.where} changed between two readings: keep it as it is while it is published.")
        given = self._dealt.slice(self._given, count).combine_chunks()
        self._given += count
        return [pc.replace_with_mask(array, pa.array(chosen), given)]

    def coins(self) -> Mapping[int, str]:
        """The column as it is, once it has been read."""
        return self._digest.coins(self.columns[0])

    def check(self, where: str) -> None:
        """Warn of values that hardly anybody has."""
        if self._column.retain < 1:
            warn_of_rare_values(where, self._column.name, self._counts)

    def _replaced(
        self, array: pa.Array, rows: Rows
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        chosen, order = swapped_rows(
            rows.keyed,
            self._column.retain,
            key=rows.key,
            table=rows.table,
            column=self._column.name,
            parameters=self._digest.parameters,
        )
        if self._column.nulls != "value" and array.null_count:
            chosen = chosen & pc.is_valid(array).to_numpy(zero_copy_only=False)
        return chosen, order
