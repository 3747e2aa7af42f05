"""Which columns can be guessed, as each release has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.priors import counts_of, drawn, draws_of, release_prior
from ppdm_sql.auditing.tables import Copy, Original
from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy import BoundColumn, PerturbedColumn, ReleasedColumn
from ppdm_sql.policy.noise import NoisyColumn
from ppdm_sql.privacy.collusion import Array, Numbers, Prior, log_odds
from ppdm_sql.privacy.coupling import Draws
from ppdm_sql.privacy.gaussian import distortion, distortion_if_independent

PRIORS = ("source", "release")


@dataclass(frozen=True)
class Target:
    """A column, how each release perturbs it (None where one does not), and what the adversary knows of it."""

    column: ReleasedColumn
    bounds: tuple[BoundColumn | None, ...]
    prior: Prior
    draws: Draws

    @property
    def present(self) -> tuple[int, ...]:
        """The releases that perturb it."""
        return tuple(i for i, bound in enumerate(self.bounds) if bound is not None)

    @property
    def first(self) -> BoundColumn:
        """As the first of them has it."""
        return _known(self.bounds[self.present[0]])

    @property
    def comparable(self) -> bool:
        """Whether all draw from the same values, so that their copies can be put together."""
        bounds = [_known(self.bounds[i]) for i in self.present]
        return len({(bound.mechanism, bound.domain, bound.nulls, bound.weights) for bound in bounds}) == 1

    def retain(self, release: int) -> float:
        """The retention in one of the releases that perturb it."""
        return _known(self.bounds[release]).retain

    def odds(self, release: int, shown: Numbers) -> Array:
        """How much likelier a release makes the values that it shows; logarithms."""
        return log_odds(self.retain(release), drawn(_known(self.bounds[release]), shown))


def find_targets(
    original: Original, copies: Sequence[Copy], prior: str
) -> tuple[list[Target], tuple[tuple[str, str], ...]]:
    """The columns that some release perturbs, and those that cannot be guessed with the reason."""
    found, left_out = [], []
    for column in _perturbed(copies):
        bounds = tuple(_bound(copy, column.name) for copy in copies)
        present = [(bound.retain, copy, bound) for copy, bound in zip(copies, bounds, strict=True) if bound is not None]
        if not present:
            assert column.perturbed is not None
            left_out.append((column.name, _why(column.perturbed, copies)))
            continue
        values, counts = counts_of(original, present[0][2])
        if not len(values):
            left_out.append((column.name, "every value is NULL, and stays so"))
            continue
        _, strongest, bound = max(present, key=lambda each: each[0])
        known = Prior.from_counts(values, counts) if prior == "source" else release_prior(strongest, bound)
        assert known is not None
        found.append(Target(column, bounds, known, draws_of(present[0][2], values, counts)))
    if not found:
        raise ReleaseError(f"{copies[0].path!r} has no perturbed column that can be guessed: there is nothing to do.")
    return found, tuple(left_out)


def _why(column: PerturbedColumn, copies: Sequence[Copy]) -> str:
    """Why a column is not guessed value by value; of Gaussian noise, what the best linear guess is left with."""
    if not isinstance(column, NoisyColumn):
        return f"guessing does not know the mechanism {column.mechanism!r}"
    every = [c for copy in copies for c in copy.manifest.perturbed if c.name.casefold() == column.name.casefold()]
    noisy = [c for c in every if isinstance(c, NoisyColumn)]
    coupled = len({(c.columns, c.weights) for c in noisy}) == 1
    share = (distortion if coupled else distortion_if_independent)([c.noise for c in noisy])
    many = "" if len(noisy) == 1 else ", from all copies together"
    if not coupled:
        many += ", which are not coupled"
    return f"it has Gaussian noise, with which the best linear guess keeps {share:.3g} of the column's variance{many}"


def _perturbed(copies: Sequence[Copy]) -> list[ReleasedColumn]:
    """Every column that some release perturbs, as the first such release has it."""
    found: dict[str, ReleasedColumn] = {}
    for copy in copies:
        for column in copy.manifest.columns:
            known = found.get(column.name.casefold())
            if column.perturbed is not None and (known is None or not isinstance(known.perturbed, BoundColumn)):
                found[column.name.casefold()] = column
    return list(found.values())


def _bound(copy: Copy, name: str) -> BoundColumn | None:
    for column in copy.manifest.perturbed:
        if column.name.casefold() == name.casefold() and isinstance(column, BoundColumn):
            return column
    return None


def _known(bound: BoundColumn | None) -> BoundColumn:
    assert bound is not None
    return bound
