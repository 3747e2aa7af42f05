"""Arithmetic on 128-bit integers held as (low, high) pairs of 64-bit words, vectorised.

HUGEINT and DECIMAL values do not fit any numpy type; Python integers would be a hundred times slower.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]

WORD = 1 << 64
INT128_MIN = -(1 << 127)
INT128_MAX = (1 << 127) - 1

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_SIGN = np.uint64(1 << 63)
_DIGITS_AT_ONCE = 9  # 10**9 is the largest power of ten below 2**32, which schoolbook division needs


@dataclass(frozen=True)
class Wide:
    """128-bit two's complement integers: ``low + 2**64 * high``."""

    low: Words
    high: Words

    @classmethod
    def of_blocks(cls, blocks: Words) -> Wide:
        """View an (n, 2) array, low word first."""
        return cls(blocks[:, 0], blocks[:, 1])

    def blocks(self) -> Words:
        """Return an (n, 2) array, low word first."""
        return np.stack((self.low, self.high), axis=1)


def split(number: int) -> tuple[np.uint64, np.uint64]:
    """Return the low and high word of a Python integer modulo 2**128."""
    return np.uint64(number % WORD), np.uint64((number >> 64) % WORD)


def multiply_high(words: Words, factor: int) -> Words:
    """Return the high 64 bits of the 128-bit product, exactly, by 32-bit halves."""
    high = words >> _HALF
    low = words & _MASK
    if factor <= 1 << 32:
        by = np.uint64(factor)
        low *= by
        low >>= _HALF
        high *= by
        high += low
        high >>= _HALF
        return high
    by_low, by_high = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    middle = high * by_low + ((low * by_low) >> _HALF)
    other = low * by_high + (middle & _MASK)
    top: Words = high * by_high + (middle >> _HALF) + (other >> _HALF)
    return top


def multiply(words: Words, factor: int) -> Wide:
    """Return ``words * factor`` modulo 2**128, for a factor below 2**128."""
    low, high = split(factor)
    return Wide(words * low, multiply_high(words, int(low)) + words * high)


def add(numbers: Wide, number: int) -> Wide:
    """Return ``numbers + number`` modulo 2**128."""
    low, high = split(number)
    total = numbers.low + low
    return Wide(total, numbers.high + high + (total < low))


def negative(numbers: Wide) -> Flags:
    """Tell which numbers are below zero."""
    return numbers.high >= _SIGN


def negate(numbers: Wide, where: Flags) -> Wide:
    """Change the sign of the chosen numbers."""
    low = np.where(where, ~numbers.low + np.uint64(1), numbers.low)
    high = np.where(where, ~numbers.high + (numbers.low == 0), numbers.high)
    return Wide(low, high)


def below(numbers: Wide, bound: int) -> Flags:
    """Tell which numbers are less than `bound`, by signed comparison of all 128 bits."""
    if bound > INT128_MAX:
        return np.ones(len(numbers.low), dtype=np.bool_)
    if bound <= INT128_MIN:
        return np.zeros(len(numbers.low), dtype=np.bool_)
    low, high = split(bound)
    signed, of_bound = numbers.high ^ _SIGN, high ^ _SIGN
    result: Flags = (signed < of_bound) | ((signed == of_bound) & (numbers.low < low))
    return result


def replace(numbers: Wide, where: Flags, number: int) -> Wide:
    """Return the numbers with one number put in the chosen places."""
    low, high = split(number)
    return Wide(np.where(where, low, numbers.low), np.where(where, high, numbers.high))


def divide_small(numbers: Wide, divisor: int) -> tuple[Wide, Words]:
    """Return quotient and remainder of unsigned numbers by a divisor below 2**32."""
    by = np.uint64(divisor)
    rest = np.zeros_like(numbers.low)
    halves = []
    for digit in (numbers.high >> _HALF, numbers.high & _MASK, numbers.low >> _HALF, numbers.low & _MASK):
        quotient, rest = np.divmod((rest << _HALF) | digit, by)
        halves.append(quotient)
    return Wide((halves[2] << _HALF) | halves[3], (halves[0] << _HALF) | halves[1]), rest


def divide_power_of_ten(numbers: Wide, exponent: int) -> tuple[Wide, Flags]:
    """Return unsigned numbers divided by ``10**exponent``, and where something remained."""
    inexact = np.zeros(len(numbers.low), dtype=np.bool_)
    while exponent > 0:
        digits = min(exponent, _DIGITS_AT_ONCE)
        numbers, rest = divide_small(numbers, 10**digits)
        inexact |= rest != 0
        exponent -= digits
    return numbers, inexact
