"""(s, rho1, rho2) guarantees of retention replacement (Agrawal, Srikant and Thomas, 2005, Section 5 and Lemma 1).

On a fine grid gamma is huge: a value that nobody else has, and that draws hardly ever hit, is almost surely true where
it is seen. What does hold there depends on how common a set is already. Let a set S have prior probability P(S), and
share R(S) of the replacing distribution; P(S)/R(S) is its relative prior. Seen a value in S, the chance that the
original is in S is `(p r + (1 - p) P(S)) / (p r + 1 - p)` with r the relative prior: nothing else counts.

The same formula with the relative prior of the single value seen gives the posterior of any set that holds it. So
where no single value has a relative prior of s or more, the bound is one for every property and every output, not
only for "seen in S, true in S".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.privacy.channel import Array

# 68 of the paper's example is 67.999.. in doubles.
_ROUNDING = 1e-12


def seen_posterior(retain: ArrayLike, relative_prior: ArrayLike, prior: ArrayLike) -> Array:
    """The chance that the original is in a set, given that the published value is.

    Parameters
    ----------
    retain : array_like
        p.
    relative_prior : array_like
        P(S)/R(S) where it is seen that the value is in S; P(v)/R(v) where the very value v of S is seen.
    prior : array_like
        P(S).

    Returns
    -------
    ndarray
        The arguments' broadcast shape.

    Examples
    --------
    >>> round(float(seen_posterior(0.2, 68, 0.1)), 12)
    0.95
    """
    p, r, before = (np.asarray(a, dtype=np.float64) for a in (retain, relative_prior, prior))
    if not ((p >= 0) & (p <= 1)).all() or not ((before >= 0) & (before <= 1)).all() or not (r >= 0).all():
        raise ValueError("retain and prior lie in [0, 1], a relative prior is at least 0")
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.where(p > 0, p * r, 0.0) / (1 - p)  # that what is seen was kept; 0/0 where it cannot be seen
        kept = np.nan_to_num(np.where(np.isinf(odds), 1.0, odds / (1 + odds)), nan=0.0)
    result: Array = kept + (1 - kept) * before
    return result


def safe_relative_prior(retain: float, rho1: float, rho2: float) -> float:
    """Theorem 4: no set of relative prior below this, and prior at most rho1, is rho2 likely where it is seen.

    >>> round(safe_relative_prior(0.2, 0.1, 0.95), 9)
    68.0
    """
    _check(retain, rho1, rho2)
    return math.inf if retain == 0 else (rho2 - rho1) * (1 - retain) / ((1 - rho2) * retain)


def safe_prior(retain: float, relative_prior: float, rho2: float) -> float:
    """The prior that a set of this relative prior must stay below, not to be rho2 likely where it is seen.

    Zero or less where no prior is safe.

    >>> safe_prior(0.2, 1, 0.95)
    0.9375
    """
    if not 0 <= retain < 1 or not 0 < rho2 < 1 or relative_prior < 0:
        raise ValueError("retain lies in [0, 1), rho2 in (0, 1), and a relative prior is at least 0")
    return rho2 - (1 - rho2) * relative_prior * retain / (1 - retain)


def safe_retention(relative_prior: float, rho1: float, rho2: float) -> float:
    """The largest retention that excludes (s, rho1, rho2) breaches for this relative prior s.

    >>> round(safe_retention(68, 0.1, 0.95), 9)
    0.2
    """
    _check(0.0, rho1, rho2)
    if not relative_prior > 0:
        raise ValueError("the relative prior is above 0")
    return (rho2 - rho1) / (rho2 - rho1 + (1 - rho2) * relative_prior)


def excludes_subset_breach(retain: float, relative_prior: float, rho1: float, rho2: float) -> bool:
    """Whether there is no (s, rho1, rho2) breach in one column, s being `relative_prior`.

    A breach needs a relative prior below s, so s may be the bound itself.

    >>> excludes_subset_breach(0.2, 68, 0.1, 0.95), excludes_subset_breach(0.2, 69, 0.1, 0.95)
    (True, False)
    """
    return relative_prior <= safe_relative_prior(retain, rho1, rho2) * (1 + _ROUNDING)


def safe_relative_prior_of_row(
    retains: Sequence[float], rho1: float, rho2: float, shares: Sequence[float] | None = None
) -> float:
    """Theorem 5: the bound for sets S_1 x .. x S_k of several independently perturbed columns.

    Parameters
    ----------
    retains : sequence of k floats
    rho1, rho2 : float
    shares : sequence of k floats, optional
        The replacing distribution's share of each S_i. Without them, the limit for small sets: it is above
        the bound of every larger set, so give the shares of the largest sets meant.

    Returns
    -------
    float
        Where the joint relative prior is below this, and the joint prior at most rho1, the posterior stays below rho2.

    Examples
    --------
    >>> round(safe_relative_prior_of_row([0.2, 0.2], 0.1, 0.95), 6)
    273.6
    """
    small = [0.0] * len(retains) if shares is None else list(shares)
    if not len(retains) or len(small) != len(retains) or not all(0 <= share <= 1 for share in small):
        raise ValueError("give at least one column, and for each one share in [0, 1]")
    for retain in retains:
        _check(retain, rho1, rho2)
    stays = math.prod((1 - p) * share + p for p, share in zip(retains, small, strict=True))
    drawn = math.prod(1 - p for p in retains)
    return math.inf if stays == 0 else rho2 * (1 - rho1) * drawn / ((1 - rho2) * stays)


def safe_retention_of_row(columns: int, relative_prior: float, rho1: float, rho2: float, share: float = 0.0) -> float:
    """The largest retention of each column, the same for all, that excludes (s, rho1, rho2) breaches of their sets.

    Parameters
    ----------
    columns : int
        How many columns a set is of.
    relative_prior : float
        s, of the joint set.
    rho1, rho2 : float
    share : float, optional
        The replacing distribution's share of the set in each column; 0 is the limit for small sets.

    Returns
    -------
    float
        0 where no retention does.

    Examples
    --------
    >>> round(safe_retention_of_row(2, 273.6, 0.1, 0.95), 9)
    0.2
    """
    _check(0.0, rho1, rho2)
    if columns < 1 or not relative_prior > 0 or not 0 <= share <= 1:
        raise ValueError("give at least one column, a relative prior above 0, and a share in [0, 1]")
    odds = math.pow(relative_prior * (1 - rho2) / (rho2 * (1 - rho1)), 1 / columns)
    return max(0.0, (1 - odds * share) / (1 + odds * (1 - share)))


def identity_posterior(retain: ArrayLike, prior: ArrayLike) -> Array:
    """Identity perturbation and swapping, where draws follow the data: what a set becomes when it is seen.

    >>> round(float(identity_posterior(0.2, 0.5)), 9)
    0.6
    """
    return seen_posterior(retain, 1.0, prior)


def identity_safe_prior(retain: float, rho2: float) -> float:
    """Lemma 1: under identity perturbation no set with a prior below this is rho2 likely where it is seen.

    >>> round(identity_safe_prior(0.2, 0.95), 4)
    0.9375
    """
    return safe_prior(retain, 1.0, rho2)


def _check(retain: float, rho1: float, rho2: float) -> None:
    if not 0 <= retain <= 1:
        raise ValueError(f"retain must lie in [0, 1], not {retain}")
    if not 0 < rho1 < rho2 < 1:
        raise ValueError(f"a breach is from rho1 to rho2 with 0 < rho1 < rho2 < 1, not from {rho1} to {rho2}")
