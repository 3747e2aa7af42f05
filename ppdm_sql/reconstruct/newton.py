"""Newton's method for the Bayes estimate: each step a non-negative least squares problem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ppdm_sql.reconstruct.inversion import Array, AxisLike, forward
from ppdm_sql.reconstruct.likelihood import Fit, gap, log_gain, totals

# The curvature given to a cell in which nothing was observed, in rows. The model's gradient is exact whatever
# it is; it only keeps the least squares problem from being singular.
_EMPTY = 1e-3


def dense(axes: Sequence[AxisLike]) -> Array:
    """Build the whole channel between states, shape (states, states), rows = original."""
    cells = tuple(len(axis.shares) for axis in axes)
    states = math.prod(cells)
    return forward(np.eye(states).reshape(states, *cells), axes).reshape(states, states)


def newton(
    y: Array,
    axes: Sequence[AxisLike],
    start: Array,
    *,
    tolerance: float,
    max_steps: int,
    matrix: Array | None = None,
) -> Fit:
    """Maximise the likelihood of one group by Newton steps.

    Parameters
    ----------
    y : ndarray, shape (m_1, .., m_k)
        Observed counts, with a positive total.
    axes : sequence of k axes
    start : ndarray, shape of y
        Not negative, with a positive forward image wherever y is positive.
    tolerance : float
        The gap to reach.
    max_steps : int
    matrix : ndarray, shape (states, states), optional
        ``dense(axes)``, where the caller has it already.

    Returns
    -------
    Fit

    Notes
    -----
    Minimises ``sum(m) - sum(y log m)`` with m = forward(x), over x >= 0. Its quadratic model at x is
    ``|| W z - c ||^2`` with ``W = diag(sqrt(e) / m) A^T`` and ``c = sqrt(e) - (m - y) / sqrt(e)``, where e is y,
    or a tiny number where y is 0; for e = y that is ``c = 2 sqrt(y) - m / sqrt(y)``. A backtracking search
    between x and z keeps it from overshooting. Where scipy's solver gives up, or no step gains anything,
    the answer so far is returned with ``converged`` False. Cost and memory grow as the square of the states and more.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - half a second of import that most answers do not need

    a = dense(axes) if matrix is None else matrix
    n = float(y.sum())
    flat = y.reshape(-1)
    root = np.sqrt(np.maximum(flat, _EMPTY))
    x = start * (n / start.sum())
    now = gap(x, y, axes)
    step = 0
    while now > tolerance and step < max_steps:
        m = np.maximum(x.reshape(-1) @ a, 1e-250)
        try:
            z, _ = nnls((root / m)[:, None] * a.T, root - (m - flat) / root)
        except RuntimeError:
            break
        moved = _search(x, z.reshape(y.shape), y, axes)
        if moved is None:
            break
        x, step = moved, step + 1
        now = gap(x, y, axes)
    return Fit(x, now, np.asarray(step, dtype=np.int64), np.asarray(now <= tolerance))


def _search(x: Array, z: Array, y: Array, axes: Sequence[AxisLike]) -> Array | None:
    """Go from x towards z as far as the likelihood rises; None where it does not rise at all."""
    n = float(y.sum())
    if not (np.isfinite(z).all() and z.sum() > 0):
        return None
    size = 1.0
    for _ in range(40):
        trial = (1 - size) * x + size * z
        # Scaling to the right total is the exact minimum along the ray, so it can only help.
        trial *= n / totals(trial, axes)
        if log_gain(trial, x, y, axes) > 0:
            return trial
        size /= 2
    return None
