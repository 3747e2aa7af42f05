"""Gaussian: normal noise is added to a number, and the sum is rounded to a step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from ppdm_sql.domain.checks import number, one_of
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.types import UNKNOWN, SqlType, parse_type
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy, Description, Mechanism, PerturbedColumn, declared_rules
from ppdm_sql.mechanisms.gaussian.column import (
    DATA,
    DECLARED,
    INDEPENDENT,
    MAX_DIGITS,
    MAX_NOISE,
    MAX_SCALE,
    MIN_NOISE,
    Covariance,
    NoisePolicy,
    NoisyColumn,
    check_noise,
    mixing,
)

NULLS = ("error", "keep")
NUMBERS = ("integer", "decimal", "real")
DOUBLE = parse_type("DOUBLE")
MOST_WEIGHT, LEAST_SPREAD = 1e150, 1e-150
"""Of the numbers that noise is mixed by; their squares are numbers too."""


class Gaussian(Mechanism):
    """Noise relative to a covariance."""

    name = "gaussian"
    keys = ("noise", "covariance", "deviation", "step", "nulls")
    level_keys = ("noise", "covariance", "centre")  # what is mixed says all that matters of a covariance
    besides = "the columns that its noise goes with were others then, or their covariance was"

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """How much noise, relative to what, and the step."""
        where = f"column {name!r}"
        if "noise" not in raw:
            raise PolicyError(
                f"{where} says nothing of how much noise: give noise = 0.5 (its variance over the column's own), or "
                "noise = { public = 1.0 } by level."
            )
        noise, levels = None, {}
        if isinstance(raw["noise"], Mapping):
            levels = {
                level: check_noise(f"{where}, level {level!r}", number(f"{where}: noise, level {level!r}", value))
                for level, value in raw["noise"].items()
            }
            if not levels:
                raise PolicyError(f"{where}: noise by level needs at least one level.")
        else:
            noise = check_noise(where, number(f"{where}: noise", raw["noise"]))
        nulls = one_of(where, "nulls", raw.get("nulls", "error"), NULLS)
        step = _step(where, raw["step"]) if "step" in raw else None
        return NoisePolicy(
            name,
            self.name,
            nulls=nulls,
            levels=levels,
            noise=noise,
            step=step,
            covariance=_covariance(where, name, raw),
        )

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """Numbers only; whole ones have a step of 1 unless another is said."""
        assert isinstance(column, NoisePolicy) and column.noise is not None
        where = f"column {column.name!r} ({type_name})"
        sql_type = parse_type(type_name)
        if sql_type.family not in NUMBERS:
            raise PolicyError(f"{where}: noise can be added to numbers only. Use another mechanism, or cast it.")
        step = column.step
        if step is None:
            if sql_type.family == "real":
                raise PolicyError(
                    f"{where}: a column of reals needs a step, such as step = 0.01. Values are rounded to it: the last "
                    "digits of an unrounded sum would tell of the original."
                )
            step = Decimal(1).scaleb(-sql_type.scale)
        unit = None if sql_type.family == "real" else Decimal(1).scaleb(-sql_type.scale)
        return NoisyColumn(column.name, DOUBLE, column.noise, step, column.nulls, column.covariance, unit=unit)

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """Everything, for all of it is public."""
        assert isinstance(column, NoisyColumn)
        return {
            "noise": column.noise,
            "step": str(column.step),
            "nulls": column.nulls,
            "covariance": column.covariance.kind,
            "mixed": dict(zip(column.columns, column.weights, strict=True)),
            "unit": None if column.unit is None else str(column.unit),
            "centre": column.centre,
        }

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was published."""
        if sql_type not in (DOUBLE, UNKNOWN):
            fields.refuse("type", "is not DOUBLE, which numbers with noise are released as")
        mixed = fields.mapped("mixed", -MOST_WEIGHT, MOST_WEIGHT)
        if math.hypot(*mixed.values()) < LEAST_SPREAD:
            fields.refuse("mixed", "gives the noise no size")
        noise, nulls = fields.number("noise", MIN_NOISE, MAX_NOISE), fields.word("nulls", NULLS)
        step, unit = fields.decimal("step"), fields.or_null("unit", fields.decimal)
        centre = fields.number("centre", -MOST_WEIGHT, MOST_WEIGHT)
        covariance = Covariance(fields.word("covariance", tuple(_COVARIANCES)), math.hypot(*mixed.values()))
        return NoisyColumn(
            name, sql_type, noise, step, nulls, covariance, tuple(mixed), tuple(mixed.values()), unit, centre
        )

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """Noise and step, and what the noise is relative to, also where that was read off the originals."""
        assert isinstance(column, NoisyColumn)
        body: dict[str, Any] = {"noise": column.noise}
        if column.covariance.kind == INDEPENDENT:
            body["deviation"] = column.spread
        elif column.covariance.kind == DATA:
            body["covariance"] = DATA
        else:
            body["covariance"] = _entries(column, perturbed)
        return body | {"step": column.step} | declared_rules(column.nulls)

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """How much noise, what an attacker is left with, and what is disclosed besides."""
        assert isinstance(column, NoisePolicy)
        step = "1, if the column holds whole numbers" if column.step is None else f"{column.step}"
        nulls = (
            "NULL is refused" if column.nulls == "error" else "NULL stays NULL, so which rows are NULL stays visible"
        )
        lines = [
            f"{column.name}: Gaussian noise",
            f"  {_COVARIANCES[column.covariance.kind]}",
            f"  {nulls}; rounded to multiples of {step}, and released as DOUBLE",
        ]
        if column.covariance.kind == INDEPENDENT:
            deviation = column.covariance.deviation
            said = _FROM_DATA if deviation is None else f"the column's standard deviation is declared: {deviation:g}"
            lines.insert(2, f"  {said}")
        elif column.covariance.kind == DATA:
            lines.insert(2, f"  {_FROM_DATA}")
        if column.noise is not None:
            lines.append(f"  {_strength(column.noise)}")
        lines += [f"  at level {level}: {_strength(noise)}" for level, noise in column.levels.items()]
        return lines

    def describe(self, column: PerturbedColumn) -> Description:
        """The noise and its step."""
        assert isinstance(column, NoisyColumn)
        domain = f"multiples of {column.step}; noise of standard deviation {column.deviation:.4g}"
        return Description(f"noise {column.noise:.3g}", domain, nulls=column.nulls)


