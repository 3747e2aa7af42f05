"""A column that is kept or redrawn: its domain, how much is kept, and what replacements are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.mechanisms.base import PerturbedColumn

FAR = 16
"""A domain that is this many times as far from 0 as it is wide is moved: else squares lose no more than two digits."""


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
    def by_value(self) -> bool:
        """Every value of the domain can be asked for."""
        return True

    @property
    def keeps_null(self) -> bool:
        """Whether the NULLs of the release are those of the original."""
        return self.nulls == "keep"

    @property
    def declared_grid(self) -> Grid | None:
        """The domain, where it is a grid."""
        return self.domain if isinstance(self.domain, Grid) else None

    @property
    def middle(self) -> float:
        """The middle of a grid that lies far from 0."""
        grid = self.declared_grid
        if grid is None:
            return 0.0
        middle = grid.low + grid.size // 2 * grid.step
        return 0.0 if abs(middle) < FAR * grid.size * grid.step else float(middle) / 10.0**grid.scale

    def exact_in(self, relation: str) -> ExactColumn:
        """The column where its values are published as they are: those that a query gives."""
        return ExactColumn(self.name, self.type, Values(()), 1.0, "error", "error", relation=relation)

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
class ExactColumn(RetainedColumn):
    """An exact column in a place where others are perturbed: its values are those that `relation`, a query, gives."""

    relation: str = field(kw_only=True)
