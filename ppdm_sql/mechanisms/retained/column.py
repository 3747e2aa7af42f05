"""A column that is kept or redrawn: its domain, how much is kept, and what replacements are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.mechanisms.base import PerturbedColumn


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
