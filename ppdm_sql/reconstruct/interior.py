"""An interior point method for the Bayes estimate, many small groups at once.

Where there are 100,000 groups of 16 states, one least squares problem a group and a step is too slow. The
primal-dual method needs only one linear system a group and a step, which numpy solves for all groups in one call.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.reconstruct.inversion import Array, AxisLike
from ppdm_sql.reconstruct.likelihood import Fit, gap, totals
from ppdm_sql.reconstruct.newton import dense

# Floats in the largest array, the stack of Hessians: 32 MB, so that a hundred thousand groups do not fill memory.
_BUDGET = 1 << 22
# The part of the way to the boundary that a step may go, and what a step asks of the product of x and z: tried
# 0.03, 0.1 and 0.3 on 4 to 64 states; 0.1 needs 7 to 11 steps.
_BOUNDARY = 0.995
_CENTRE = 0.1


def interior(y: Array, axes: Sequence[AxisLike], start: Array, *, tolerance: float, max_steps: int) -> Fit:
    """Maximise the likelihood of many groups by batched primal-dual Newton steps.

    Parameters
    ----------
    y : ndarray, shape (groups, m_1, .., m_k)
        Observed counts; every total is positive.
    axes : sequence of k axes
    start : ndarray, shape of y
        Every state positive and none negligible: the method goes slowly from a start next to the boundary.
    tolerance : float
        The gap at which a group is done.
    max_steps : int

    Returns
    -------
    Fit

    Notes
    -----
    Solves ``1 - adjoint(y / forward(x)) = z``, ``x z = mu``, x > 0, z > 0 by Newton steps while mu goes to 0.
    No line search: on the rare group for which full steps wander, it stops at ``max_steps`` unconverged. States
    that are 0 at the maximum come out tiny instead. Memory is groups x states^2 (in pieces), so it is meant for
    up to some 64 states.
    """
    groups, cells = y.shape[0], y.shape[1:]
    states = math.prod(cells)
    n = totals(y, axes).reshape(groups, 1)
    seen = y.reshape(groups, states) / n
    x = start.reshape(groups, states)
    x = x / x.sum(axis=1, keepdims=True)
    steps = np.zeros(groups, dtype=np.int64)
    channel = dense(axes)
    size = max(1, _BUDGET // states**2)
    for low in range(0, groups, size):
        part = slice(low, low + size)
        x[part], steps[part] = _climb(seen[part], channel, x[part], tolerance / n[part, 0], max_steps)
    x *= n / x.sum(axis=1, keepdims=True)
    fitted = x.reshape(y.shape)
    gaps = gap(fitted, y, axes)
    return Fit(fitted, gaps, steps, gaps <= tolerance)


def _climb(y: Array, a: Array, start: Array, tolerance: Array, max_steps: int) -> tuple[Array, NDArray[np.int64]]:
    """Run the method on one piece: y and start of shape (groups, states), each summing to 1."""
    best, steps = start.copy(), np.zeros(len(y), dtype=np.int64)
    # H = A diag(d) A^T for all groups is one product of d with this table of pairs of rows.
    pairs = np.ascontiguousarray((a[:, None, :] * a[None, :, :]).reshape(-1, len(a)).T)
    active = np.arange(len(y))
    x, z = start, 0.1 / (len(a) * start)
    for step in range(max_steps + 1):
        m = x @ a
        g = (y / m) @ a.T
        done = g.max(axis=1) * x.sum(axis=1) - 1.0 <= tolerance[active]
        if done.any() or step == max_steps:
            best[active], steps[active] = x, step
            left = ~done
            active, x, z, y, m, g = active[left], x[left], z[left], y[left], m[left], g[left]
        if not active.size or step == max_steps:
            break
        try:
            x, z = _step(x, z, y / (m * m), g, pairs)
        except np.linalg.LinAlgError:  # one singular system stops the piece; the caller has another method
            best[active], steps[active] = x, step
            break
    return best, steps


def _step(x: Array, z: Array, d: Array, g: Array, pairs: Array) -> tuple[Array, Array]:
    groups, states = x.shape
    mu = _CENTRE * (x * z).mean(axis=1, keepdims=True)
    hessian = (d @ pairs).reshape(groups, states, states)
    diagonal = np.arange(states)
    hessian[:, diagonal, diagonal] += z / x
    dx = np.linalg.solve(hessian, (g - 1.0 + mu / x)[:, :, None])[:, :, 0]
    dz = mu / x - z - (z / x) * dx
    return x + _length(x, dx) * dx, z + _length(z, dz) * dz


def _length(value: Array, change: Array) -> Array:
    """Give the longest step up to 1 that keeps every entry of a group positive, shape (groups, 1)."""
    room: Array = np.max(-change / value, axis=1, keepdims=True)
    longest: Array = _BOUNDARY / np.maximum(room, _BOUNDARY)
    return longest
