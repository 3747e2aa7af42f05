"""Which split of a feature tells the classes apart best, from a table of estimated counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
CRITERIA = ("gini", "entropy")


@dataclass(frozen=True)
class Split:
    """The bins that go left, and how much purer the two sides are than the whole, times its rows."""

    left: tuple[int, ...]
    gain: float


def impurity(counts: Array, criterion: str) -> Array:
    """Rows times gini index, or times entropy in bits; classes along the last axis.

    >>> float(impurity(np.array([3.0, 1.0]), "gini"))
    1.5
    """
    counts = np.maximum(counts, 0.0)
    rows = counts.sum(axis=-1)
    shares = counts / np.maximum(rows, np.finfo(float).tiny)[..., None]
    if criterion == "gini":
        return np.asarray(rows * (1 - (shares**2).sum(axis=-1)))
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-rows * (shares * logs).sum(axis=-1))


def best_split(counts: Array, *, ordered: bool, criterion: str, least: float) -> Split | None:
    """The best split of one feature.

    Parameters
    ----------
    counts : ndarray, shape (bins + 1, classes)
        Estimated rows of each bin and class; the last row is NULL, which always goes right.
    ordered : bool
        Split between two neighbouring bins; otherwise categories are put in the order of their share of the class
        that most of the rows do not belong to, which for two classes finds the best of all subsets.
    least : float
        Neither side may have fewer rows.
    """
    bins = counts[:-1]
    order = np.arange(len(bins)) if ordered else _by_share(bins)
    below = np.cumsum(bins[order], axis=0)[:-1]
    above = counts.sum(axis=0) - below
    gains = impurity(counts.sum(axis=0), criterion) - impurity(below, criterion) - impurity(above, criterion)
    allowed = np.minimum(below.sum(axis=1), above.sum(axis=1)) >= least
    gains = np.where(allowed, gains, -np.inf)
    if not len(gains) or not np.isfinite(gains.max()):
        return None
    best = int(gains.argmax())
    return Split(tuple(sorted(int(i) for i in order[: best + 1])), float(gains[best]))


def _by_share(bins: Array) -> npt.NDArray[np.intp]:
    """Categories by their share of the largest class, those with fewest of it first."""
    counts = np.maximum(bins, 0.0)
    largest = int(counts.sum(axis=0).argmax())
    rows = counts.sum(axis=1)
    whole = counts[:, largest].sum() / max(counts.sum(), 1.0)
    share = np.where(rows > 0, counts[:, largest] / np.maximum(rows, np.finfo(float).tiny), whole)
    return np.argsort(share, kind="stable")
