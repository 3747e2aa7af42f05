"""What the rest of the program asks of an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.measuring.measure import Asked, Expressions
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn


class Engine(Protocol):
    """Runs statements, and knows its own SQL well enough to evaluate a term on a domain."""

    dialect: str

    def table(self, statement: exp.Expr, tables: Mapping[str, pa.Table] | None = None) -> pa.Table:
        """The result of a statement; `tables` are there for it alone."""

    def measure_joint(
        self, columns: tuple[RetainedColumn, RetainedColumn], terms: Sequence[exp.Expr], values: Sequence[exp.Expr]
    ) -> JointCells:
        """How the domain of two columns together falls into cells."""

    def measure_bins(self, column: RetainedColumn, terms: Sequence[exp.Expr], starts: Sequence[int]) -> Cells:
        """The cells of a grid column that rows are grouped by in bins."""

    def measure(self, columns: Sequence[Asked]) -> list[Cells]:
        """How each column's domain falls into cells under its terms."""

    def measure_noisy(self, column: NoisyColumn, terms: Expressions, labels: Expressions, release: exp.Expr) -> Cells:
        """How the line falls into stretches under the terms of a query on a column with noise."""

    def estimated_rows(self, statement: exp.Expr) -> int:
        """How many rows the engine expects a statement to give; it is not run."""
