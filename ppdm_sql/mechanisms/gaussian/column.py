"""Gaussian noise as a policy declares it and a manifest holds it: how much, which covariance, which step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy, PerturbedColumn

INDEPENDENT, DATA, DECLARED = "independent", "data", "declared"
MAX_SCALE = 15
NARROWEST = 0.5
"""The width of the narrowest range that can be counted, in standard deviations of the noise."""

MAX_NOISE, MIN_NOISE, MAX_DIGITS = 1e6, 1e-6, 15


@dataclass(frozen=True)
class Covariance:
    """Where the covariance that noise is relative to comes from.

    `kind`: "independent" of the other columns, the originals' own ("data"), or "declared". `deviation` is the column's
    public standard deviation where an independent one is declared, `entries` its declared covariances by column.
    """

    kind: str = INDEPENDENT
    deviation: float | None = None
    entries: Mapping[str, float] = field(default_factory=dict)

    @property
    def from_data(self) -> bool:
        """Whether it is read off the originals, all of which are looked at first."""
        return self.kind == DATA or (self.kind == INDEPENDENT and self.deviation is None)


@dataclass(frozen=True)
class NoisePolicy(ColumnPolicy):
    """A column with Gaussian noise; `levels` has the noise for recipients by name."""

    noise: float | None = None
    step: Decimal | None = None
    covariance: Covariance = field(default_factory=Covariance)

    @property
    def settled(self) -> bool:
        """Whether it is said how much noise there is."""
        return self.noise is not None

    def at_level(self, level: str, shared: float | None) -> ColumnPolicy:
        """The column for one recipient; what [levels] keeps of other columns says nothing of noise."""
        if level in self.levels:
            return replace(self, noise=self.levels[level])
        if shared is not None:
            raise PolicyError(
                f"column {self.name!r} has Gaussian noise, of which level {level!r} in [levels] says nothing: give the "
                f"column noise = {{ {level} = .. }}."
            )
        return self


@dataclass(frozen=True)
class NoisyColumn(PerturbedColumn):
    """A column of numbers with Gaussian noise, rounded to a step; released as DOUBLE.

    Its noise mixes the paths of `columns` by `weights`, its row of the Cholesky factor of the covariance K; both are
    empty until the covariance is known. `noise` is the magnitude: the noise's variance is noise times the sum of the
    squared weights. Originals are multiples of `unit`, if it is known; `centre` is near the mean of the noisy numbers.
    """

    noise: float
    step: Decimal
    nulls: str
    covariance: Covariance = field(default_factory=Covariance, compare=False)
    columns: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    unit: Decimal | None = None
    centre: float = field(default=0.0, compare=False)
    mechanism: str = field(default="gaussian", kw_only=True)

    @property
    def spread(self) -> float:
        """The standard deviation that noise is relative to: the root of the column's entry in K."""
        return math.hypot(*self.weights)

    @property
    def by_value(self) -> bool:
        """Ranges are counted, and powers added up."""
        return True

    @property
    def keeps_null(self) -> bool:
        """Whether the NULLs of the release are those of the original."""
        return self.nulls == "keep"

    @property
    def ranges_only(self) -> bool:
        """Noise hides single numbers."""
        return True

    @property
    def adds_noise(self) -> bool:
        """A normal number."""
        return True

    @property
    def middle(self) -> float:
        """A number near the mean of the noisy ones."""
        return self.centre

    def noise_with(self, other: PerturbedColumn) -> float:
        """The covariance of the noise of two columns in one row."""
        return self.shared(other) if isinstance(other, NoisyColumn) else 0.0

    @property
    def rounding(self) -> float:
        """The variance that rounding to the step adds."""
        return float(self.step) ** 2 / 12

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, rounding left out."""
        return math.sqrt(self.noise) * self.spread

    @property
    def narrowest(self) -> float:
        """The width of a range below which nothing can be said of it."""
        return NARROWEST * self.deviation

    @property
    def units(self) -> tuple[int, int]:
        """The step as a whole number of units over a power of ten."""
        fraction, scale = Fraction(self.step), 0
        while fraction.denominator != 1:
            fraction, scale = fraction * 10, scale + 1
        return int(fraction), scale

    def mixed_with(self, other: NoisyColumn) -> float:
        """The entry of K for two columns."""
        mine = dict(zip(self.columns, self.weights, strict=True))
        return math.fsum(mine.get(name, 0.0) * w for name, w in zip(other.columns, other.weights, strict=True))

    def shared(self, other: NoisyColumn) -> float:
        """The covariance of the noise of two columns in one row, rounding included for a column with itself."""
        rounding = self.rounding if self.name == other.name else 0.0
        return min(self.noise, other.noise) * self.mixed_with(other) + rounding


def check_noise(where: str, value: float) -> float:
    """`value` if it is a legal magnitude; otherwise the rule it breaks."""
    if not MIN_NOISE <= value <= MAX_NOISE:
        raise PolicyError(
            f"{where}: noise = {value:g} must lie between {MIN_NOISE:g} and {MAX_NOISE:g}: it is the noise's variance "
            "over the column's own, so that 1 doubles the variance."
        )
    if len(Decimal(repr(value)).normalize().as_tuple().digits) > MAX_DIGITS:
        raise PolicyError(f"{where}: noise = {value!r} has more than {MAX_DIGITS} significant digits: round it.")
    return value


def declared_matrix(columns: Sequence[NoisyColumn]) -> list[list[float]]:
    """The declared covariance of columns that declare theirs, which must agree wherever two of them say it."""
    names = {column.name.casefold(): column for column in columns}
    for column in columns:
        for name in column.covariance.entries:
            if name.casefold() not in names:
                raise PolicyError(
                    f"column {column.name!r}: its covariance names {name!r}, which has no covariance of its own: "
                    'declare it there too, with mechanism = "gaussian".'
                )

    def entry(one: NoisyColumn, other: NoisyColumn) -> float:
        said = {
            value
            for a, b in ((one, other), (other, one))
            for name, value in a.covariance.entries.items()
            if name.casefold() == b.name.casefold()
        }
        if len(said) > 1:
            raise PolicyError(
                f"columns {one.name!r} and {other.name!r} declare different covariances with each other: "
                f"{' and '.join(f'{value:g}' for value in sorted(said))}."
            )
        return said.pop() if said else 0.0

    return [[entry(one, other) for other in columns] for one in columns]


def mixing(columns: Sequence[NoisyColumn], covariance: Sequence[Sequence[float]]) -> list[NoisyColumn]:
    """The columns with the rows of the Cholesky factor, over the paths of the columns in the order of their names.

    That order, and not the policy's, so that the noise stays the same when a policy is sorted anew. Ten digits of a
    weight, for machines may differ in the last bits of a factor, and other weights have other coins.
    """
    from ppdm_udfs import KernelError, factor  # noqa: PLC0415 - an analyst needs no kernel

    order = sorted(range(len(columns)), key=lambda i: columns[i].name.casefold())
    try:
        triangle = factor([[covariance[i][j] for j in order] for i in order])
    except KernelError as error:
        problem = str(error)
    else:
        names = tuple(columns[i].name for i in order)
        rows = {i: tuple(float(f"{w:.9e}") for w in triangle[place][: place + 1]) for place, i in enumerate(order)}
        return [replace(column, columns=names[: len(rows[i])], weights=rows[i]) for i, column in enumerate(columns)]
    named = ", ".join(column.name for column in columns)
    raise PolicyError(f"the covariance of {named}: {problem}.")
