"""Custom: as uniform retention, with the replacing distribution that the policy gives."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from ppdm_udfs import Uniform, Weighted

from ppdm_sql.policy import BoundColumn
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.kernel_domain import kernel_domain
from ppdm_sql.publishing.mechanisms.uniform import UniformColumn
from ppdm_sql.publishing.perturber import Perturber, Publishing


class CustomColumn(UniformColumn):
    """One column, kept or replaced value by value."""

    def kernel_of(self, column: BoundColumn, kind: pa.DataType) -> Uniform:
        """The kernel's parameters."""
        assert column.weights is not None
        domain = kernel_domain(column, kind)
        return Weighted(domain, column.retain, column.nulls, column.outside, column.weights)


def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
    """One for each column."""
    found: list[Perturber] = []
    for place in mine:
        bound = columns[place].perturbed
        assert isinstance(bound, BoundColumn)
        found.append(CustomColumn(place, bound, kinds[place]))
    return found


PUBLISHING = Publishing(perturbers, row_by_row=True)
