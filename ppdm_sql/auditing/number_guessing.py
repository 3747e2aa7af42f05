"""Columns with Gaussian noise: the linear estimate of least square error (LLSE) from every copy, against the truth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.auditing.matching import Wanted
from ppdm_sql.auditing.scores import NumberAttack, NumberScore
from ppdm_sql.auditing.targets import perturbed_columns
from ppdm_sql.auditing.value_guessing import Rows
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.gaussian.covariance import Moments
from ppdm_sql.policy import ReleasedColumn
from ppdm_sql.privacy.collusion import Array
from ppdm_sql.privacy.coupling import FITS, TOLD, chains
from ppdm_sql.privacy.gaussian import Attack, linear_attack

SAME = 1e-9
"""Copies of one magnitude and one key differ by nothing; no two others by so small a share of their noise."""


def guess_numbers(rows: Rows, prior: str) -> tuple[tuple[NumberAttack, ...], tuple[tuple[str, str], ...]]:
    """What linear guesses come to, column by column, and the columns that cannot be guessed with the reason."""
    targets = [_target(rows, column) for column in perturbed_columns(rows.copies, (NoisyColumn,))]
    if not targets:
        return (), ()
    for batch in _read(rows, targets, "measuring noise"):
        for target, arrays in zip(targets, batch, strict=True):
            target.moments.add(arrays)
    known = [target for target in targets if target.moments.rows > 1 and target.moments.products[0, 0] > 0]
    left_out = [(t.column.name, "its values are all alike, or NULL") for t in targets if t not in known]
    plans = [_plan(target, prior) for target in known]
    for batch in _read(rows, known, "guessing numbers") if known else ():
        for plan, arrays in zip(plans, batch, strict=True):
            plan.add(arrays)
    return tuple(plan.found(len(rows.copies)) for plan in plans), tuple(left_out)


@dataclass(frozen=True, eq=False)
class _Target:
    """A column, the noise of each release that adds some, and the moments of truth and copies together."""

    column: ReleasedColumn
    noisy: Mapping[int, NoisyColumn]
    moments: Moments

    @property
    def covariance(self) -> Array:
        """Of the truth and the copies, as they are."""
        return self.moments.products / self.moments.rows

    def noise(self, place: int) -> float:
        """The noise's variance in one of the releases."""
        column = list(self.noisy.values())[place]
        return column.deviation**2 + column.rounding


def _target(rows: Rows, column: ReleasedColumn) -> _Target:
    noisy = {}
    for c, copy in enumerate(rows.copies):
        for found in copy.manifest.perturbed:
            if isinstance(found, NoisyColumn) and found.name.casefold() == column.name.casefold():
                noisy[c] = found
    return _Target(column, noisy, Moments(len(noisy) + 1))


def _read(rows: Rows, targets: Sequence[_Target], doing: str) -> Iterator[list[list[pa.Array]]]:
    """Of each column the truth, then the copies, without the rows in which one of them is NULL."""
    wanted = [Wanted.of(rows.original, rows.copies, target.column, tuple(target.noisy)) for target in targets]
    for batches in rows.read(doing, wanted):
        found = []
        for i, target in enumerate(targets):
            arrays = [batches[0].column(i), *(batches[c + 1].column(i) for c in target.noisy)]
            numbers = [pc.cast(array, pa.float64()).to_numpy(zero_copy_only=False) for array in arrays]
            known = np.isfinite(np.stack(numbers)).all(axis=0)
            found.append([pa.array(array[known]) for array in numbers])
        yield found


