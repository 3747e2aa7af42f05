"""What a plan asks of an engine about domains; it knows the columns that have one, and those that lie on a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.channels.joint import JointCells
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn

Expressions = Sequence[exp.Expr]
Asked: TypeAlias = tuple[RetainedColumn, Expressions, Expressions, Expressions]
"""A column, the terms that tell its cells apart, the values to be summed, the labels that tell cells apart by value."""

Pair: TypeAlias = tuple[RetainedColumn, RetainedColumn]
Line: TypeAlias = NoisyColumn


class Measuring(Protocol):
    """How domains fall into cells under some terms, and what values sum to in each."""

    def measure(self, columns: Sequence[Asked]) -> list[Cells]:
        """The cells of each column."""

    def measure_joint(self, columns: Pair, terms: Expressions, values: Expressions) -> JointCells:
        """The cells of two columns together."""

    def measure_noisy(self, column: Line, terms: Expressions, labels: Expressions, release: exp.Expr) -> Cells:
        """The stretches of a column with noise."""
