"""Perturbed columns whose SQL type is known, with all that is public of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.types import SqlType


@dataclass(frozen=True)
class PerturbedColumn:
    """A perturbed column whose type is known; what else is public of it depends on its mechanism."""

    name: str
    type: SqlType
    mechanism: str = field(default="", kw_only=True)

    @property
    def exact(self) -> bool:
        """Whether every value is published as it is."""
        return False


@dataclass(frozen=True)
class RetainedColumn(PerturbedColumn):
    """A column whose values are kept with probability `retain`, else replaced by a draw from a known distribution.

    `weights` has the weight of each value of the domain in its order, NULL last where it is a value; None stands for
    equal ones.
    """

    domain: Grid | Values
    retain: float
    nulls: str
    outside: str
    weights: tuple[float, ...] | None = field(default=None, kw_only=True)
    mechanism: str = field(default="uniform", kw_only=True)

    @property
    def exact(self) -> bool:
        """Whether every value is published as it is."""
        return self.retain == 1

    @property
    def size(self) -> int:
        """The number of values that a replacement is drawn from; NULL is one of them where it is a value."""
        return self.domain.size + (self.nulls == "value")

    @property
    def spread(self) -> float:
        """One over the share of the rarest value in the replacing distribution: the size where all are alike."""
        return float(self.size) if self.weights is None else math.fsum(self.weights) / min(self.weights)

    def weight(self, first: int, last: int) -> float:
        """The weight of the values from place `first` up to, not including, `last`."""
        return last - first if self.weights is None else math.fsum(self.weights[first:last])


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
    def drift(self) -> float:
        """How far the share of a value in the release follows the rows: (1 - p) / p of a row, or all of it.

        Drawn with replacement, shares scatter as rows do. Dealt out without, they never change, and what one row wins
        the others lose.
        """
        return (1 - self.retain) / self.retain if self.mechanism == "identity" else 1 / self.retain
