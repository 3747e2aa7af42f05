"""How often each value of a column occurs, and a warning of those that hardly anybody has."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.errors import RareValues

RARE = 5
"""A value of fewer rows is rare: who knows that somebody has it can look for that row."""


class Counts:
    """The distinct values of a column so far, with their numbers."""

    def __init__(self) -> None:
        self._table: pa.Table | None = None
        self.nulls = 0

    @property
    def distinct(self) -> int:
        """How many distinct values there are."""
        return 0 if self._table is None else self._table.num_rows

    def add(self, array: pa.Array) -> None:
        """Take a batch into account."""
        self.nulls += array.null_count
        counted = pc.value_counts(array.drop_null() if array.null_count else array)
        batch = pa.table({"value": counted.field("values"), "count": counted.field("counts")})
        if self._table is not None:
            batch = pa.concat_tables([self._table, batch])
            batch = batch.group_by("value").aggregate([("count", "sum")]).rename_columns(["value", "count"])
        self._table = batch

    def sorted(self) -> tuple[pa.Array, list[float], int]:
        """The values in their order, their counts, and the number of NULLs: the same whatever the order of rows."""
        if self._table is None:
            return pa.array([]), [], self.nulls
        ordered = self._table.sort_by("value")
        return ordered["value"].combine_chunks(), ordered["count"].cast(pa.float64()).to_pylist(), self.nulls

    def rare(self) -> int:
        """How many values belong to fewer than `RARE` rows."""
        return 0 if self._table is None else pc.sum(pc.less(self._table["count"], RARE)).as_py() or 0


def warn_of_rare_values(where: str, name: str, counts: Counts) -> None:
    """Say how many there are, never which."""
    rare = counts.rare()
    if rare:
        warnings.warn(
            RareValues(
                f"{where}: {rare:,} value{'' if rare == 1 else 's'} of column {name!r} occur in fewer than {RARE} rows "
                "each, and every released value is somebody's: who knows of such a value learns that it is here. Blank "
                "rare values out in the source (NULL), or group them, or use uniform."
            ),
            stacklevel=2,
        )
