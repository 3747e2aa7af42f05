"""Which columns can be guessed value by value, as each release has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ppdm_sql.auditing.priors import counts_of, draws_of, own_counts, part_counts, release_prior
from ppdm_sql.auditing.tables import Copy, Original
from ppdm_sql.auditing.views import DeclaredView, OwnView, PartedView, View, whole_domain, with_priors
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.policy import ReleasedColumn, RetainedColumn
from ppdm_sql.privacy.collusion import Prior
from ppdm_sql.privacy.coupling import Draws

PRIORS = ("source", "release")
GUESSED = (RetainedColumn, SmallDomainColumn)


@dataclass(frozen=True)
class Target:
    """A column, how each release shows it (None where one does not perturb it so), and how often draws coincide."""

    column: ReleasedColumn
    views: tuple[View | None, ...]
    draws: Draws

    @property
    def present(self) -> tuple[int, ...]:
        """The releases that perturb it."""
        return tuple(i for i, view in enumerate(self.views) if view is not None)

    @property
    def first(self) -> View:
        """As the first of them has it."""
        return self.view(self.present[0])

    @property
    def comparable(self) -> bool:
        """Whether all draw from the same values, so that their copies can be put together."""
        kinds = {self.view(i).kind for i in self.present}
        return len(kinds) == 1 and None not in kinds

    def view(self, release: int) -> View:
        """The column in one of the releases that perturb it."""
        found = self.views[release]
        assert found is not None
        return found

    def retain(self, release: int) -> float:
        """The retention in one of the releases that perturb it."""
        return self.view(release).retain

    def parted(self) -> dict[int, PartedView]:
        """The releases that part the table."""
        return {i: view for i in self.present if isinstance(view := self.view(i), PartedView)}

    def knowing(self, counts: dict[int, np.ndarray]) -> Target:
        """With what is known of the values of each part, by release."""
        views = tuple(
            with_priors(view, counts[i]) if isinstance(view, PartedView) and i in counts else view
            for i, view in enumerate(self.views)
        )
        return replace(self, views=views)


def find_targets(
    original: Original, copies: Sequence[Copy], prior: str
) -> tuple[list[Target], tuple[tuple[str, str], ...]]:
    """The columns that some release perturbs value by value, and those that cannot be guessed with the reason."""
    found, left_out = [], []
    for column in perturbed_columns(copies, GUESSED):
        bounds = [bound_in(copy, column.name, GUESSED) for copy in copies]
        views = [_view(original, copy, bound) for copy, bound in zip(copies, bounds, strict=True)]
        known = [(i, view) for i, view in enumerate(views) if view is not None]
        if not known:
            left_out.append((column.name, "every value is NULL, and stays so"))
            continue
        draws = _draws(original, known[0][1])
        if prior == "release":
            believed = _released_priors(copies, dict(known))
            views = [None if view is None else believed[i] for i, view in enumerate(views)]
        found.append(Target(column, tuple(views), draws))
    return found, tuple(left_out)


def perturbed_columns(copies: Sequence[Copy], kinds: tuple[type, ...]) -> list[ReleasedColumn]:
    """Every column that some release perturbs in one of these ways, as the first such release has it."""
    found: dict[str, ReleasedColumn] = {}
    for copy in copies:
        for column in copy.manifest.columns:
            if isinstance(column.perturbed, kinds):
                found.setdefault(column.name.casefold(), column)
    return list(found.values())


def bound_in(copy: Copy, name: str, kinds: tuple[type, ...]) -> RetainedColumn | SmallDomainColumn | None:
    """The column as a release perturbs it."""
    for column in copy.manifest.perturbed:
        if column.name.casefold() == name.casefold() and isinstance(column, kinds):
            assert isinstance(column, RetainedColumn | SmallDomainColumn)
            return column
    return None


def _view(original: Original, copy: Copy, bound: RetainedColumn | SmallDomainColumn | None) -> View | None:
    """What somebody sees who knows how common each value is in the original; None where nothing is hidden."""
    if bound is None:
        return None
    if isinstance(bound, SelfReplacedColumn):
        values, counts = own_counts(original, bound)
        return OwnView(bound, Prior.from_counts(np.arange(len(counts)), counts), values) if len(counts) else None
    declared = whole_domain(bound) if isinstance(bound, SmallDomainColumn) else bound
    places, counts = counts_of(original, declared)
    if not len(places):
        return None
    prior = Prior.from_counts(places, counts)
    if isinstance(bound, SmallDomainColumn):
        return PartedView(bound, prior, (prior,) * len(bound.parts))
    return DeclaredView(bound, prior)


def _draws(original: Original, view: View) -> Draws:
    if isinstance(view, DeclaredView):
        return draws_of(view.bound, *counts_of(original, view.bound))
    again = float(view.prior.shares @ view.prior.shares)
    return Draws(again, again)


def _released_priors(copies: Sequence[Copy], views: dict[int, View]) -> dict[int, View]:
    """The same, for somebody who knows the releases alone: of one kind, the most retained tells of all."""
    found: dict[int, View] = {}
    for i, view in views.items():
        if isinstance(view, DeclaredView):
            alike = [c for c, other in views.items() if other.kind == view.kind]
            strongest = max(alike, key=lambda c: views[c].retain)
            best = views[strongest]
            assert isinstance(best, DeclaredView)
            known = release_prior(copies[strongest], best.bound)
            assert known is not None
            found[i] = replace(view, prior=known)
        elif isinstance(view, OwnView):
            values, counts = own_counts(copies[i], view.bound)
            numbers = view.numbers(repr(copies[i].path), _plain(values))
            found[i] = replace(view, prior=Prior.from_counts(numbers, counts))
        else:
            assert isinstance(view, PartedView)
            found[i] = with_priors(view, part_counts(copies[i], view.bound))
    return found


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