_COVARIANCES = {
    INDEPENDENT: "noise of its own: where columns go together, it can be filtered out in part",
    DATA: "noise that goes with that of the other columns as the originals do, so that it cannot be filtered out",
    DECLARED: "noise that goes with that of other columns as the declared covariance says",
}
_FROM_DATA = (
    "its size is read off the originals, rounded to two digits and published: declare it, to disclose nothing and to "
    "publish alike when rows are added"
)


def _entries(column: NoisyColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, float]:
    """The covariances of the noise of a column with that of those it goes with, its own first.

    As few digits as mix the noise of all of them as it was, for other weights would have other coins.
    """
    together = [c for c in perturbed if isinstance(c, NoisyColumn) and c.covariance.kind == DECLARED]
    exact = [[one.mixed_with(other) for other in together] for one in together]
    for digits in range(3, MAX_DIGITS + 1):
        matrix = [[float(f"{value:.{digits}g}") for value in row] for row in exact]
        with suppress(PolicyError):
            if [c.weights for c in mixing(together, matrix)] == [c.weights for c in together]:
                break
    row = dict(zip((c.name for c in together), matrix[together.index(column)], strict=True))
    return {column.name: row.pop(column.name)} | {name: value for name, value in row.items() if value}


def _strength(noise: float) -> str:
    share = noise / (1 + noise)
    return (
        f"noise {noise:g}: its variance over the column's own; the best linear guess of a value is left with "
        f"{100 * share:.3g} % of the column's variance, however many copies of this key it has at this or more noise"
    )


def _step(where: str, value: Any) -> Decimal:
    number(f"{where}: step", value)
    step = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not step.is_finite() or step <= 0:
        raise PolicyError(f"{where}: step = {value} must be above 0.")
    exponent = step.normalize().as_tuple().exponent
    if isinstance(exponent, int) and exponent < -MAX_SCALE:
        raise PolicyError(f"{where}: step = {value} has more than {MAX_SCALE} decimals: use a coarser one.")
    return step


def _covariance(where: str, name: str, raw: Mapping[str, Any]) -> Covariance:
    said = raw.get("covariance", INDEPENDENT)
    deviation = None
    if "deviation" in raw:
        deviation = number(f"{where}: deviation", raw["deviation"])
        if not 0 < deviation < math.inf:
            raise PolicyError(f"{where}: deviation = {deviation:g} must be above 0: it is a standard deviation.")
    if isinstance(said, Mapping):
        if deviation is not None:
            raise PolicyError(f"{where}: its own entry in covariance says what deviation says again: remove one.")
        entries = {str(key): number(f"{where}: covariance, {key}", value) for key, value in said.items()}
        own = [value for key, value in entries.items() if key.casefold() == name.casefold()]
        if len(own) != 1 or not 0 < own[0] < math.inf:
            raise PolicyError(
                f"{where}: covariance must hold the column's own variance, above 0: covariance = {{ {name} = .. }}."
            )
        return Covariance(DECLARED, None, entries)
    mapping_or_word = one_of(where, "covariance", said, (INDEPENDENT, DATA))
    if mapping_or_word == DATA and deviation is not None:
        raise PolicyError(f'{where}: covariance = "data" reads the deviation off the data: remove deviation.')
    return Covariance(mapping_or_word, deviation)


MECHANISMS: dict[str, Mechanism] = {"gaussian": Gaussian()}
