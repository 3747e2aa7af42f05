"""Uniform: a value is kept with probability p, else replaced by a draw in which all values of the domain are alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ppdm_sql.domain.binding import bind_domain
from ppdm_sql.domain.checks import mapping, one_of
from ppdm_sql.domain.declaration import declared_domain
from ppdm_sql.domain.declared import parse_domain
from ppdm_sql.domain.domain import Values
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.json_form import domain_from_json, domain_to_json
from ppdm_sql.domain.types import SqlType
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import (
    NULL_RULES,
    OUTSIDE_RULES,
    ColumnPolicy,
    Description,
    Mechanism,
    PerturbedColumn,
    declared_rules,
)
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_domain
from ppdm_sql.mechanisms.retained.words import explain_retained
from ppdm_sql.mechanisms.retention import LEAST_RETENTION, RETENTION_KEYS, gamma_of_retention, parse_retention


class Uniform(Mechanism):
    """Retention replacement with equal weights."""

    name = "uniform"
    level_keys: ClassVar[tuple[str, ...]] = ("retain", "outside")
    keys: ClassVar[tuple[str, ...]] = ("domain", *RETENTION_KEYS, "nulls", "outside")

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """Domain, how much is kept, and what exceptions do."""
        where = f"column {name!r}"
        if "domain" not in raw:
            raise PolicyError(
                f"{where} has no domain. Declare it, domain = {{ min = .., max = .. }} or {{ values = [..] }}: it is "
                "never read off the data, whose own range is a disclosure."
            )
        nulls = one_of(where, "nulls", raw.get("nulls", "error"), NULL_RULES)
        outside = one_of(where, "outside", raw.get("outside", "error"), OUTSIDE_RULES)
        domain = parse_domain(where, mapping(f"{where}: domain", raw["domain"]))
        if outside == "clamp" and isinstance(domain, Values):
            raise PolicyError(
                f'{where}: outside = "clamp" needs a domain with min and max; a list has no nearest value.'
            )
        retention, levels = parse_retention(where, raw, has_levels)
        return ColumnPolicy(name, self.name, domain, retention, nulls, outside, levels)

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """The domain in the type's unit, and the retention that keeps the promise on it."""
        assert column.domain is not None and column.retention is not None
        where = f"column {column.name!r} ({type_name})"
        domain, sql_type = bind_domain(where, column.domain, type_name)
        retain = column.retention.bound(where, domain.size + (column.nulls == "value"))
        return RetainedColumn(column.name, sql_type, domain, retain, column.nulls, column.outside, mechanism=self.name)

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """Retention, NULL rule and domain."""
        assert isinstance(column, RetainedColumn)
        body = {"retain": column.retain, "nulls": column.nulls, "domain": domain_to_json(column.domain)}
        return body if column.outside == "error" else body | {"outside": column.outside}

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was bound."""
        domain = domain_from_json(fields.inside("domain"), sql_type)
        retain, nulls = fields.number("retain", LEAST_RETENTION, 1), fields.word("nulls", NULL_RULES)
        outside = fields.optional("outside", lambda key: fields.word(key, OUTSIDE_RULES[1:])) or OUTSIDE_RULES[0]
        return RetainedColumn(name, sql_type, domain, retain, nulls, outside, mechanism=self.name)

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """The retention that a promise came to, and the domain."""
        assert isinstance(column, RetainedColumn)
        body = {"retain": column.retain, "domain": declared_domain(column.domain, column.type)}
        return body | declared_rules(column.nulls, column.outside)

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """Domain, exceptions, and the chances of a value."""
        return explain_retained(column, type_name, levels)

    def describe(self, column: PerturbedColumn) -> Description:
        """Everything that is declared, and the gamma that follows."""
        assert isinstance(column, RetainedColumn)
        gamma = gamma_of_retention(column.retain, column.spread)
        return Description(
            f"{column.retain:.3g} kept",
            describe_domain(column),
            column.size,
            column.retain,
            gamma,
            math.log(gamma),
            column.nulls,
            column.outside,
        )
