"""Sums over rows of products of weights, for the covariances of groups of a perturbed column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ppdm_sql.channels.axis import Axis
from ppdm_sql.errors import Unsupported
from ppdm_sql.query.execute.group_tensors import Outcomes, Scanned
from ppdm_sql.query.sql.domain_groups import (
    Branch,
)
from ppdm_sql.reconstruct.inversion import Array

MAX_ENTRIES = 4_000_000
"""Groups times cells beyond which error bars would take too much memory."""


class GroupVariance:
    """Sums over rows of products of weights, from what a row in each observed cell adds to each group."""

    def __init__(
        self, scanned: Scanned, axes: Sequence[Axis], outcomes: Outcomes, products: Mapping[tuple[str, str], str]
    ) -> None:
        self.scanned, self.outcomes, self.products = scanned, outcomes, products
        cells = int(np.prod(scanned.shape))
        if cells**2 > MAX_ENTRIES:
            raise Unsupported(
                f"Unsupported: error bars of groups over {cells:,} cells of perturbed columns. Group by a coarser "
                "expression, or leave the errors out."
            )
        self.cells = cells
        self.inverses = [np.linalg.inv(axis.transition()) for axis in axes]

    def effect(self, branch: Branch) -> Array:
        """What one unit in each observed cell adds to each group, shape (cells, groups)."""
        added = np.ones((1, 1))
        for inverse, own in zip(self.inverses, branch.maps, strict=True):
            added = np.kron(added, inverse if own is None else own)
        merged = self.outcomes.merge(added.reshape(self.cells, *self.scanned.shape) * branch.cells) * branch.scale
        return merged.reshape(self.cells, -1)

    def of(self, one: Sequence[Branch], other: Sequence[Branch]) -> Array:
        """The sum over rows of the products of two totals' weights."""
        groups = self.scanned.groups
        result = np.zeros((groups, int(np.prod(self.outcomes.shape))))
        for a in one:
            for b in other:
                name = self.products[min((a.column, b.column), (b.column, a.column))]
                rows = self.scanned.tensor(name).reshape(groups, self.cells)
                result += rows @ (self.effect(a) * self.effect(b))
        return result.reshape(groups, *self.outcomes.shape)
