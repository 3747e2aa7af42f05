"""Bounds on the error of a count that are stated in the papers, beside what is exact.

Theorem 1 of Agrawal, Srikant and Thomas (2005), also Theorem 2 of Chaytor and Wang (2010): from
``n >= 4 ln(2/delta) / (p epsilon)^2`` rows on, a count under one condition is within epsilon (a share of the rows) with
probability 1 - delta, whatever the condition. It is loose; `likely_error` of the standard error says what
happens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ppdm_sql.privacy.channel import Array


def bound_error(rows: ArrayLike, retain: ArrayLike, delta: ArrayLike) -> Array:
    """The error that Theorem 1 promises not to exceed, except with probability delta.

    >>> bound_error(10_000, 0.3, 0.05).round(4)
    np.float64(0.128)
    """
    n, p, miss = _checked(rows, retain, delta)
    result: Array = 2 * np.sqrt(np.log(2 / miss) / n) / p
    return result


def bound_rows(error: ArrayLike, retain: ArrayLike, delta: ArrayLike) -> Array:
    """The number of rows that Theorem 1 asks for.

    >>> bound_rows(0.128, 0.3, 0.05)
    np.float64(10007.0)
    """
    epsilon, p, miss = _checked(error, retain, delta)
    return np.ceil(4 * np.log(2 / miss) / (p * epsilon) ** 2)


def likely_error(standard_error: ArrayLike, delta: ArrayLike) -> Array:
    """The error that is exceeded with probability delta, by the normal law that sums over many rows follow.

    >>> likely_error(0.0159, 0.05).round(4)
    np.float64(0.0312)
    """
    spread, miss = (np.asarray(a, dtype=np.float64) for a in (standard_error, delta))
    if not (spread >= 0).all() or not ((miss > 0) & (miss < 1)).all():
        raise ValueError("a standard error is at least 0, and delta lies in (0, 1)")
    result: Array = -ndtri(miss / 2) * spread
    return result


def condition_number(retain: ArrayLike, share: ArrayLike) -> Array:
    """How much inversion can magnify relative errors, at most, under conditions on independent columns.

    Parameters
    ----------
    retain, share : array_like, shape (..., k)
        Of each condition: the retention of its column, and the share of the domain where it holds.

    Returns
    -------
    ndarray, the leading shape
        Of the transition between the 2^k states, in the 2-norm: the product over the columns, about p^-k.

    Examples
    --------
    >>> condition_number([0.5, 0.5], 0.5)
    np.float64(4.0)
    """
    p, b = np.broadcast_arrays(np.atleast_1d(np.asarray(retain, float)), np.atleast_1d(np.asarray(share, float)))
    if not ((p > 0) & (p <= 1) & (b >= 0) & (b <= 1)).all():
        raise ValueError("retain lies in (0, 1], share in [0, 1]")
    # Two cells: the product of the singular values is the determinant p, and the sum of their squares is that of
    # all entries.
    drawn = (1 - p) * b
    other = (1 - p) * (1 - b)
    squares = (p + other) ** 2 + drawn**2 + other**2 + (p + drawn) ** 2
    each = (squares + np.sqrt(np.maximum(squares**2 - 4 * p**2, 0.0))) / (2 * p)
    result: Array = each.prod(axis=-1)
    return result


def _checked(first: ArrayLike, retain: ArrayLike, delta: ArrayLike) -> tuple[Array, Array, Array]:
    size, p, miss = (np.asarray(a, dtype=np.float64) for a in (first, retain, delta))
    if not (size > 0).all() or not ((p > 0) & (p <= 1)).all() or not ((miss > 0) & (miss < 1)).all():
        raise ValueError("rows and errors are above 0, retain lies in (0, 1], delta in (0, 1)")
    return size, p, miss
