"""Identity: the column's own distribution is counted first, and replacements are drawn from it.

What a row is replaced by depends on all rows, so the coins depend on a digest of the whole column. Needs memory for the
distinct values and their counts, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from ppdm_udfs import NullFound, Values, Weighted, perturb

from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.self_replaced.rare_values import Counts, warn_of_rare_values
from ppdm_sql.publishing.column_digest import ColumnDigest
from ppdm_sql.publishing.perturber import Rows, SingleColumn

MAX_DISTINCT = 1 << 24


class IdentityColumn(SingleColumn):
    """One column."""

    passes = 1

    def __init__(self, place: int, column: PerturbedColumn, kind: pa.DataType) -> None:
        assert isinstance(column, SelfReplacedColumn)
        super().__init__(place, column.name)
        self._column = column
        self._counts = Counts()
        self._digest = ColumnDigest(column)
        self._kernel: Weighted | None = None

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Count the values of a batch."""
        if self._column.nulls == "error" and arrays[0].null_count:
            missing = pc.is_null(arrays[0]).to_numpy(zero_copy_only=False)
            raise SourceError(self.refused(rows, NullFound(int(missing.argmax()), int(missing.sum()))))
        self._counts.add(arrays[0])
        self._digest.add(arrays[0], rows)
        if self._counts.distinct > MAX_DISTINCT:
            raise SourceError(
                f"{rows.where}: column {self.name!r} has more than {MAX_DISTINCT:,} distinct values, which do not fit "
                "into memory with their counts: round them in the source, or use uniform."
            )

    def looked(self, number: int) -> None:
        """The kernel draws from what was counted."""
        values, counts, nulls = self._counts.sorted()
        if not len(values):
            return  # nothing but NULL, or no rows at all: there is nothing to draw from
        drawn = self._column.nulls == "value" and nulls > 0
        weights = (*counts, float(nulls)) if drawn else tuple(counts)
        rule = "value" if drawn else "keep"
        self._kernel = Weighted(Values(values), self._column.retain, rule, "error", weights)

    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Perturbed by the kernel."""
        if self._kernel is None:
            return array
        return perturb(
            array,
            self._kernel,
            key=rows.key,
            table=rows.table,
            column=self.name,
            rows=rows.keyed,
            parameters=self._digest.parameters,
        )

    def coins(self) -> Mapping[int, str]:
        """The column as it is, once it has been read."""
        return self._digest.coins(self.columns[0])

    def remedy(self) -> str:
        """Values are outside only where they were not there when they were counted."""
        return "keep the source as it is while it is published"

    def check(self, where: str) -> None:
        """Warn of values that hardly anybody has."""
        if self._column.retain < 1:
            warn_of_rare_values(where, self.name, self._counts)
