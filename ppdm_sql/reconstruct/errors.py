"""The error of answers by inversion, from the perturbed counts alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.reconstruct.inversion import Array, AxisLike, as_tensor, invert


def linear_variance(y: ArrayLike, weights: ArrayLike, targets: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Estimate the covariance of linear answers by inversion, given the original table.

    Parameters
    ----------
    y : array_like, shape (..., m_1, .., m_k)
        Observed counts, one tensor a group.
    weights : array_like, shape (f, m_1, .., m_k)
        ``invert_adjoint`` of the targets: what one observed row adds to each of the f answers.
    targets : array_like, shape (f, m_1, .., m_k)
        What one original row of each state adds to each answer.
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape (..., f, f)
        ``sum_s y_s w_f w_g - sum_s x_s t_f t_g`` with x by inversion.

    Notes
    -----
    Each row's estimator has the row's own value as its mean, so its variance is the mean of its square less the
    square of its mean; both sums are estimated without bias, and nothing is assumed about where the original
    rows came from. It is an estimate: with few rows chance can make it negative. Variances are then set
    to 0, which says too little; an answer from a handful of rows has no trustworthy error. The matrix as a whole
    is not forced to be positive semidefinite.
    """
    counts = as_tensor(y, axes)
    states = counts.shape[counts.ndim - len(axes) :]
    groups = counts.shape[: counts.ndim - len(axes)]
    flat = (*groups, int(np.prod(states, dtype=np.int64)))
    w = as_tensor(weights, axes).reshape(-1, flat[-1])
    t = as_tensor(targets, axes).reshape(-1, flat[-1])
    if w.shape != t.shape:
        raise ValueError(f"{w.shape[0]} weight tensors do not fit {t.shape[0]} targets")
    # Both products in the same order of operations: for an exact column they cancel to 0 without a residue.
    cov = _gram(counts.reshape(flat), w) - _gram(invert(counts, axes).reshape(flat), t)
    diagonal = np.arange(w.shape[0])
    cov[..., diagonal, diagonal] = np.maximum(cov[..., diagonal, diagonal], 0.0)
    return cov


def _gram(counts: Array, factors: Array) -> Array:
    """Give ``sum_s counts_s f_s g_s`` for every pair of factors; shape (..., f, f)."""
    product: Array = (counts[..., None, :] * factors) @ factors.T
    return product
