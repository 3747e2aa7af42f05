"""Brownian motion of a row: one path for all magnitudes of noise, any point of which can be asked for at any time.

Noise at magnitude s2 is the path's place at time s2. Copies at several magnitudes then have independent increments,
the corner-wave law: what a noisier copy adds to a less noisy one is noise of its own.

A path is found by halving. The place at 1 is a normal number; 10, 100, .. follow by steps of their own, and 0.1,
0.01, .. by the bridge between 0 and the power above. Twice to nine times a power of ten lie between it and the next,
the middle one first; a further digit lies between two neighbours of those, and so on. Each time has a key of its own,
so the order in which times are asked for changes nothing, and a time of few digits costs few draws: 0.5 takes three.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from ppdm_udfs.draws import Reals, draw
from ppdm_udfs.errors import KernelError
from ppdm_udfs.keys import subkey
from ppdm_udfs.normals import normals
from ppdm_udfs.slices import over_slices
from ppdm_udfs.wide import Words

Magnitude: TypeAlias = int | float | str | Decimal

MAX_DIGITS = 15
"""Significant digits of a magnitude: as many as every float64 tells apart."""

POWERS = (-6, 6)
"""A magnitude lies between ten to these powers."""

_CHUNK = 8_192  # rows whose places at all needed times stay in the second-level cache
_SLICE = 4 * _CHUNK  # rows a thread takes at a time: a row at many times is much work


@dataclass(frozen=True, order=True)
class Time:
    """``digits * 10**power``, with a last digit that is not 0."""

    digits: int
    power: int

    @property
    def value(self) -> Fraction:
        """The time as an exact number."""
        return Fraction(self.digits) * Fraction(10) ** self.power

    @property
    def number(self) -> Decimal:
        """The time as a magnitude."""
        return Decimal(self.digits).scaleb(self.power)


def time_of(magnitude: Magnitude) -> Time:
    """Return a magnitude as the decimal number that it is written as.

    >>> time_of(0.25)
    Time(digits=25, power=-2)
    """
    try:
        number = Decimal(repr(magnitude) if isinstance(magnitude, float) else magnitude)
    except (InvalidOperation, TypeError, ValueError):
        number = Decimal("nan")
    if not number.is_finite() or number <= 0:
        raise KernelError(f"a magnitude of noise is a number above 0, not {magnitude!r}")
    low, high = POWERS
    if not Decimal(1).scaleb(low) <= number <= Decimal(1).scaleb(high):
        raise KernelError(f"a magnitude of noise lies between 1e{low} and 1e{high}, not at {magnitude}")
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    time = _reduced(int("".join(map(str, digits))), exponent)
    if time.digits >= 10**MAX_DIGITS:
        raise KernelError(f"a magnitude of noise has at most {MAX_DIGITS} significant digits, unlike {magnitude}")
    return time


def parents(time: Time) -> tuple[Time | None, Time | None]:
    """Return the times just before and after, of those that come first; None stands for 0 before, for nothing after.

    >>> parents(Time(25, -2))
    (Time(digits=2, power=-1), Time(digits=3, power=-1))
    """
    digits, power = time.digits, time.power
    if digits == 1:
        if power == 0:
            return None, None
        return (Time(1, power - 1), None) if power > 0 else (None, Time(1, power + 1))
    digit = digits % 10
    base, low, high = digits - digit, 0 if digits > 9 else 1, 10
    while (middle := (low + high) // 2) != digit:
        low, high = (low, middle) if digit < middle else (middle, high)
    return _reduced(base + low, power), _reduced(base + high, power)


def motions(
    magnitudes: Sequence[Magnitude],
    *,
    key: bytes,
    table: str,
    column: str,
    blocks: Words,
    parameters: str = "",
    threads: int | None = None,
) -> Reals:
    """Return the places of a column's paths at several magnitudes, shape (magnitudes, rows): variance = magnitude.

    Row by row a function of the key, the names, the parameters, the magnitude and the row's block alone, which has its
    identity and its value in it (`ppdm_udfs.coins`).
    """
    wanted = [time_of(magnitude) for magnitude in magnitudes]
    order = _order(wanted)
    cipher_key = _cipher_keys(key, table, column, parameters)
    result = np.empty((len(wanted), len(blocks)))

    def part(start: int, stop: int) -> None:
        for first in range(start, stop, _CHUNK):
            last = min(first + _CHUNK, stop)
            places = _places(order, blocks[first:last], cipher_key)
            for line, time in zip(result, wanted, strict=True):
                line[first:last] = places[time]

    over_slices(part, len(blocks), rows=_SLICE, threads=threads)
    return result


def _places(order: Sequence[Time], blocks: Words, cipher_key: Callable[[Time], bytes]) -> dict[Time, Reals]:
    places: dict[Time, Reals] = {}
    for time in order:
        before, after = parents(time)
        weight_before, weight_after, spread = _bridge(time, before, after)
        place = normals(draw(cipher_key(time), blocks)[:, 0])
        place *= spread
        if before is not None:
            place += weight_before * places[before]
        if after is not None:
            place += weight_after * places[after]
        places[time] = place
    return places


@cache
def _bridge(time: Time, before: Time | None, after: Time | None) -> tuple[float, float, float]:
    """The weights of the neighbours' places in the mean, and the standard deviation about it."""
    start = before.value if before is not None else Fraction(0)
    if after is None:
        return 1.0, 0.0, math.sqrt(time.value - start)
    width = after.value - start
    spread = (time.value - start) * (after.value - time.value) / width
    return float((after.value - time.value) / width), float((time.value - start) / width), math.sqrt(spread)


def _order(wanted: Iterable[Time]) -> tuple[Time, ...]:
    """All times that are needed, each after its parents."""
    found: dict[Time, None] = {}

    def visit(time: Time) -> None:
        if time not in found:
            for parent in parents(time):
                if parent is not None:
                    visit(parent)
            found[time] = None

    for time in wanted:
        visit(time)
    return tuple(found)


def _cipher_keys(key: bytes, table: str, column: str, parameters: str) -> Callable[[Time], bytes]:
    """Return time -> key, remembered for one call only, so that no key outlives its use."""
    address = ("noise", table.casefold(), column.casefold(), parameters)
    subkey(key, *address)
    return cache(lambda time: subkey(key, *address, time.digits, time.power))


def _reduced(digits: int, power: int) -> Time:
    while digits % 10 == 0:
        digits, power = digits // 10, power + 1
    return Time(digits, power)
