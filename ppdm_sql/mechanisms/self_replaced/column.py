"""A column whose replacements are its own values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.mechanisms.retained.column import RetainedColumn


@dataclass(frozen=True)
class SelfReplacedColumn(RetainedColumn):
    """A column whose replacements come from the column itself: its domain and its weights are read off the release.

    `source` is the released table in SQL, which only a query knows.
    """

    domain: Grid | Values = field(default_factory=lambda: Values(()))
    retain: float = 1.0
    nulls: str = "error"
    outside: str = "error"
    mechanism: str = field(default="identity", kw_only=True)
    source: str = field(default="", kw_only=True)

    @property
    def drawn_from_release(self) -> bool:
        """Replacements are values of the column itself."""
        return True

    @property
    def declared_grid(self) -> Grid | None:
        """No domain is declared."""
        return None

    def read_from(self, source: str) -> SelfReplacedColumn:
        """The column with the table that its distribution is read off."""
        return replace(self, source=source)

    @property
    def drift(self) -> float:
        """How far the share of a value in the release follows the rows: (1 - p) / p of a row, or all of it.

        Drawn with replacement, shares scatter as rows do. Dealt out without, they never change, and what one row wins
        the others lose.
        """
        return (1 - self.retain) / self.retain if self.mechanism == "identity" else 1 / self.retain
