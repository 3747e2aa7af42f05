"""What the rest of the program asks of an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell
from ppdm_sql.policy.binding import BoundColumn


class Engine(Protocol):
    """Runs statements, and knows its own SQL well enough to evaluate a term on a domain."""

    dialect: str

    def table(self, statement: exp.Expr) -> pa.Table:
        """The result of a statement."""

    def measure(
        self, columns: Sequence[tuple[BoundColumn, Sequence[exp.Expr], Sequence[exp.Expr]]]
    ) -> list[tuple[Cell, ...]]:
        """How each column's domain falls into cells under its terms."""
