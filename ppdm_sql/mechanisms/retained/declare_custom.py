"""Custom: as uniform, but replacements are drawn by weights that the policy gives.

A value that is never drawn is true wherever it is seen, so every value of the domain needs a weight above zero.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from ppdm_sql.domain.binding import bind_domain, grid_place
from ppdm_sql.domain.checks import known, mapping, number
from ppdm_sql.domain.declared import parse_values
from ppdm_sql.domain.domain import Grid, Scalar, Values
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.grid_values import domain_value
from ppdm_sql.domain.types import SqlType
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy, PerturbedColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.declare_uniform import Uniform
from ppdm_sql.mechanisms.retained.words import explain_retained

MAX_VALUES = 65_536
"""A longer list of weights would not be read by anybody, and a manifest has to hold it."""
LEAST_SHARE = 2.0**-53
"""A share that a coin of 53 bits could not tell from nothing is refused."""
MOST_WEIGHT = 1e300
"""So that the sum of all is a number."""
NEVER = "a value that is never drawn is true wherever it is seen (gamma is infinite)"


@dataclass(frozen=True)
class CustomPolicy(ColumnPolicy):
    """`weights` are those of `values`, in the order of the policy; `null` is that of NULL."""

    values: tuple[Scalar, ...] = ()
    weights: tuple[float, ...] = ()
    null: float | None = None

    @property
    def all_weights(self) -> tuple[float, ...]:
        """All weights, that of NULL last."""
        return self.weights if self.null is None else (*self.weights, self.null)


class Custom(Uniform):
    """Retention replacement with weights."""

    name = "custom"
    keys: ClassVar[tuple[str, ...]] = (*Uniform.keys, "replace")

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """As for uniform, and what replacements are drawn from; without a domain its values are the domain."""
        where = f"column {name!r}"
        if "replace" not in raw:
            raise PolicyError(
                f"{where} says nothing of what replacements are drawn from: give replace = {{ values = [..], weights = "
                "[..] }, one weight a value."
            )
        body = mapping(f"{where}: replace", raw["replace"])
        known(f"{where}: replace", body, ("values", "weights", "null"))
        values = parse_values(f"{where}: replace", body.get("values"))
        domain = raw.get("domain", {"values": list(values.values)})
        column = super().parse(name, {**raw, "domain": domain}, has_levels=has_levels)
        weights, null = _weights(where, body, values.size, column.nulls)
        known_fields = {f.name: getattr(column, f.name) for f in fields(ColumnPolicy)}
        return CustomPolicy(**known_fields, values=values.values, weights=weights, null=null)

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """The domain in the type's unit, and the weight of each of its values."""
        assert isinstance(column, CustomPolicy) and column.domain is not None and column.retention is not None
        where = f"column {column.name!r} ({type_name})"
        domain, sql_type = bind_domain(where, column.domain, type_name)
        if domain.size > MAX_VALUES:
            raise PolicyError(
                f"{where}: its domain has {domain.size:,} values, and weights are taken for at most {MAX_VALUES:,}: "
                "use a coarser step."
            )
        weights = _placed(where, column, domain, sql_type)
        bound = RetainedColumn(
            column.name, sql_type, domain, 1.0, column.nulls, column.outside, weights=weights, mechanism=self.name
        )
        return replace(bound, retain=column.retention.bound(where, bound.spread))

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """As for uniform, and the weights."""
        assert isinstance(column, RetainedColumn) and column.weights is not None
        return super().to_json(column) | {"weights": list(column.weights)}

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was bound."""
        column = super().from_json(name, fields, sql_type)
        assert isinstance(column, RetainedColumn)
        weights = fields.numbers("weights", (1, MAX_VALUES + 1), 0, MOST_WEIGHT)
        if len(weights) != column.size:
            fields.refuse("weights", f"has {len(weights):,} numbers for {column.size:,} values")
        if min(weights) <= LEAST_SHARE * math.fsum(weights):
            fields.refuse("weights", "has one that is zero, or next to nothing beside the others")
        return replace(column, weights=weights)

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """As for uniform, and every value with its weight."""
        assert isinstance(column, RetainedColumn) and column.weights is not None
        values = [domain_value(column.domain, place, column.type) for place in range(column.domain.size)]
        replace = {"values": values, "weights": list(column.weights[: len(values)])}
        null = {"null": column.weights[-1]} if column.nulls == "value" else {}
        return super().declared(column, perturbed) | {"replace": replace | null}

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """As for uniform, with what is drawn how often."""
        assert isinstance(column, CustomPolicy)
        return explain_retained(column, type_name, levels, column.all_weights)


def _weights(where: str, body: Mapping[str, Any], size: int, nulls: str) -> tuple[tuple[float, ...], float | None]:
    raw = body.get("weights")
    if not isinstance(raw, list | tuple) or len(raw) != size:
        found = f"{len(raw)} weights" if isinstance(raw, list | tuple) else "no list of weights"
        raise PolicyError(f"{where}: replace has {size} values and {found}: give one weight a value, in their order.")
    weights = [number(f"{where}: a weight", weight) for weight in raw]
    if ("null" in body) != (nulls == "value"):
        problem = (
            "needs a weight for NULL, null = .." if nulls == "value" else "has a weight for NULL, which is not drawn"
        )
        raise PolicyError(f'{where}: replace {problem}; with nulls = "value", and only then, NULL is drawn.')
    null = number(f"{where}: the weight of NULL", body["null"]) if "null" in body else None
    every = weights if null is None else [*weights, null]
    for weight in every:
        if not 0 <= weight <= MOST_WEIGHT:
            raise PolicyError(f"{where}: weights are numbers of at least 0, not {weight}, and at most {MOST_WEIGHT:g}.")
    if min(every) <= LEAST_SHARE * math.fsum(every):
        raise PolicyError(
            f"{where}: a weight is zero, or next to nothing beside the others; {NEVER}. Give every value a weight, or "
            "leave it out of the domain."
        )
    return tuple(weights), null


def _placed(where: str, column: CustomPolicy, domain: Grid | Values, sql_type: SqlType) -> tuple[float, ...]:
    """The weights in the order of the domain."""
    placed: dict[int, float] = {}
    declared = column.domain
    for value, weight in zip(column.values, column.weights, strict=True):
        if isinstance(domain, Grid):
            place = grid_place(f"{where}: replace", value, domain, sql_type)
        else:
            assert isinstance(declared, Values)
            place = declared.values.index(value) if value in declared.values else None
        if place is None:
            raise PolicyError(f"{where}: replace gives a weight to {value!r}, which is not in its domain.")
        placed[place] = weight
    missing = domain.size - len(placed)
    if missing:
        raise PolicyError(
            f"{where}: {missing:,} value{'' if missing == 1 else 's'} of its domain got no weight in replace; {NEVER}."
        )
    in_order = tuple(placed[i] for i in range(domain.size))
    return in_order if column.null is None else (*in_order, column.null)
