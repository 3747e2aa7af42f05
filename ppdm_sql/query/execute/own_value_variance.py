"""Errors of answers from columns that are replaced by their own values (identity, swap).

The replacing distribution R is read off the release, so the estimator depends on each row twice: by the row's own
weight, and by what the row adds to R. To first order an answer is the sum over all released rows of

    phi = w + sum_r d_r(cell),     d_r(c) = - k_r / n * T_r(c)

where w is the row's weight with R taken as known, T_r(c) is what the answer would be if every row of its condition lay
in cell c of column r, and k_r is (1 - p) / p. Rows are drawn independently of each other, so the variance is

    sum phi^2 - sum (E phi)^2,     E phi = its own value + sum_r (p d_r(x) + (1 - p) sum_c R(c) d_r(c))

of which both parts are estimated by inversion, as for a known R. Swapping deals the replaced values out without
replacement: the counts of the whole column never change, and what one row wins the others lose. The sum over a random
permutation of m replaced rows has the variance of m independent draws of the row's weight less its mean, and the part
of the mean that depends on which rows were replaced loses the same mean; together this is the formula above with
k_r = 1 / p. For an answer over all rows of one column phi is then 0, as it must be: such counts are the original's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.sql.domain_groups import Branch
from ppdm_sql.reconstruct import adjoint, invert, invert_adjoint

Array = npt.NDArray[np.float64]
MAX_ENTRIES = 16_000_000
"""Groups times outcomes times cells beyond which error bars would take too much memory."""
_NOTHING = 1e-11  # of the terms that cancel: what is left of an exact zero


class OwnValueVariance:
    """Covariances of totals; tensors have the shape (exact groups, outcomes, cells of each axis ..)."""

    def __init__(self, planned: Sequence[PlannedAxis], whole: Array, of_cell: Sequence[npt.NDArray[np.int64]]) -> None:
        self.axes = [axis.channel for axis in planned]
        self.planned = planned
        self.whole = whole
        self.outcomes = tuple(int(index.max(initial=0)) + 1 for index in of_cell)
        if math.prod(self.outcomes) * whole.size > MAX_ENTRIES:
            raise Unsupported(
                f"Unsupported: error bars of {math.prod(self.outcomes):,} groups over {whole.size:,} cells of "
                "perturbed columns. Group by a coarser expression, or leave the errors out."
            )
        inside = np.ones((1,) * 2)
        for index, count in zip(of_cell, self.outcomes, strict=True):
            inside = np.kron(inside, np.arange(count)[:, None] == index)
        self.inside = inside.reshape(-1, *whole.shape)

    def covariance(
        self,
        one: Sequence[Branch],
        other: Sequence[Branch],
        sums: Mapping[str, Array],
        products: Mapping[tuple[str, str], Array],
        square: Array,
    ) -> Array:
        """The covariance of two totals, shape (groups, outcomes ..); `square` estimates the sum of their products."""
        groups = len(square)
        if groups * self.inside.size > MAX_ENTRIES:
            raise Unsupported(
                f"Unsupported: error bars of {groups:,} exact groups over {self.whole.size:,} cells of perturbed "
                "columns. Ask for fewer groups, or leave the errors out."
            )
        pairs = [(a, b, products[min((a.column, b.column), (b.column, a.column))]) for a in one for b in other]
        own = sum((self._sum(rows[:, None] * self._effect(a) * self._effect(b)) for a, b, rows in pairs), np.zeros(1))
        drifts = [self._drift(total, sums) for total in (one, other)]
        means = [adjoint(drift, self.axes) for drift in drifts]
        seen = own + self._sum(self.whole * drifts[0] * drifts[1])
        true = square.reshape(groups, -1) + self._sum(invert(self.whole, self.axes) * means[0] * means[1])
        for total, drift, mean in ((one, drifts[1], means[1]), (other, drifts[0], means[0])):
            for branch in total:
                rows = sums[branch.column][:, None]
                seen = seen + self._sum(rows * self._effect(branch) * drift)
                true = true + self._sum(invert(rows, self.axes) * self.inside * branch.cells * branch.scale * mean)
        result = seen - true
        result = np.where(np.abs(result) <= _NOTHING * (np.abs(own) + np.abs(true)), 0.0, result)
        return np.reshape(result, (groups, *self.outcomes))

    def _effect(self, branch: Branch) -> Array:
        """What one unit in each observed cell adds to each outcome."""
        return invert_adjoint(self.inside * branch.cells * branch.scale, self.axes)

    def _drift(self, total: Sequence[Branch], sums: Mapping[str, Array]) -> Array:
        """What a released row adds to each answer by what it adds to the replacing distributions."""
        result = np.zeros((1, *self.inside.shape))
        for place, axis in enumerate(self.planned):
            if axis.reads_release:
                parts = [self._if_everybody(place, branch, sums[branch.column]) for branch in total]
                free = self._free(place)
                rows = float((self.whole * free).sum())
                result = result - axis.drift / rows * sum(parts, np.zeros(1)) * free
        return result

    def _if_everybody(self, place: int, branch: Branch, rows: Array) -> Array:
        """The answer if all rows that are ever replaced lay in one cell of an axis, by that cell."""
        along = 1 + place
        collapsed = (rows * self._free(place)).sum(axis=along)
        others = [axis for i, axis in enumerate(self.axes) if i != place]
        spread = np.expand_dims(invert(collapsed, others) if others else collapsed, along)
        answered = spread[:, None] * self.inside * branch.cells * branch.scale
        rest = tuple(2 + i for i in range(len(self.axes)) if i != place)
        return np.asarray(answered.sum(axis=rest, keepdims=True))

    def _free(self, place: int) -> Array:
        """1 for the cells of an axis that are ever replaced, else 0."""
        cells = np.array([i not in self.axes[place].fixed for i in range(self.axes[place].cells)], dtype=float)
        return cells.reshape(self._along(place))

    def _along(self, place: int) -> tuple[int, ...]:
        return tuple(-1 if i == place else 1 for i in range(len(self.axes)))

    def _sum(self, tensor: Array) -> Array:
        return np.asarray(tensor.sum(axis=tuple(range(2, tensor.ndim))))
