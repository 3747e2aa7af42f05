"""Whether rows in the source's order would tell what is perturbed: a column that is sorted there, or nearly so.

However little of a sorted column is kept, the neighbours of a row tell its value. Pairs of adjacent rows are looked at,
spread evenly over the source, a bounded number of them: their values must be no more alike than those of any two rows,
values a step further no more either, and none may rise or fall from the first row to the last. Where there are NULLs,
the values between them are looked at by themselves too, and so is each part of the source: one that is sorted tells its
rows' values, however the rest lies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.model import SOURCE

Reals = npt.NDArray[np.float64]

PAIRS = 1 << 15
MOST = 0.2
"""The rank correlation that is let pass in a table of any size."""
DEVIATIONS = 3.0
"""And how many standard deviations of chance, which is more in a small one."""
PARTS = 16
MOST_IN_A_PART = 0.5
DEVIATIONS_IN_A_PART = 5.0
"""There are many parts, and chance has more room in each."""
LEAST_SORTED = 3
"""Pairs of a table that is refused where it is sorted from end to end."""


@dataclass(frozen=True)
class _Pairs:
    """Rows by their position, and the rows that come after each."""

    positions: npt.NDArray[np.int64]
    rows: pa.RecordBatch
    following: pa.RecordBatch

    def thinned(self, stride: int) -> _Pairs:
        kept = np.flatnonzero(self.positions % stride == 0)
        return _Pairs(self.positions[kept], self.rows.take(kept), self.following.take(kept))


class SourceOrder:
    """The perturbed columns of a source that keeps its order; `places` are theirs in a batch."""

    def __init__(self, names: Sequence[str], places: Sequence[int]) -> None:
        self._names = names
        self._places = list(places)
        self._stride = 1
        self._pairs: list[_Pairs] = []

    def add(self, batch: pa.RecordBatch, before: int) -> None:
        """Take original rows into account, of which so many came `before`."""
        places = np.arange(-before % self._stride, batch.num_rows - 1, self._stride)
        columns = batch.select(self._places)
        self._pairs.append(_Pairs(before + places, columns.take(places), columns.take(places + 1)))
        while sum(len(each.positions) for each in self._pairs) > PAIRS:
            self._stride *= 2
            self._pairs = [each.thinned(self._stride) for each in self._pairs]

    def check(self, where: str) -> None:
        """PolicyError where a column is sorted or nearly so."""
        positions = np.concatenate([np.empty(0), *(each.positions for each in self._pairs)])
        for i, name in enumerate(self._names):
            rows, following = (
                [getattr(each, side).column(i) for each in self._pairs] for side in ("rows", "following")
            )
            if len(positions) and _tells(*_ranks(rows, following), _present(rows), positions):
                raise PolicyError(
                    f'{where}: column {name!r} is sorted there, or nearly so, and order = "{SOURCE}" keeps this order: '
                    "neighbours would tell its values however little of them is kept. Leave order out, or name "
                    "exact columns."
                )


def _ranks(rows: Sequence[pa.Array], following: Sequence[pa.Array]) -> tuple[Reals, Reals]:
    """The ranks of all values among each other; equal ones share theirs."""
    values = pa.chunked_array([*rows, *following]).combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if pa.types.is_list(values.type):  # baskets: what they hold, in whatever order; of a bounded number of rows
        values = pa.array([repr(sorted(map(str, basket or ()))) for basket in values.to_pylist()])
    low, high = (pc.rank(values, "ascending", tiebreaker=tie).to_numpy(zero_copy_only=False) for tie in ("min", "max"))
    ranks = (low + high) / 2
    return ranks[: len(ranks) // 2], ranks[len(ranks) // 2 :]


def _present(rows: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
    return np.concatenate([array.is_valid().to_numpy(zero_copy_only=False) for array in rows])


def _tells(ranks: Reals, following: Reals, present: npt.NDArray[np.bool_], positions: Reals) -> bool:
    """Whether all rows are nearly sorted, or those that are not NULL, or a part of them."""
    known, places = ranks[present], positions[present]
    looked_at = [(ranks, following, positions)]
    if not present.all():  # values have others between them and the next one
        looked_at.append((known[:-1], known[1:], places[:-1]))
    return any(_nearly_sorted(*each) or _sorted_in_part(*each) for each in looked_at)


def _nearly_sorted(ranks: Reals, following: Reals, positions: Reals) -> bool:
    rises = following - ranks
    if len(rises) >= LEAST_SORTED and rises.any() and (bool((rises >= 0).all()) or bool((rises <= 0).all())):
        return True
    return _most_alike(ranks, following, positions) > _by_chance(len(ranks), MOST, DEVIATIONS)


def _sorted_in_part(ranks: Reals, following: Reals, positions: Reals) -> bool:
    parts = zip(*(np.array_split(each, PARTS) for each in (ranks, following, positions)), strict=True)
    return any(_most_alike(*part) > _by_chance(len(part[0]), MOST_IN_A_PART, DEVIATIONS_IN_A_PART) for part in parts)


def _by_chance(rows: int, most: float, deviations: float) -> float:
    """The correlation that is let pass among so many rows."""
    return max(most, deviations / math.sqrt(max(1, rows)))


def _most_alike(ranks: Reals, following: Reals, positions: Reals) -> float:
    return max(
        _correlation(ranks, following),
        _correlation(ranks[:-1], ranks[1:]),
        abs(_correlation(ranks, positions)),
    )


def _correlation(left: Reals, right: Reals) -> float:
    """0 where one of them does not vary."""
    left, right = left - np.mean(left) if len(left) else left, right - np.mean(right) if len(right) else right
    scale = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / scale if scale else 0.0
