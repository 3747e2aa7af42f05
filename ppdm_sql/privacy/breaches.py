"""What gamma promises of every property and every prior (Statement 1 of Evfimievski, Gehrke and Srikant, 2003).

A channel with amplification gamma multiplies the odds of a property by a number from 1/gamma to gamma, whatever was
known before. Both ends are attained, by a prior that sits on the two values whose ratio gamma is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.mechanisms.retention import gamma_for_breach
from ppdm_sql.privacy.channel import Array

_STRICTLY = 1 - 1e-13  # equality is a breach, and must not pass by a rounding


def highest_posterior(gamma: ArrayLike, prior: ArrayLike) -> Array:
    """The upward curve: the most that a property of probability `prior` can become; arrays broadcast.

    >>> float(highest_posterior(9, 0.1))
    0.5
    """
    amplification, before = _checked(gamma, prior)
    whole = before + (1 - before) / amplification
    return np.divide(before, whole, out=np.zeros(np.shape(whole)), where=whole > 0)


def lowest_posterior(gamma: ArrayLike, prior: ArrayLike) -> Array:
    """The downward curve: the least that a property of probability `prior` can become.

    It is also the largest prior that stays at or below a posterior: what `highest_posterior` undoes.

    >>> round(float(lowest_posterior(9, 0.5)), 12)
    0.1
    """
    amplification, before = _checked(gamma, prior)
    left = before / amplification
    whole = left + (1 - before)
    return np.divide(left, whole, out=np.ones(np.shape(whole)), where=whole > 0)


def excludes_breach(gamma: float, rho1: float, rho2: float) -> bool:
    """Whether there is neither an upward rho1-to-rho2 breach nor a downward rho2-to-rho1 one, whatever the prior.

    Upward: a property of at most rho1 becomes at least rho2. Downward: one of at least rho2 becomes at most rho1. The
    same inequality, a strict one, excludes both.

    >>> excludes_breach(6, 1 / 7, 1 / 2), excludes_breach(5.99, 1 / 7, 1 / 2)
    (False, True)
    """
    if not 0 < rho1 < rho2 < 1:
        raise ValueError(f"a breach is from rho1 to rho2 with 0 < rho1 < rho2 < 1, not from {rho1} to {rho2}")
    return (gamma_for_breach(rho1, rho2) - 1) * _STRICTLY > gamma - 1


def _checked(gamma: ArrayLike, prior: ArrayLike) -> tuple[Array, Array]:
    amplification, before = np.asarray(gamma, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if not (amplification >= 1).all():
        raise ValueError("gamma is at least 1")
    if not ((before >= 0) & (before <= 1)).all():
        raise ValueError("a prior lies in [0, 1]")
    return amplification, before
