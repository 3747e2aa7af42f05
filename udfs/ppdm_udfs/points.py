"""Evenly spaced points of an integer type: numbers to indices and back.

The parameters are in the array's own unit. Encoders return the indices and where a number has none; an index in such a
place is undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ppdm_udfs import wide
from ppdm_udfs.buffers import Numbers
from ppdm_udfs.wide import WORD, Flags, Wide, Words


def encode_points(
    values: Numbers, low: int, step: int, size: int, *, nearest: bool, clamp: bool
) -> tuple[Words, Flags]:
    """Return the index of each number of a machine integer type.

    Subtraction is modulo 2**64, which is right after a range check: a difference of two 64-bit numbers need not fit
    64 signed bits, but inside the domain it is never negative.
    """
    high = low + (size - 1) * step
    half = step // 2 if nearest else 0
    if clamp:
        outside = np.zeros(len(values), dtype=np.bool_)
        values = np.clip(values, values.dtype.type(low), values.dtype.type(high))
    else:
        margin = step - half - 1 if nearest else 0
        outside = _outside(values, low - half, high + margin)
    index = values.astype(np.uint64)
    index -= np.uint64((low - half) % WORD)
    if step > 1:
        index, rest = np.divmod(index, np.uint64(step))
        if not nearest:
            outside |= rest != 0
    return index, outside


def _outside(values: Numbers, low: int, high: int) -> Flags:
    limits = np.iinfo(values.dtype)
    exact = values.dtype.type
    outside: Flags = values < exact(max(low, int(limits.min)))
    outside |= values > exact(min(high, int(limits.max)))
    return outside


def decode_points(index: Words, low: int, step: int, dtype: np.dtype[Any]) -> Numbers:
    """Return the numbers of indices, in a machine integer type."""
    values = index if step == 1 else index * np.uint64(step)
    return (values + np.uint64(low % WORD)).astype(dtype)


def encode_wide(
    values: Wide, low: int, step: int, size: int, *, exponent: int, nearest: bool, clamp: bool
) -> tuple[Words, Flags]:
    """Return the index of each 128-bit number on a grid whose unit is ``10**exponent`` of the numbers' own."""
    unit = 10**exponent
    half = step * unit // 2 if nearest else 0
    first, last = low * unit, (low + (size - 1) * step) * unit
    if clamp:
        values = wide.replace(values, wide.below(values, first), first)
        values = wide.replace(values, ~wide.below(values, last), last)
        outside = np.zeros(len(values.low), dtype=np.bool_)
    else:
        margin = step * unit - half - 1 if nearest else 0
        outside = wide.below(values, first - half) | ~wide.below(values, last + margin + 1)
    units, inexact = wide.divide_power_of_ten(wide.add(values, half - first), exponent)
    index = units.low
    if step > 1:
        index, rest = np.divmod(index, np.uint64(step))
        inexact |= rest != 0
    if not nearest:
        outside |= inexact
    return index, outside


def decode_wide(index: Words, low: int, step: int, *, exponent: int) -> Words:
    """Return the 128-bit numbers of indices as (n, 2) words."""
    unit = 10**exponent
    return wide.add(wide.multiply(index * np.uint64(step), unit), low * unit).blocks()
