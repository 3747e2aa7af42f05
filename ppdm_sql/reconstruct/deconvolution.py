"""Deconvolution: how many originals lay in each bin, from counts of noisy numbers.

The line is cut into bins, and within a bin originals are taken to be spread evenly. The chance that a number of bin i
is seen in interval j is known, and the paper's iterative Bayes step finds counts of bins that explain the noisy ones.

Noise hides what is finer than itself: run to its end, the iteration turns noise into spikes. So it takes a fixed number
of steps from an even start, which keeps the estimate as smooth as the data allow. That is a bias, and the error makes
room for it. To the spread of replicates, made by the same steps, it adds by how much the last four fifths of the steps
changed the answer, and what lies within a small part of the noise's deviation of a bound. Where the original has an
edge or a heap right at a bound, that may still be too little.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.reconstruct.inversion import Array
from ppdm_sql.reconstruct.replicates import whole_rows

BIN = 0.25
"""The width of a bin, in standard deviations of the noise: wider ones miss how the rows in them are spread."""

SEEN = 0.25
"""The width of an interval in which noisy numbers are counted, likewise: as rounding it adds half a percent."""

STEPS = 1000
"""Steps of the iteration: fewer leave more bias, more leave more spread, and 1,000 hardly too much of either."""

EARLY = STEPS // 5
"""The step whose answer the last one is compared with."""

SLACK = 0.06
"""By how much a bound may be out, in standard deviations of the noise: a standard error of its own."""

MAX_BINS = 400
"""With more, because the numbers reach that far, bins are made wider."""

_TINY = 1e-250


@dataclass(frozen=True)
class Bins:
    """Bins of the line; `edges` has one entry more than there are bins, `run` the stretch that each bin is part of."""

    edges: Array
    run: NDArray[np.int64]


@dataclass(frozen=True)
class Smooth:
    """Counts of bins, shape (groups, bins), that sum to the rows of their group; and those of an early step."""

    x: Array
    early: Array


POINT = 0.01
"""Stretches that are narrower than this, in deviations, are points, which hold no bin."""


def make_bins(bounds: Sequence[float], low: float, high: float, deviation: float) -> Bins:
    """Cut the stretches between `bounds` into bins of about a quarter of a deviation.

    Parameters
    ----------
    bounds : sequence of float
        Where a stretch ends and the next begins, in order; there is one stretch more. They are edges of bins, but for
        a stretch that is hardly more than a point only one of its ends is.
    low, high : float
        The smallest and largest noisy number: hardly an original lies beyond, and it is as well placed at the ends.
    deviation : float
        Standard deviation of the noise.

    Examples
    --------
    >>> make_bins([1.0], 0.0, 3.0, 4.0).edges.tolist()
    [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    """
    low = min([low, *(bound - deviation for bound in bounds)])
    high = max([high, *(bound + deviation for bound in bounds), low + BIN * deviation])
    width = max(BIN * deviation, (high - low) / MAX_BINS)
    edges, run = [low], []
    for number, stop in enumerate([*bounds, high]):
        start = edges[-1]
        if 0 < number < len(bounds) and stop - start < POINT * deviation:
            continue  # both of its ends are one bound: `< 40` and `<= 40`
        parts = max(1, round((stop - start) / width))
        edges += [start + (stop - start) * part / parts for part in range(1, parts)] + [stop]
        run += [number] * parts
    return Bins(np.array(edges), np.array(run, dtype=np.int64))


def chances(edges: Array, seen: Array, deviation: float) -> Array:
    """Give the chance that a number spread evenly over bin i is seen, with noise, in interval j.

    Parameters
    ----------
    edges : ndarray, shape (bins + 1,)
    seen : ndarray, shape (intervals - 1,)
        Inner edges of the intervals; the first and the last reach to infinity.

    Returns
    -------
    ndarray, shape (bins, intervals)
        Rows sum to 1.
    """
    from scipy.special import ndtr  # noqa: PLC0415 - half a second of import that most answers do not need

    def integral(at: Array) -> Array:
        """The integral of the normal distribution function."""
        result: Array = at * ndtr(at) + np.exp(-at * at / 2) / math.sqrt(2 * math.pi)
        return result

    start, stop = edges[:-1, None], edges[1:, None]
    below = deviation * (integral((seen - start) / deviation) - integral((seen - stop) / deviation)) / (stop - start)
    # Far out both integrals are large and nearly equal; what rounding leaves must stay a chance.
    below = np.maximum.accumulate(np.clip(below, 0.0, 1.0), axis=1)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def deconvolve(observed: ArrayLike, matrix: Array) -> Smooth:
    """Estimate the counts of the bins, group by group.

    Parameters
    ----------
    observed : array_like, shape (groups, intervals)
    matrix : ndarray, shape (bins, intervals)
        From `chances`.

    Notes
    -----
    Biased: a bin cannot come out below 0, neighbours share what noise has mixed, and what is sharp comes out smooth.
    A value on which many originals heap, just inside a bound, is half counted beyond it.
    """
    y = np.asarray(observed, dtype=np.float64)
    seen = np.flatnonzero(y.any(axis=0))
    y, matrix = y[:, seen], matrix[:, seen]
    x = np.repeat(y.sum(axis=1, keepdims=True) / len(matrix), len(matrix), axis=1)
    back = np.ascontiguousarray(matrix.T)
    early = x
    for step in range(STEPS):
        x = x * ((y / np.maximum(x @ matrix, _TINY)) @ back)
        if step + 1 == EARLY:
            early = x
    return Smooth(x, early)


def deconvolution_errors(
    fit: Smooth, matrix: Array, targets: Array, edges: Array, deviation: float, draws: int = 40
) -> Array:
    """Estimate the errors of sums over bins, and how they go together, by drawing the noise again.

    Parameters
    ----------
    fit : Smooth
    matrix : ndarray, shape (bins, intervals)
    targets : ndarray, shape (f, bins)
        What one row of each bin adds to each of the f answers.
    edges : ndarray, shape (bins + 1,)
    deviation : float
        Standard deviation of the noise.
    draws : int
        Replicates; 40 give an error to about 11 %.

    Returns
    -------
    ndarray, shape (groups, f, f)
        Covariance of the answers about the truth: mean products of the replicates' distances from the fitted answers,
        the product of what the later steps changed in them, and what bounds that are a little out would change.
    """
    generator = _generator(fit.x, matrix)
    whole = whole_rows(fit.x, 1)
    distances = np.empty((draws, len(whole), len(targets)))
    for draw in range(0, draws, at_once := max(1, 4_000 // max(1, len(whole)))):
        some = min(at_once, draws - draw)
        observed = np.zeros((some, *whole.shape[:1], matrix.shape[1]))
        for bin_, shares in enumerate(matrix):
            if whole[:, bin_].any():
                rows = np.broadcast_to(whole[:, bin_], (some, len(whole)))
                observed += generator.multinomial(rows, shares / shares.sum())
        again = deconvolve(observed.reshape(some * len(whole), -1), matrix).x.reshape(some, *whole.shape)
        distances[draw : draw + some] = (again - whole) @ targets.T
    later = (fit.x - fit.early) @ targets.T
    jumps = np.diff(targets, axis=1)
    near = SLACK * _around(fit.x, edges, deviation)
    covariance: Array = np.einsum("dgf,dgh->gfh", distances, distances) / draws
    covariance += later[:, :, None] * later[:, None, :]
    covariance += np.einsum("ge,fe,he->gfh", near**2, jumps, jumps)
    return covariance


def _around(x: Array, edges: Array, deviation: float) -> Array:
    """Rows within half a deviation of each inner edge, shape (groups, bins - 1)."""
    inner, half = edges[1:-1], deviation / 2
    overlap = np.minimum(edges[1:, None], inner + half) - np.maximum(edges[:-1, None], inner - half)
    rows: Array = x @ (np.maximum(overlap, 0.0) / np.diff(edges)[:, None])
    return rows


def _generator(x: Array, matrix: Array) -> np.random.Generator:
    """Seed from the problem itself, so that the same query gives the same error bar."""
    digest = hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=16)
    digest.update(np.ascontiguousarray(matrix).tobytes())
    return np.random.default_rng(int.from_bytes(digest.digest(), "little"))
