"""A column whose table is parted, so that in each part few values occur and more of them can be kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.grid_values import domain_value
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn


@dataclass(frozen=True)
class DomainPart:
    """One part: the places of its values in the domain, NULL's being the domain's size, and how many are kept."""

    places: tuple[int, ...]
    retain: float


@dataclass(frozen=True)
class SmallDomainColumn(PerturbedColumn):
    """`parts` are found while publishing; the column `part_column` of the release says which one a row is in."""

    domain: Grid | Values
    rho1: float
    rho2: float
    nulls: str
    outside: str
    part_column: str
    parts: tuple[DomainPart, ...] = ()
    mechanism: str = field(default="small_domain", kw_only=True)

    @property
    def size(self) -> int:
        """The number of values, NULL being one where it is a value."""
        return self.domain.size + (self.nulls == "value")

    @cached_property
    def bound_parts(self) -> tuple[RetainedColumn, ...]:
        """In each part the column is one that is kept or replaced by a draw from the part's few values."""
        return tuple(self._bound(part) for part in self.parts)

    def _bound(self, part: DomainPart) -> RetainedColumn:
        known = tuple(domain_value(self.domain, place, self.type) for place in part.places if place < self.domain.size)
        nulls = "value" if len(known) < len(part.places) else "error"
        return RetainedColumn(
            self.name, self.type, Values(known), part.retain, nulls, "error", mechanism=self.mechanism
        )
