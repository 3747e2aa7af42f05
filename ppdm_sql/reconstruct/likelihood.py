"""The likelihood of original counts: the paper's update, and the certificate that says how good an answer is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.reconstruct.inversion import Array, AxisLike, adjoint, as_tensor, forward

# Below every count that means anything, yet 1e300 rows over it are still a number: an impossible observation
# gives a huge gap instead of inf * 0 = nan.
_TINY = 1e-250


@dataclass(frozen=True)
class Fit:
    """Original state counts that (nearly) maximise the likelihood, one tensor a group.

    Attributes
    ----------
    x : ndarray, shape (..., m_1, .., m_k)
        Never negative; sums to the observed total of its group.
    gap : ndarray, shape (...)
        The log-likelihood is at most this far below its maximum.
    steps : ndarray of int, shape (...)
        Steps taken by the last method that was used; 0 where inversion was the maximum already.
    converged : ndarray of bool, shape (...)
        Where the gap is within the tolerance that was asked for.
    """

    x: Array
    gap: Array
    steps: NDArray[np.int64]
    converged: NDArray[np.bool_]


def pull(x: Array, y: Array, axes: Sequence[AxisLike]) -> Array:
    """Give ``adjoint(y / forward(x))``: the factor of the paper's update, 1 at the maximum wherever x > 0."""
    return adjoint(y / np.maximum(forward(x, axes), _TINY), axes)


def totals(tensor: Array, axes: Sequence[AxisLike]) -> Array:
    """Sum each group over its states, keeping the axes."""
    total: Array = tensor.sum(axis=tuple(range(-len(axes), 0)), keepdims=True)
    return total


def uniform(y: Array, axes: Sequence[AxisLike]) -> Array:
    """Spread each group's total evenly over its states."""
    return np.broadcast_to(totals(y, axes) / math.prod(len(axis.shares) for axis in axes), y.shape)


def bayes_step(x: ArrayLike, y: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Take one step of the paper's iterative Bayes: the definition.

    Parameters
    ----------
    x : array_like, shape (..., m_1, .., m_k)
        The present estimate of the original counts.
    y : array_like, shape (..., m_1, .., m_k)
        Observed counts.
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape of y
        ``x * adjoint(y / forward(x))``. Its likelihood is never below that of x, and it sums to sum(y).

    Notes
    -----
    A state that is 0 stays 0, so a start needs every state positive.
    """
    now = as_tensor(x, axes)
    return now * pull(now, as_tensor(y, axes), axes)


def iterate(y: ArrayLike, axes: Sequence[AxisLike], steps: int) -> Array:
    """Repeat the paper's step from the uniform start.

    Parameters
    ----------
    y : array_like, shape (..., m_1, .., m_k)
    axes : sequence of k axes
    steps : int

    Returns
    -------
    ndarray, shape of y

    Notes
    -----
    Converges, but may need 100,000 steps for four columns at p = 0.2; two iterates differ little long before.
    ``bayes.solve`` finds the same limit; this is the oracle to compare with.
    """
    counts = as_tensor(y, axes)
    x = uniform(counts, axes)
    for _ in range(steps):
        x = bayes_step(x, counts, axes)
    return x


def gap(x: ArrayLike, y: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Bound how far the log-likelihood of x lies below its maximum.

    Parameters
    ----------
    x : array_like, shape (..., m_1, .., m_k)
        Not negative, with sum(x) = sum(y) = n in each group.
    y : array_like, shape (..., m_1, .., m_k)
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape (...)
        ``n * (max(adjoint(y / forward(x))) - 1)``, at least 0.

    Notes
    -----
    The log-likelihood is concave, so its tangent at x bounds it; over all tensors of total n the tangent is
    largest in one corner, which gives the formula. Rounding leaves about 1e-15 n, so a tolerance of 1e-3 cannot
    be certified for much more than 1e11 rows.
    """
    counts = as_tensor(y, axes)
    factor = pull(as_tensor(x, axes), counts, axes)
    over = tuple(range(-len(axes), 0))
    top: Array = factor.max(axis=over) - 1.0
    n: Array = counts.sum(axis=over)
    return np.maximum(n * np.where(n > 0, top, 0.0), 0.0)


def log_gain(new: Array, old: Array, y: Array, axes: Sequence[AxisLike]) -> Array:
    """Give the log-likelihood of ``new`` less that of ``old``, per group, without cancellation.

    Both must have the same total in each group.
    """
    ratio = np.maximum(forward(new, axes), _TINY) / np.maximum(forward(old, axes), _TINY)
    gain: Array = (y * np.log(ratio)).sum(axis=tuple(range(-len(axes), 0)))
    return gain
