"""Swap: the replaced rows are found first, and their values dealt out among them in an order drawn from the key.

Needs memory for the values of the replaced rows, and about 60 bytes for each of them while the order is made.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ppdm_udfs import NullFound, dealing, swapped_rows

from ppdm_sql.errors import SourceError
from ppdm_sql.policy.binding import OwnColumn, PerturbedColumn
from ppdm_sql.publishing.perturber import Perturber, Publishing, Rows, one_each, refused
from ppdm_sql.publishing.rare_values import Counts, warn_of_rare_values


class SwapColumn(Perturber):
    """One column."""

    passes = 1

    def __init__(self, place: int, column: PerturbedColumn, kind: pa.DataType) -> None:
        assert isinstance(column, OwnColumn)
        super().__init__((place,))
        self._column = column
        self._counts = Counts()
        self._values: list[pa.Array] = []
        self._rows: list[np.ndarray[tuple[int, int], np.dtype[np.uint64]]] = []
        self._order: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
        self._dealt: pa.ChunkedArray | None = None
        self._given = 0

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Keep what the replaced rows of a batch hold."""
        array = arrays[0]
        if self._column.nulls == "error" and array.null_count:
            missing = pc.is_null(array).to_numpy(zero_copy_only=False)
            error = NullFound(int(missing.argmax()), int(missing.sum()))
            raise SourceError(refused(rows, self._column.name, error, ""))
        self._counts.add(array)
        chosen, order = self._replaced(array, rows)
        self._values.append(array.filter(pa.array(chosen)))
        self._rows.append(rows.blocks[chosen])
        self._order.append(order[chosen])

    def looked(self, number: int) -> None:
        """Deal the values out."""
        if self._rows:
            places = dealing(np.concatenate(self._rows), np.concatenate(self._order))
            self._dealt = pa.chunked_array(self._values).take(pa.array(places))
        self._values, self._rows, self._order = [], [], []

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

    def check(self, where: str) -> None:
        """Warn of values that hardly anybody has."""
        if self._column.retain < 1:
            warn_of_rare_values(where, self._column.name, self._counts)

    def _replaced(
        self, array: pa.Array, rows: Rows
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], np.ndarray[tuple[int], np.dtype[np.uint64]]]:
        chosen, order = swapped_rows(
            rows.blocks, self._column.retain, key=rows.key, table=rows.table, column=self._column.name
        )
        if self._column.nulls != "value" and array.null_count:
            chosen = chosen & pc.is_valid(array).to_numpy(zero_copy_only=False)
        return chosen, order


PUBLISHING = Publishing(one_each(SwapColumn))
