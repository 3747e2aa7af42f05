"""Small domain: the table is parted so that each part has few values of the column, and more of them is kept.

Chaytor and Wang (2010): the promise is about single values. Whatever is published of a row, no value whose share of the
table is at most rho1 gets more likely than rho2 for somebody who knows all shares. Which values a part has is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from ppdm_sql.domain.binding import bind_domain
from ppdm_sql.domain.declaration import declared_domain
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.json_form import domain_from_json, domain_to_json
from ppdm_sql.domain.types import SqlType
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import (
    OTHER_ROWS,
    OUTSIDE_RULES,
    ColumnPolicy,
    Description,
    Mechanism,
    PerturbedColumn,
    declared_rules,
)
from ppdm_sql.mechanisms.retained.declare_uniform import Uniform
from ppdm_sql.mechanisms.retained.words import describe_declared
from ppdm_sql.mechanisms.retention import LEAST_RETENTION, Retention, gamma_of_retention
from ppdm_sql.mechanisms.small_domain.column import DomainPart, SmallDomainColumn

MAX_VALUES = 65_536
NULLS = ("error", "value")


@dataclass(frozen=True)
class SmallDomainPolicy(ColumnPolicy):
    """A column whose promise is about the values' own shares."""

    part: str = ""

    def at_level(self, level: str, shared: float | None) -> ColumnPolicy:
        """No recipient gets a column of his own: parts of two releases would not go together."""
        return self


class SmallDomain(Mechanism):
    """Retention replacement within parts of the table."""

    name = "small_domain"
    keys: ClassVar[tuple[str, ...]] = ("domain", "privacy", "nulls", "outside", "part")
    level_keys = ("part",)  # the name of the column of parts, whose case may differ
    besides = OTHER_ROWS

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """Domain, promise, what exceptions do, and the name of the column that says which part a row is in."""
        where = f"column {name!r}"
        if "privacy" not in raw:
            raise PolicyError(f"{where}: small_domain needs privacy = {{ rho1 = .., rho2 = .. }}.")
        if raw.get("nulls", "error") not in NULLS:
            raise PolicyError(f"{where}: nulls = {raw['nulls']!r} must be one of {', '.join(NULLS)} with small_domain.")
        part = raw.get("part", f"{name}_part")
        if not isinstance(part, str) or not part.strip():
            raise PolicyError(f"{where}: part must be the name of the column that says which part a row is in.")
        plain = {key: value for key, value in raw.items() if key != "part"}
        column = Uniform().parse(name, plain, has_levels=False)
        return SmallDomainPolicy(
            name, self.name, column.domain, column.retention, column.nulls, column.outside, part=part
        )

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """The domain in the type's unit; the parts are found when the rows are read."""
        assert isinstance(column, SmallDomainPolicy)
        assert column.domain is not None and column.retention is not None and column.retention.rho2 is not None
        where = f"column {column.name!r} ({type_name})"
        domain, sql_type = bind_domain(where, column.domain, type_name)
        if domain.size > MAX_VALUES:
            raise PolicyError(
                f"{where}: its domain has {domain.size:,} values, and small_domain takes at most {MAX_VALUES:,}: use a "
                "coarser step, or uniform."
            )
        rho1, rho2 = column.retention.value, column.retention.rho2
        return SmallDomainColumn(column.name, sql_type, domain, rho1, rho2, column.nulls, column.outside, column.part)

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """Domain, promise, and of each part its values and their retention."""
        assert isinstance(column, SmallDomainColumn)
        return {
            "domain": domain_to_json(column.domain),
            "rho1": column.rho1,
            "rho2": column.rho2,
            "nulls": column.nulls,
            "outside": column.outside,
            "part_column": column.part_column,
            "parts": [{"places": list(part.places), "retain": part.retain} for part in column.parts],
        }

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was published."""
        domain = domain_from_json(fields.inside("domain"), sql_type, MAX_VALUES)
        rho1, rho2 = (fields.number(key, 0, 1) for key in ("rho1", "rho2"))
        if not 0 < rho1 < rho2 < 1:
            fields.refuse("rho1", "and rho2 are not two probabilities, the second the larger one")
        nulls, outside = fields.word("nulls", NULLS), fields.word("outside", OUTSIDE_RULES)
        size = domain.size + (nulls == "value")
        parts = tuple(_part(part, size) for part in fields.each("parts", 0, MAX_VALUES))
        part_column = fields.text("part_column")
        return SmallDomainColumn(name, sql_type, domain, rho1, rho2, nulls, outside, part_column, parts)

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """Domain, promise, and the name of the column of parts."""
        assert isinstance(column, SmallDomainColumn)
        promise = {"rho1": column.rho1, "rho2": column.rho2}
        domain = declared_domain(column.domain, column.type)
        body = {"privacy": promise, "domain": domain, "part": column.part_column}
        return body | declared_rules(column.nulls, column.outside)

    def companions(self, column: PerturbedColumn) -> tuple[str, ...]:
        """The column that says which part a row is in."""
        assert isinstance(column, SmallDomainColumn)
        return (column.part_column,)

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """The promise, and what the parts disclose."""
        assert isinstance(column, SmallDomainPolicy) and column.retention is not None
        rho1, rho2 = column.retention.value, column.retention.rho2
        return [
            f"{column.name}: perturbed in parts of the table that have few values each",
            *describe_declared(column, type_name),
            f"  a value that at most {100 * rho1:.3g} % of the rows have is never more than {100 * (rho2 or 0):.3g} % "
            "likely for a row, for somebody who knows the shares of all values and what is published of the row",
            f"  how much is kept depends on the shares; a column {column.part} says which part a row is in, and which "
            "values a part has is public: a row has one of them",
        ]

    def describe(self, column: PerturbedColumn) -> Description:
        """The mean retention, and the largest gamma of a part."""
        assert isinstance(column, SmallDomainColumn)
        gammas = [gamma_of_retention(part.retain, len(part.places)) for part in column.parts]
        kept = [part.retain for part in column.parts]
        domain = f"{column.size:,} values in {len(column.parts)} parts of {_range(len(p.places) for p in column.parts)}"
        strength = f"{min(kept):.3g} to {max(kept):.3g} kept" if kept else "kept as the shares allow"
        gamma = max(gammas, default=None)
        return Description(
            strength,
            domain,
            column.size,
            None,
            gamma,
            None if gamma is None else math.log(gamma),
            column.nulls,
            column.outside,
        )


def _part(fields: Fields, size: int) -> DomainPart:
    places = fields.wholes("places", (1, size), 0, size - 1)
    if any(a >= b for a, b in pairwise(places)):
        fields.refuse("places", "does not rise from one to the next")
    part = DomainPart(places, fields.number("retain", LEAST_RETENTION, 1))
    fields.end()
    return part


def _range(numbers: Any) -> str:
    found = sorted(numbers)
    if not found:
        return "some"
    return str(found[0]) if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def plain_retention(column: SmallDomainColumn) -> float:
    """What uniform retention on the whole domain would keep under the same promise."""
    return Retention("privacy", column.rho1, column.rho2).probability(column.size)


MECHANISMS: dict[str, Mechanism] = {"small_domain": SmallDomain()}
