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
    def keeps_null(self) -> bool:
        """Whether the NULLs of the release are those of the original."""
        return self.nulls == "keep"

    @property
    def parted_by(self) -> str:
        """Rows that share a value of the part column have a domain of their own."""
        return self.part_column

    @property
    def in_each_part(self) -> tuple[PerturbedColumn, ...]:
        """In each part the column is one that is kept or replaced by a draw from the part's few values."""
        return self.bound_parts

    @property
    def whole(self) -> PerturbedColumn:
        """A stand-in on the whole domain, of which as much is kept as in the part that keeps least."""
        retain = min((part.retain for part in self.parts), default=1.0)
        return RetainedColumn(
            self.name, self.type, self.domain, retain, self.nulls, self.outside, mechanism=self.mechanism
        )

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
