"""Apriori on estimated supports: an itemset is looked at as long as its true support may pass the threshold.

An estimate that happens to fall short must not hide what lies above it, and one that happens to pass proves nothing.
So candidates are dropped by the upper end of an interval, and called frequent for sure by the lower end of one that
holds for all candidates of a level at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ppdm_sql.errors import Unsupported
from ppdm_sql.itemsets.supports import Supports

Integers = npt.NDArray[np.int64]
Array = npt.NDArray[np.float64]
Count = Callable[[Integers], Supports]
"""From itemsets of one size, shape (c, k), to what is known of them."""

MAX_CANDIDATES = 400_000
"""Candidates of one level: more of them mean that the noise is larger than the threshold."""
AT_ONCE = 20_000
"""Candidates whose counts are held in memory at once."""


@dataclass(frozen=True)
class Level:
    """Itemsets of one size that may be frequent: estimated supports in baskets, and the ends of their intervals.

    Estimates and intervals lie between 0 and all baskets, as supports do. ``ceiling`` is the least upper end of an
    itemset and its subsets, beyond which no superset is looked for. ``certain`` are those whose support passes the
    threshold with the asked confidence for all candidates together.
    """

    itemsets: Integers
    support: Array
    error: Array
    low: Array
    high: Array
    ceiling: Array
    certain: npt.NDArray[np.bool_]

    def take(self, chosen: npt.NDArray[np.bool_]) -> Level:
        """Some of the itemsets."""
        return Level(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def apriori(
    count: Count, items: int, least: float, *, largest: int, confidence: float, baskets: float = np.inf
) -> Iterator[Level]:
    """The itemsets that may be frequent, size by size.

    Parameters
    ----------
    count
        Estimates the supports of itemsets.
    items : int
        How many items there are; they are numbers from 0.
    least : float
        The threshold, in baskets.
    largest : int
        Items of the largest itemsets.
    confidence : float
        How often an interval holds the true support.
    baskets : float
        How many there are: no support is above that.
    """
    candidates = np.arange(items, dtype=np.int64).reshape(-1, 1)
    ceiling = np.full(items, baskets)
    for size in range(1, largest + 1):
        if not len(candidates):
            return
        level = _level(count, candidates, ceiling, least, confidence, baskets)
        if len(level.itemsets):
            yield level
        if size < largest:
            candidates, ceiling = _following(level)


def _level(
    count: Count, candidates: Integers, ceiling: Array, least: float, confidence: float, baskets: float
) -> Level:
    if len(candidates) > MAX_CANDIDATES:
        raise Unsupported(
            "Unsupported: nothing can be told at this privacy with so low a threshold: "
            f"{len(candidates):,} itemsets of {candidates.shape[1]} items may be frequent, and at most "
            f"{MAX_CANDIDATES:,} are looked at. Use a larger min_support, a lower confidence, smaller itemsets, or a "
            "release with a larger gamma (less privacy)."
        )
    support, error = np.empty(len(candidates)), np.empty(len(candidates))
    for start in range(0, len(candidates), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        found = count(candidates[part])
        support[part], error[part] = found.estimate(), found.errors()
    normal = NormalDist()
    alone = normal.inv_cdf(0.5 + confidence / 2)
    together = normal.inv_cdf(1 - (1 - confidence) / len(candidates))
    certain = support - together * error >= least
    # The least of several upper ends holds less often than each of them, so it bounds the search and is not shown.
    ceiling = np.minimum(support + alone * error, ceiling)
    shown = (np.clip(each, 0.0, baskets) for each in (support, support - alone * error, support + alone * error))
    estimate, low, high = shown
    return Level(candidates, estimate, error, low, high, ceiling, certain).take(ceiling >= least)


def _following(level: Level) -> tuple[Integers, Array]:
    """The itemsets of one more item all of whose subsets may be frequent, and the least of their upper ends."""
    known = {
        tuple(itemset): high for itemset, high in zip(level.itemsets.tolist(), level.ceiling.tolist(), strict=True)
    }
    found: list[tuple[int, ...]] = []
    ceiling: list[float] = []
    for _, group in itertools.groupby(sorted(known), key=lambda itemset: itemset[:-1]):
        for one, other in itertools.combinations(group, 2):
            joined = (*one, other[-1])
            highs = [known.get(joined[:i] + joined[i + 1 :]) for i in range(len(joined))]
            if None not in highs:
                found.append(joined)
                ceiling.append(min(high for high in highs if high is not None))
            if len(found) > MAX_CANDIDATES:  # the level says so
                break
    size = level.itemsets.shape[1] + 1
    return np.array(found, dtype=np.int64).reshape(-1, size), np.array(ceiling)
