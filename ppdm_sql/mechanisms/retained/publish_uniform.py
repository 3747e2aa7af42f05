"""Uniform retention: the kernel of each column, and the check that kept values do not stand out by their digits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from ppdm_udfs import Uniform, perturb

from ppdm_sql.domain.domain import Grid
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.granularity import Spacing, check_spacing, spacing_of
from ppdm_sql.publishing.kernel_domain import fitting, kernel_domain
from ppdm_sql.publishing.perturber import Rows, SingleColumn


class UniformColumn(SingleColumn):
    """One column, kept or replaced value by value."""

    def __init__(self, place: int, column: PerturbedColumn, kind: pa.DataType) -> None:
        assert isinstance(column, RetainedColumn)
        super().__init__(place, column.name)
        self.column = column
        self.kernel = fitting(column, kind, lambda: self.kernel_of(column, kind))
        self.parameters = self.kernel.parameters(kind)
        self._spacing = Spacing()

    def kernel_of(self, column: RetainedColumn, kind: pa.DataType) -> Uniform:
        """The kernel's parameters."""
        return Uniform(kernel_domain(column, kind), column.retain, column.nulls, column.outside)

    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Perturbed by the kernel."""
        return perturb(
            array,
            self.kernel,
            key=rows.key,
            table=rows.table,
            column=self.name,
            rows=rows.keyed,
            parameters=self.parameters,
            threads=rows.threads,
        )

    def coins(self) -> Mapping[int, str]:
        """The domain and what is drawn from it."""
        return {self.columns[0]: self.parameters}

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released array; the spacing of the original values is looked at on the way."""
        result = super().perturb(arrays, rows)
        self.look_at_spacing(arrays[0])
        return result

    def look_at_spacing(self, array: pa.Array) -> None:
        """Take a batch of the original into account."""
        if isinstance(self.column.domain, Grid):
            self._spacing = spacing_of(array, self.kernel, self._spacing)

    def check(self, where: str) -> None:
        """Refuse a column whose values lie on a coarser grid than its domain."""
        check_spacing(where, self.column, self._spacing)

    def remedy(self) -> str:
        """Widen the domain, one way or the other."""
        if not isinstance(self.column.domain, Grid):
            return "add what is missing to its list of values"
        return "widen its domain" if self.column.outside == "clamp" else 'widen its domain, or say outside = "clamp"'
