"""How good counts will be, before anything is released.

A count under k conditions, one a perturbed column, is estimated by inversion: a sum over rows of a product of k
weights. A condition holds for the share b of the column's domain; then a weight is ``(1[holds] - (1 - p) b) / p``. Its
mean is 1 for a row that meets the condition and 0 for one that does not, and the mean of its square is known, so the
variance of the estimate given the original table is exact, a sum over rows.

Here `retain`, `share` (of the domain) and `selectivity` (of the rows) are arrays whose last axis is the k conditions;
whatever leads broadcasts. A number is one condition. Errors are standard errors, relative to all rows of the table:
0.01 of a million rows is a count give or take 10,000.

Assumed: conditions are met independently of each other (`states_error` takes any dependence), and the rows that a
condition counts are not NULL by `nulls = "keep"`, which adds no error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.privacy.channel import Array

LEAST_RETENTION = 1e-9
_HALVINGS = 60  # of a range of 21 in the logarithm: down to the last digits of a double


def count_error(rows: ArrayLike, retain: ArrayLike, share: ArrayLike, selectivity: ArrayLike) -> Array:
    """The standard error of a count, as a share of the rows.

    Parameters
    ----------
    rows : array_like
        The number of rows n, of the leading shape.
    retain, share, selectivity : array_like, shape (..., k)

    Returns
    -------
    ndarray, the leading shape

    Examples
    --------
    A count of half of 10,000 rows, by one condition and by two, where 0.3 of each value is kept:

    >>> count_error(10_000, 0.3, 0.5, 0.5).round(4), count_error(10_000, [0.3, 0.3], 0.5, 0.5).round(4)
    (np.float64(0.0159), np.float64(0.0299))
    """
    return np.sqrt(row_variance(retain, share, selectivity) / _rows(rows))


def row_variance(retain: ArrayLike, share: ArrayLike, selectivity: ArrayLike) -> Array:
    """What one row adds to the variance of a count, on average over rows that meet conditions independently."""
    inside, outside, met = np.broadcast_arrays(*_squares(retain, share), _conditions("selectivity", selectivity))
    with np.errstate(over="ignore"):  # many conditions on columns that keep next to nothing: infinite
        variance: Array = (met * inside + (1 - met) * outside).prod(axis=-1) - met.prod(axis=-1)
    return np.maximum(variance, 0.0)


def own_count_error(rows: int, retain: float, selectivity: float) -> float:
    """The same for one column whose replacements are drawn among all of its own values: the count is the release's.

    A row that is counted leaves with (1 - p)(1 - s), another one enters with (1 - p) s.

    >>> round(own_count_error(10_000, 0.3, 0.5), 6)
    0.00477
    """
    leaves, enters = (1 - retain) * (1 - selectivity), (1 - retain) * selectivity
    variance = selectivity * leaves * (1 - leaves) + (1 - selectivity) * enters * (1 - enters)
    return float(np.sqrt(variance / rows))


def states_error(retain: ArrayLike, share: ArrayLike, counts: ArrayLike) -> float:
    """The standard error of a count when the original is known; no independence is assumed.

    Parameters
    ----------
    retain, share : array_like, shape (k,)
    counts : array_like, shape (2, .., 2)
        Rows of the original by which conditions they meet, index 1 of an axis for those that meet it.

    Returns
    -------
    float
        As a share of all rows.
    """
    inside, outside = _squares(retain, share)
    left = np.asarray(counts, dtype=np.float64)
    if left.shape != (2,) * len(inside):
        raise ValueError(f"counts of shape {left.shape} do not fit {len(inside)} conditions")
    rows, target = left.sum(), left[(1,) * left.ndim]
    for square_in, square_out in zip(inside, outside, strict=True):
        left = square_out * left[0] + square_in * left[1]
    return float(np.sqrt(max(float(left) - target, 0.0)) / _rows(rows))


def retention_for_error(
    error: ArrayLike, rows: ArrayLike, share: ArrayLike, selectivity: ArrayLike, predicates: int = 1
) -> Array:
    """The least retention, the same for all conditions, with which counts have at most this error.

    Parameters
    ----------
    error, rows, share, selectivity : array_like
        One number a case; they broadcast. All `predicates` conditions are alike.
    predicates : int

    Returns
    -------
    ndarray
        In [1e-9, 1].

    Examples
    --------
    >>> retention_for_error(0.0159, 10_000, 0.5, 0.5).round(3)
    np.float64(0.3)
    """
    wanted, n, b, met = np.broadcast_arrays(
        *(np.asarray(a, dtype=np.float64) for a in (error, rows, share, selectivity))
    )
    if predicates < 1 or not (wanted > 0).all():
        raise ValueError("an error is above 0, and a count has at least one condition")
    low, high = np.full(wanted.shape, LEAST_RETENTION), np.ones(wanted.shape)
    for _ in range(_HALVINGS):  # the error falls as the retention rises
        middle = np.sqrt(low * high)
        alike = (np.repeat(a[..., None], predicates, axis=-1) for a in (middle, b, met))
        enough = count_error(n, *alike) <= wanted
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)[()]


def rows_for_error(error: ArrayLike, retain: ArrayLike, share: ArrayLike, selectivity: ArrayLike) -> Array:
    """The number of rows that counts of at most this error take; shapes as in `count_error`.

    >>> rows_for_error(0.01, 0.3, 0.5, 0.5)
    np.float64(25278.0)
    """
    wanted = np.asarray(error, dtype=np.float64)
    if not (wanted > 0).all():
        raise ValueError("an error is above 0")
    return np.maximum(np.ceil(row_variance(retain, share, selectivity) / wanted**2), 1.0)


def _squares(retain: ArrayLike, share: ArrayLike) -> tuple[Array, Array]:
    """The mean of a weight's square, for rows that meet the condition and for those that do not."""
    p, b = np.broadcast_arrays(_conditions("retain", retain), _conditions("share", share))
    if not (p > 0).all():
        raise ValueError("retain is above 0: where nothing is kept, nothing can be reconstructed")
    drawn = (1 - p) * b
    return 1 + (p + drawn) * (1 - p - drawn) / p**2, drawn * (1 - drawn) / p**2


def _conditions(name: str, given: ArrayLike) -> Array:
    values = np.atleast_1d(np.asarray(given, dtype=np.float64))
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"{name} lies in [0, 1]")
    return values


def _rows(rows: ArrayLike) -> Array:
    n = np.asarray(rows, dtype=np.float64)
    if not (n > 0).all():
        raise ValueError("a table has at least one row")
    return n
