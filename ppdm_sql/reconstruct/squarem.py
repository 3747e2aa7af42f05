"""SQUAREM: squared extrapolation of the Bayes step, many groups at once.

Needs no matrix and no second derivatives: it takes what the quicker methods leave over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ppdm_sql.reconstruct.inversion import Array, AxisLike
from ppdm_sql.reconstruct.likelihood import Fit, bayes_step, gap, log_gain, totals


def squarem(y: Array, axes: Sequence[AxisLike], start: Array, *, tolerance: float, max_steps: int) -> Fit:
    """Maximise the likelihood by extrapolated Bayes steps.

    Parameters
    ----------
    y : ndarray, shape (groups, m_1, .., m_k)
        Observed counts; every total is positive.
    axes : sequence of k axes
    start : ndarray, shape of y
        Every state positive; scaled to the totals of y.
    tolerance : float
        The gap at which a group is done.
    max_steps : int
        Extrapolations a group may take; each costs three Bayes steps.

    Returns
    -------
    Fit

    Notes
    -----
    Two Bayes steps from x give a difference r and a second difference v; the point ``x + 2 a r + a^2 v`` with
    a = |r|/|v| jumps along the slowest direction. It is computed on square roots, whose squares are never
    negative, and is taken only where its likelihood is not below that of the two plain steps, so the
    likelihood never falls. Slow where the maximum lies at the boundary with a gradient near 0 there: the gap then
    falls as 1/steps, and the Newton methods are far quicker.

    References
    ----------
    Varadhan and Roland (2008), Simple and globally convergent methods for accelerating the convergence of any
    EM algorithm. Scandinavian Journal of Statistics 35.
    """
    over = tuple(range(1, y.ndim))
    x = start * (totals(y, axes) / totals(start, axes))
    gaps = gap(x, y, axes)
    steps = np.zeros(y.shape[0], dtype=np.int64)
    active = np.flatnonzero(gaps > tolerance)
    part, seen = _groups_last(x[active]), _groups_last(y[active])
    for step in range(1, max_steps + 1):
        if not active.size:
            break
        part = _extrapolate(part, seen, axes, over)
        # The certificate costs as much as a Bayes step, so it is not asked for at every one.
        if step % 4 and 8 < step < max_steps:
            continue
        now = gap(part, seen, axes)
        gaps[active], steps[active] = now, step
        done = now <= tolerance
        if done.any() or step == max_steps:
            x[active] = part
            active = active[~done]
            part, seen = _groups_last(part[~done]), _groups_last(seen[~done])
    return Fit(x, gaps, steps, gaps <= tolerance)


def _groups_last(tensor: Array) -> Array:
    """Return the same tensor with its first axis innermost in memory.

    There are many groups and few cells an axis: sums over an axis then run along whole vectors of groups.
    """
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(tensor, 0, -1)), -1, 0)


def _extrapolate(x: Array, y: Array, axes: Sequence[AxisLike], over: tuple[int, ...]) -> Array:
    first = bayes_step(x, y, axes)
    second = bayes_step(first, y, axes)
    base = np.sqrt(x)
    middle = np.sqrt(first)
    r = middle - base
    v = (np.sqrt(second) - middle) - r
    size = (r * r).sum(axis=over, keepdims=True)
    bend = (v * v).sum(axis=over, keepdims=True)
    length = np.maximum(np.sqrt(size / np.maximum(bend, 1e-300)), 1.0)
    far = (base + 2 * length * r + length * length * v) ** 2
    far *= totals(second, axes) / totals(far, axes)
    better = log_gain(far, second, y, axes) >= 0
    return bayes_step(np.where(better.reshape(-1, *([1] * len(over))), far, second), y, axes)
