"""Small domain randomization: part a table so that each part has few values of a column, and can keep more of them.

In three phases: balance (groups of few values, none of them too frequent), rearrange (groups that share values next to
each other), merge (neighbours, as long as that lowers the bound of the error). Chaytor and Wang, 2010.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import STRICTLY_BELOW, gamma_for_breach, retention_for_gamma

Counts = npt.NDArray[np.int64]
DELTA = 0.05
"""The bound of the error holds with probability 1 - DELTA."""


@dataclass(frozen=True)
class Part:
    """One part of the table: how many rows it has of each value, and what is kept of them.

    ``rho1`` is the largest share of a protected value in it, ``gamma`` what keeps it below rho2.
    """

    counts: tuple[int, ...]
    rho1: float
    gamma: float

    @property
    def rows(self) -> int:
        """The rows of the part."""
        return sum(self.counts)

    @property
    def values(self) -> tuple[int, ...]:
        """The numbers of the values that occur: its small domain."""
        return tuple(i for i, count in enumerate(self.counts) if count)

    @property
    def retention(self) -> float:
        """The probability that a value is kept."""
        return retention_for_gamma(self.gamma, len(self.values))

    @property
    def bound(self) -> float:
        """What the error of a share in this part stays below, with probability 1 - DELTA (Equation 12)."""
        return 2 * math.sqrt(math.log(2 / DELTA)) / math.sqrt(self.rows) / self.retention


def partition(counts: Sequence[int], rho1: float, rho2: float) -> tuple[Part, ...]:
    """The parts that small domain randomization makes of a column with these counts of its values.

    Protected are the values whose share is at most `rho1`: whatever is published of a row, none of them becomes
    likelier than `rho2` for somebody who knows the counts. Raises PolicyError where that cannot be had.
    """
    frequencies = np.asarray(counts, dtype=np.int64)
    protected = protected_values(frequencies, rho1)
    groups = balance(frequencies, protected)
    return merge(groups[rearrange(groups)], protected, rho2)


def protected_values(counts: Counts, rho1: float) -> npt.NDArray[np.bool_]:
    """The values that occur and whose share is at most `rho1`."""
    rows = int(counts.sum())
    protected = (counts > 0) & (counts <= rho1 * rows * (1 + 1e-12))
    if not protected.any():
        raise PolicyError(
            f"small_domain protects values whose share is at most rho1 = {rho1:g}, and there is none: "
            + ("the table is empty." if not rows else "use a larger rho1.")
        )
    return np.asarray(protected)


def balance(counts: Counts, protected: npt.NDArray[np.bool_]) -> Counts:
    """Phase 1: groups of few values in which no protected value is more frequent than in the whole, shape (t, m).

    >>> balance(np.array([12, 8, 6, 5, 4, 3, 1, 1, 1, 1]), np.ones(10, dtype=bool))[1].tolist()
    [4, 0, 0, 4, 4, 0, 0, 0, 0, 0]
    """
    left = np.where(protected, counts, 0)
    theta = int(left.sum() // left.max())
    groups = []
    while (rows := int(left.sum())) > 0:
        order = np.argsort(-left, kind="stable")
        highest, least = int(left[order[0]]), int(left[order[theta - 1]])
        following = int(left[order[theta]]) if theta < len(left) else 0
        taken = least if rows / theta - max(highest - least, following) >= least else rows // theta - following
        group = np.zeros_like(left)
        if taken == 0:
            group = left
        else:
            group[order[:theta]] = taken
        groups.append(group)
        left = left - group
    return _with_others(np.array(groups), np.where(protected, 0, counts))


def _with_others(groups: Counts, others: Counts) -> Counts:
    """Spread the values that need no protection over the groups by their sizes, the most frequent first."""
    if not others.any():
        return groups
    sizes = groups.sum(axis=1)
    room = sizes * int(others.sum()) // int(sizes.sum())
    room[-1] += others.sum() - room.sum()
    ends = np.concatenate([[0], np.cumsum(room)])
    order = np.argsort(-others, kind="stable")
    starts = np.concatenate([[0], np.cumsum(others[order])])
    overlap = np.minimum(ends[1:, None], starts[None, 1:]) - np.maximum(ends[:-1, None], starts[None, :-1])
    spread = np.zeros_like(groups)
    spread[:, order] = np.maximum(overlap, 0)
    return np.asarray(groups + spread)


def rearrange(groups: Counts) -> npt.NDArray[np.intp]:
    """Phase 2: an order of the groups in which neighbours share values."""
    likeness = groups.astype(float) @ groups.T.astype(float)
    return np.asarray(reverse_cuthill_mckee(csr_array(likeness), symmetric_mode=True), dtype=np.intp)


def merge(groups: Counts, protected: npt.NDArray[np.bool_], rho2: float) -> tuple[Part, ...]:
    """Phase 3: unite neighbours so that the bound of the error is least."""
    ends = merged_ends(groups, protected, rho2)
    pieces = np.split(groups, ends[:-1])
    return tuple(part_of(piece.sum(axis=0), protected, rho2) for piece in pieces)


def merged_ends(groups: Counts, protected: npt.NDArray[np.bool_], rho2: float) -> list[int]:
    """Where the parts end that neighbours are best united to, by dynamic programming (Equation 14)."""
    below = np.concatenate([np.zeros((1, groups.shape[1]), dtype=np.int64), np.cumsum(groups, axis=0)])
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, len(below)):
        found: tuple[float, list[int]] = (math.inf, [])
        for start, (bound, ends) in enumerate(best):
            part = _part(below[end] - below[start], protected, rho2)
            if part is not None and bound + part.rows * part.bound < found[0]:
                found = bound + part.rows * part.bound, [*ends, end]
        best.append(found)
    if math.isinf(best[-1][0]):
        raise PolicyError(
            f"small_domain cannot keep the posterior below rho2 = {rho2:g}: a protected value makes up as much of the "
            "table already. Use a larger rho2, or a smaller rho1."
        )
    return best[-1][1]


def part_of(counts: Sequence[int], protected: npt.NDArray[np.bool_], rho2: float) -> Part:
    """A part with these counts; PolicyError where a protected value is too frequent in it."""
    part = _part(np.asarray(counts, dtype=np.int64), protected, rho2)
    if part is None:
        raise PolicyError(f"a protected value makes up rho2 = {rho2:g} of a part or more. Use a larger rho2.")
    return part


def _part(counts: Counts, protected: npt.NDArray[np.bool_], rho2: float) -> Part | None:
    rows = int(counts.sum())
    share = int(counts[protected].max(initial=0)) / rows if rows else 1.0
    if not 0 < share < rho2:
        return None
    gamma = 1 + (gamma_for_breach(share, rho2) - 1) * STRICTLY_BELOW
    return Part(tuple(int(count) for count in counts), share, gamma)


def total_bound(parts: Sequence[Part]) -> float:
    """The bound of the error over all parts, each weighted by its rows."""
    return sum(part.rows * part.bound for part in parts) / sum(part.rows for part in parts)
