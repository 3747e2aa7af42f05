"""Which columns can be guessed, as each release has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.priors import release_prior, source_prior
from ppdm_sql.auditing.tables import Copy, Original
from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy import BoundColumn, ReleasedColumn
from ppdm_sql.privacy.collusion import Prior, log_gamma

PRIORS = ("source", "release")


@dataclass(frozen=True)
class Target:
    """A column, how each release perturbs it (None where one does not), and what the adversary knows of it."""

    column: ReleasedColumn
    bounds: tuple[BoundColumn | None, ...]
    prior: Prior

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
        return len({(bound.domain, bound.nulls) for bound in bounds}) == 1

    def retain(self, release: int) -> float:
        """The retention in one of the releases that perturb it."""
        return _known(self.bounds[release]).retain

    def log_gamma(self, release: int) -> float:
        """How much likelier a release makes the value that it shows."""
        return log_gamma(self.retain(release), _known(self.bounds[release]).size)


def find_targets(
    original: Original, copies: Sequence[Copy], prior: str
) -> tuple[list[Target], tuple[tuple[str, str], ...]]:
    """The columns that some release perturbs, and those that cannot be guessed with the reason."""
    found, left_out = [], []
    for column in _perturbed(copies):
        bounds = tuple(_bound(copy, column.name) for copy in copies)
        known = _prior(original, copies, bounds, prior)
        if known is None:
            left_out.append((column.name, "every value is NULL, and stays so"))
        else:
            found.append(Target(column, bounds, known))
    if not found:
        raise ReleaseError(f"{copies[0].path!r} has no perturbed column with values: there is nothing to guess.")
    return found, tuple(left_out)


def _prior(
    original: Original, copies: Sequence[Copy], bounds: Sequence[BoundColumn | None], prior: str
) -> Prior | None:
    present = [(bound.retain, copy, bound) for copy, bound in zip(copies, bounds, strict=True) if bound is not None]
    if prior == "source":
        return source_prior(original, present[0][2])
    _, copy, bound = max(present, key=lambda each: each[0])
    return release_prior(copy, bound)


def _perturbed(copies: Sequence[Copy]) -> list[ReleasedColumn]:
    """Every column that some release perturbs, as the first such release has it."""
    found: dict[str, ReleasedColumn] = {}
    for copy in copies:
        for column in copy.manifest.columns:
            if column.perturbed is not None:
                found.setdefault(column.name.casefold(), column)
    return list(found.values())


def _bound(copy: Copy, name: str) -> BoundColumn | None:
    return next((c for c in copy.manifest.perturbed if c.name.casefold() == name.casefold()), None)


def _known(bound: BoundColumn | None) -> BoundColumn:
    assert bound is not None
    return bound
