"""Bayes: the never negative estimate of the original state counts, as the limit of the paper's iteration.

The paper's step (``bayes_step``) defines the estimate: its limit maximises a concave likelihood. ``solve`` goes
to that limit by quicker roads, and stops on a certificate (``gap``), not when two iterates look alike:

====================  ============================================================
inversion             wherever it is nowhere negative it is the maximum already
up to 64 states       ``interior``: all groups at once, 5 to 15 steps
up to 512 states      ``newton``: group by group, 3 to 6 steps
more                  ``quasi``: group by group, some hundreds of steps
what is left over     ``squarem``: all groups at once
====================  ============================================================

Measured on one core: 100,000 groups of 16 states in 3 to 5 s, one of 256 in 20 ms, one of 4,096 in under a second.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.errors import NotConverged
from ppdm_sql.reconstruct.interior import interior
from ppdm_sql.reconstruct.inversion import Array, AxisLike, as_tensor, invert
from ppdm_sql.reconstruct.likelihood import Fit, bayes_step, gap, iterate, totals, uniform
from ppdm_sql.reconstruct.newton import dense, newton
from ppdm_sql.reconstruct.quasi import quasi_newton
from ppdm_sql.reconstruct.squarem import squarem

__all__ = ["Fit", "attempt", "bayes_step", "gap", "iterate", "solve", "warn_open"]

INTERIOR_STATES = 64
NEWTON_STATES = 512
_LIMITS = {"interior": 60, "newton": 60, "quasi": 4000, "squarem": 1000}


def solve(
    y: ArrayLike,
    axes: Sequence[AxisLike],
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-3,
    max_steps: int | None = None,
) -> Fit:
    """Find the original counts under which the observed ones are most likely.

    Parameters
    ----------
    y : array_like, shape (..., m_1, .., m_k)
        Observed counts, not negative; leading axes are groups, each solved on its own.
    axes : sequence of k axes
    start : array_like, shape of y, optional
        A guess, e.g. the answer of nearly the same problem. Any non-negative tensor will do.
    tolerance : float
        The gap in log-likelihood at which a group is done; the default is far below sampling noise.
    max_steps : int, optional
        The limit of steps for each method; by default each has its own.

    Returns
    -------
    Fit
        Counts that are never negative and sum to the observed total of their group. A group without rows gives 0.

    Warns
    -----
    NotConverged
        Once, if a group's gap is above the tolerance.

    Notes
    -----
    Biased towards the inside where the truth has states near 0: not for numbers that are summed up over many groups
    later; use ``invert`` there. Where the channel makes two states all but alike, many answers are equally
    likely and one of them is returned.
    """
    fit = attempt(y, axes, start=start, tolerance=tolerance, max_steps=max_steps)
    warn_open(fit, tolerance, stacklevel=3)
    return fit


def warn_open(fit: Fit, tolerance: float, *, stacklevel: int) -> None:
    """Warn, once for all groups, where a fit stopped before its certificate."""
    left = int(np.count_nonzero(~fit.converged))
    if left:
        worst = float(fit.gap[~fit.converged].max())
        warnings.warn(
            NotConverged(
                f"the Bayes estimate of {left} of {fit.converged.size} groups stopped early: its log-likelihood "
                f"may be up to {worst:.3g} below the maximum, and {tolerance:.3g} was asked for; allow more "
                "steps, cut the columns into fewer cells, or use inversion"
            ),
            stacklevel=stacklevel,
        )


def attempt(
    y: ArrayLike,
    axes: Sequence[AxisLike],
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-3,
    max_steps: int | None = None,
) -> Fit:
    """Do what ``solve`` does, without its warning."""
    counts = as_tensor(y, axes)
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise ValueError("observed counts must be numbers of at least 0")
    leading = counts.shape[: counts.ndim - len(axes)]
    seen = counts.reshape(math.prod(leading), *counts.shape[len(leading) :])
    guess = None if start is None else np.broadcast_to(as_tensor(start, axes), counts.shape).reshape(seen.shape)

    x, gaps = _first(seen, axes, guess)
    steps = np.zeros(len(seen), dtype=np.int64)
    for method in _methods(seen, axes):
        left = np.flatnonzero(gaps > tolerance)
        if not left.size:
            break
        # Mixed with the uniform tensor: the methods need a start in which every state is positive.
        inside = 0.9 * x[left] + 0.1 * uniform(seen[left], axes)
        part = _run(method, seen[left], axes, inside, tolerance=tolerance, max_steps=max_steps)
        better = part.gap < gaps[left]
        x[left[better]], gaps[left[better]] = part.x[better], part.gap[better]
        steps[left] = part.steps
    return Fit(
        x.reshape(counts.shape), gaps.reshape(leading), steps.reshape(leading), gaps.reshape(leading) <= tolerance
    )


def _first(y: Array, axes: Sequence[AxisLike], guess: Array | None) -> tuple[Array, Array]:
    """Take inversion with its negative states cut off, or the caller's guess where that is better."""
    x = _scaled(invert(y, axes), y, axes)
    gaps = gap(x, y, axes)
    if guess is not None:
        other = _scaled(guess, y, axes)
        theirs = gap(other, y, axes)
        better = theirs < gaps
        x[better], gaps[better] = other[better], theirs[better]
    return x, gaps


def _scaled(x: Array, y: Array, axes: Sequence[AxisLike]) -> Array:
    x = np.maximum(x, 0.0)
    n, total = totals(y, axes), totals(x, axes)
    even = np.broadcast_to(uniform(y, axes), y.shape)
    # A tensor that sums to its total already is left alone, so that exact answers stay exact.
    factor = np.where(total == n, 1.0, n / np.where(total > 0, total, 1.0))
    return np.where(total > 0, x * factor, even)


def _methods(y: Array, axes: Sequence[AxisLike]) -> tuple[str, ...]:
    states = math.prod(y.shape[1:])
    if states <= INTERIOR_STATES:
        return ("interior", "newton", "squarem")
    return ("newton", "squarem") if states <= NEWTON_STATES else ("quasi", "squarem")


def _run(
    method: str, y: Array, axes: Sequence[AxisLike], start: Array, *, tolerance: float, max_steps: int | None
) -> Fit:
    """Run one method on groups of shape (groups, m_1, .., m_k)."""
    limit = _LIMITS[method] if max_steps is None else max_steps
    if method == "interior":
        return interior(y, axes, start, tolerance=tolerance, max_steps=limit)
    if method == "squarem":
        return squarem(y, axes, start, tolerance=tolerance, max_steps=limit)
    pairs = zip(y, start, strict=True)
    if method == "newton":
        matrix = dense(axes)
        fits = [newton(a, axes, b, tolerance=tolerance, max_steps=limit, matrix=matrix) for a, b in pairs]
    else:
        fits = [quasi_newton(a, axes, b, tolerance=tolerance, max_steps=limit) for a, b in pairs]
    return _stack(fits)


def _stack(fits: list[Fit]) -> Fit:
    steps: NDArray[np.int64] = np.stack([fit.steps for fit in fits])
    return Fit(
        np.stack([fit.x for fit in fits]),
        np.stack([fit.gap for fit in fits]),
        steps,
        np.stack([fit.converged for fit in fits]),
    )
