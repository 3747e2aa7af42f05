"""Custom: as uniform retention, with the replacing distribution that the policy gives."""

from __future__ import annotations

import pyarrow as pa
from ppdm_udfs import Uniform, Weighted

from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.publishing.kernel_domain import kernel_domain


class CustomColumn(UniformColumn):
    """One column, kept or replaced value by value."""

    def kernel_of(self, column: RetainedColumn, kind: pa.DataType) -> Uniform:
        """The kernel's parameters."""
        assert column.weights is not None
        domain = kernel_domain(column, kind)
        return Weighted(domain, column.retain, column.nulls, column.outside, column.weights)
