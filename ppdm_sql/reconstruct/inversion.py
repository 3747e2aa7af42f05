"""Inversion: the unbiased estimate of the original state counts, one axis after the other.

The channel of a query is a tensor product of one small matrix an axis, each an identity plus a matrix of rank
one (MATH: ``A[i, j] = p (i == j) + (1 - p) R_j``). So the product, its transpose and both their inverses cost
O(axes x states), and the large matrix is never built.

All functions take tensors of shape (..., m_1, .., m_k): the last k axes are cells, in the order of ``axes``,
and whatever leads is groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
_Index = tuple[EllipsisType | int | slice, ...]


class AxisLike(Protocol):
    """What the mathematics asks of an axis; ``ppdm_sql.channels.axis.Axis`` is one.

    A protocol and not an import, for channels and reconstruct know nothing of each other.
    """

    @property
    def retain(self) -> float:
        """The probability that a value is kept."""

    @property
    def shares(self) -> tuple[float, ...]:
        """The replacing distribution's share of each cell."""

    @property
    def fixed(self) -> tuple[int, ...]:
        """The cells that never change."""


def as_tensor(counts: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Return ``counts`` as floats, after checking that its last axes are the cells of ``axes``.

    Parameters
    ----------
    counts : array_like, shape (..., m_1, .., m_k)
    axes : sequence of k axes

    Raises
    ------
    ValueError
        If the shape does not end in (m_1, .., m_k).
    """
    tensor = np.asarray(counts, dtype=np.float64)
    cells = tuple(len(axis.shares) for axis in axes)
    if tensor.shape[tensor.ndim - len(cells) :] != cells or tensor.ndim < len(cells):
        raise ValueError(f"counts of shape {tensor.shape} do not end in the cells of the axes, {cells}")
    return tensor


def forward(x: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Give the expected observed counts of original counts.

    Parameters
    ----------
    x : array_like, shape (..., m_1, .., m_k)
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape of x
    """
    out = as_tensor(x, axes)
    for position, axis in _moving(axes):
        total = _free_total(out, axis, position)
        move = (1 - axis.retain) * _along(axis.shares, position)
        new = axis.retain * out + move * total
        for cell in _sure(axis, position):
            new[cell] = out[cell] + (1 - axis.retain) * (total[_first(position)] - out[cell])
        out = _keep_fixed(new, out, axis, position)
    return out.copy() if out is x else out


def invert(y: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Estimate the original counts by inversion: ``forward(invert(y)) = y``.

    Parameters
    ----------
    y : array_like, shape (..., m_1, .., m_k)
        Observed counts.
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape of y

    Notes
    -----
    Unbiased whatever the original table is, so right for one number and for all that is summed later. It may be
    negative, and its error grows as the product of 1/p over the axes: for a whole distribution over many
    states at a small p it is worse than the perturbed counts themselves. ``bayes.solve`` is made for that.
    """
    out = as_tensor(y, axes)
    for position, axis in _moving(axes):
        total = _free_total(out, axis, position)
        odds = (1 - axis.retain) / axis.retain
        new = out / axis.retain - odds * _along(axis.shares, position) * total
        for cell in _sure(axis, position):
            new[cell] = out[cell] - odds * (total[_first(position)] - out[cell])
        out = _keep_fixed(new, out, axis, position)
    return out.copy() if out is y else out


def adjoint(g: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Apply the transpose of ``forward``: ``<g, forward(x)> = <adjoint(g), x>``.

    Parameters
    ----------
    g : array_like, shape (..., m_1, .., m_k)
        One number for each observed state.
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape of g
        The expectation of g over what an original state is observed as.
    """
    out = as_tensor(g, axes)
    for position, axis in _moving(axes):
        mean = (_along(axis.shares, position) * out).sum(axis=position, keepdims=True)
        new = axis.retain * out + (1 - axis.retain) * mean
        for cell in _sure(axis, position):
            new[cell] = out[cell]
        out = _keep_fixed(new, out, axis, position)
    return out.copy() if out is g else out


def invert_adjoint(t: ArrayLike, axes: Sequence[AxisLike]) -> Array:
    """Give the row weights of a linear answer: ``<invert_adjoint(t), y> = <t, invert(y)>``.

    Parameters
    ----------
    t : array_like, shape (..., m_1, .., m_k)
        The target: what one original row of each state adds to the answer, e.g. the 0/1 indicator of the
        states that a query counts.
    axes : sequence of k axes

    Returns
    -------
    ndarray, shape of t
        What one observed row of each state adds to the estimate.
    """
    out = as_tensor(t, axes)
    for position, axis in _moving(axes):
        mean = (_along(axis.shares, position) * out).sum(axis=position, keepdims=True)
        odds = (1 - axis.retain) / axis.retain
        new = out / axis.retain - odds * mean
        for cell in _sure(axis, position):
            new[cell] = out[cell]
        out = _keep_fixed(new, out, axis, position)
    return out.copy() if out is t else out


def _moving(axes: Sequence[AxisLike]) -> list[tuple[int, AxisLike]]:
    """List the axes along which anything can change, with their positions counted from the end.

    An exact column, and a column whose values can only ever be in one cell, are left out: arithmetic with p would
    turn their 1 into 0.9999999.
    """
    return [
        (index - len(axes), axis)
        for index, axis in enumerate(axes)
        if axis.retain < 1 and len(axis.shares) - len(axis.fixed) > 1
    ]


def _along(values: Sequence[float], position: int) -> Array:
    """Shape a vector so that it broadcasts along the axis at ``position``, counted from the end."""
    return np.asarray(values, dtype=np.float64).reshape(-1, *([1] * (-position - 1)))


def _at(cell: int, position: int) -> _Index:
    return (..., cell, *([slice(None)] * (-position - 1)))


def _first(position: int) -> _Index:
    return _at(0, position)


def _sure(axis: AxisLike, position: int) -> list[_Index]:
    """Index the cell, if any, into which every replaced value falls.

    The general formula subtracts nearly equal numbers there; the callers have one that is exact.
    """
    return [_at(cell, position) for cell, share in enumerate(axis.shares) if share == 1]


def _free_total(tensor: Array, axis: AxisLike, position: int) -> Array:
    """Sum over the cells that are not fixed, keeping the axis."""
    if not axis.fixed:
        whole: Array = tensor.sum(axis=position, keepdims=True)
        return whole
    free = np.ones(len(axis.shares), dtype=bool)
    free[list(axis.fixed)] = False
    mask = free.reshape(-1, *([1] * (-position - 1)))
    part: Array = tensor.sum(axis=position, keepdims=True, where=mask)
    return part


def _keep_fixed(new: Array, old: Array, axis: AxisLike, position: int) -> Array:
    for cell in axis.fixed:
        new[_at(cell, position)] = old[_at(cell, position)]
    return new
