"""Evenly spaced points of a floating-point type: numbers to indices and back.

The points are ``(low + i * step) / 10**scale`` with whole numbers above and below the line, so that a point is the
double that its decimal text reads as: point 3 of step 0.1 is 0.3, not 0.30000000000000004.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppdm_udfs.buffers import Numbers
from ppdm_udfs.errors import KernelError
from ppdm_udfs.wide import Flags, Words

MAX_SCALE = 22
"""10**22 is the largest power of ten that a float64 holds exactly."""

_EXACT = 1 << 53
_SPACINGS_A_STEP = {np.dtype(np.float64): 16.0, np.dtype(np.float32): 1.1}


def check_reals(low: int, step: int, size: int, scale: int, dtype: np.dtype[Any]) -> None:
    """Refuse a grid whose points the type cannot tell apart.

    Encoding loses up to half a spacing of the type, and in float64 arithmetic up to five of float64; together they must
    stay under half a step, so that every point is its own nearest.
    """
    largest = max(abs(low), abs(low + (size - 1) * step))
    if scale > MAX_SCALE or largest > _EXACT:
        raise KernelError("a grid of reals has at most 22 decimals and its ends at most 2**53 units")
    spacing = float(np.spacing(dtype.type(largest / 10**scale))) * 10**scale
    if size > 1 and spacing * _SPACINGS_A_STEP[dtype] > step:
        raise KernelError(f"the step is too fine for {dtype} so far from zero: neighbouring points are one number")


def encode_reals(values: Numbers, low: int, step: int, size: int, scale: int, *, clamp: bool) -> tuple[Words, Flags]:
    """Return the index of the point nearest to each number; NaN has none, and infinity only with `clamp`."""
    with np.errstate(over="ignore", invalid="ignore"):
        position = values.astype(np.float64)
        position *= 10.0**scale
        position -= low
        position /= step
        np.rint(position, out=position)
        if clamp:
            np.clip(position, 0, size - 1, out=position)
        outside = ~((position >= 0) & (position <= size - 1))
    if outside.any():
        position[outside] = 0
    return position.astype(np.uint64), outside


def decode_reals(index: Words, low: int, step: int, scale: int, dtype: np.dtype[Any]) -> Numbers:
    """Return the points of indices: one correctly rounded division of exact integers."""
    points = index.astype(np.int64)
    points *= step
    points += low
    return (points / 10.0**scale).astype(dtype)