@dataclass(eq=False)
class _Plan:
    """How a column is guessed: by each copy alone, then by those that tell something together; and the errors."""

    target: _Target
    guesses: Sequence[tuple[tuple[int, ...], Attack]]
    groups: tuple[tuple[int, ...], ...]
    doubtful: tuple[tuple[int, int], ...]
    rows: int = 0
    squares: list[float] = field(default_factory=list)
    near: list[int] = field(default_factory=list)

    def add(self, arrays: Sequence[pa.Array]) -> None:
        """Guess a batch."""
        truth, *copies = (array.to_numpy() for array in arrays)
        self.rows += len(truth)
        for i, (places, attack) in enumerate(self.guesses):
            off = attack.estimate([copies[place][:, None] for place in places])[:, 0] - truth
            self.squares[i] += float(off @ off)
            self.near[i] += int(np.count_nonzero(np.abs(off) <= math.sqrt(attack.distortion)))

    def found(self, releases: int) -> NumberAttack:
        """Of all that was added."""
        scores = [
            NumberScore(math.sqrt(squares / self.rows), math.sqrt(attack.distortion), near / self.rows)
            for squares, near, (_, attack) in zip(self.squares, self.near, self.guesses, strict=True)
        ]
        present = list(self.target.noisy)
        alone: list[NumberScore | None] = [None] * releases
        noise: list[float | None] = [None] * releases
        for place, c in enumerate(present):
            alone[c], noise[c] = scores[place], math.sqrt(self.target.noise(place))
        groups = tuple(tuple(present[place] for place in group) for group in self.groups)
        doubtful = tuple((present[one], present[two]) for one, two in self.doubtful)
        deviation = math.sqrt(float(self.target.covariance[0, 0]))
        name = self.target.column.name
        return NumberAttack(name, self.rows, deviation, tuple(alone), scores[-1], tuple(noise), groups, doubtful)


def _plan(target: _Target, prior: str) -> _Plan:
    copies = range(len(target.noisy))
    told = {(one, two): _told(target, one, two) for one, two in combinations(copies, 2)}
    coupled = {pair for pair, (together, _) in told.items() if together}
    groups = chains(len(copies), coupled)
    noise = np.diag([target.noise(place) for place in copies])
    for one, two in combinations(copies, 2):
        if any(one in group and two in group for group in groups):
            noise[one, two] = noise[two, one] = _common(target, one, two)
    twins = {pair for pair in coupled if _alike(target, *pair)}
    telling = [place for place in copies if not any((other, place) in twins for other in range(place))]
    sets = [*((place,) for place in copies), tuple(telling)]
    mean, variance = _believed(target, prior)
    guesses = [(places, linear_attack(noise[np.ix_(places, places)], variance, mean, 1.0)) for places in sets]
    doubtful = tuple(pair for pair, (_, sure) in told.items() if not sure)
    return _Plan(target, guesses, groups, doubtful, 0, [0.0] * len(guesses), [0] * len(guesses))


def _common(target: _Target, one: int, two: int) -> float:
    """The covariance of the noise of two copies, if one key made both."""
    first, second = (list(target.noisy.values())[place] for place in (one, two))
    return first.shared(second) - (first.rounding if first.name == second.name else 0.0)


def _alike(target: _Target, one: int, two: int) -> bool:
    """Whether two copies are one and the same, if one key made both."""
    first, second = (list(target.noisy.values())[place] for place in (one, two))
    return (first.noise, first.columns, first.weights, first.step) == (
        second.noise, second.columns, second.weights, second.step,
    )  # fmt: skip


def _told(target: _Target, one: int, two: int) -> tuple[bool, bool]:
    """Whether two copies share their noise, and whether that can be told: by the variance of their difference."""
    seen = target.covariance
    i, j = one + 1, two + 1
    measured = max(float(seen[i, i] + seen[j, j] - 2 * seen[i, j]), 0.0)
    apart = target.noise(one) + target.noise(two)
    same = _alike(target, one, two)
    together = SAME * apart if same else max(apart - 2 * _common(target, one, two), SAME * apart)
    rows = target.moments.rows
    chances = [-rows / 2 * (math.log(law) + measured / law) for law in (together, apart)]
    coupled = chances[0] >= chances[1]
    law = together if coupled else apart
    fits = measured <= law if coupled and same else abs(measured / law - 1) <= FITS * math.sqrt(2 / rows)
    return coupled, fits and abs(chances[0] - chances[1]) >= TOLD


def _believed(target: _Target, prior: str) -> tuple[float, float]:
    """Mean and variance of the originals: the true ones, or what the least noisy copy lets one believe."""
    seen, means = target.covariance, target.moments.means
    if prior == "source":
        return float(means[0]), float(seen[0, 0])
    least = min(range(len(target.noisy)), key=target.noise)
    believed = float(seen[least + 1, least + 1]) - target.noise(least)
    return float(means[least + 1]), max(believed, SAME * target.noise(least))
