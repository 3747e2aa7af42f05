"""Standard normal numbers from random words, by the inverse of the normal distribution function.

Every step is an addition, a multiplication, a division or a square root, which IEEE 754 rounds in one way only: the
same bits give the same number on every machine. A library's logarithm does not promise that, so the one for the tails
is written out.

The rational functions are Wichura's (Algorithm AS 241, Applied Statistics 37, 1988), good to about 1e-16 of the value.
A word gives one of 2**64 numbers, symmetric about 0, up to 9.15 standard deviations.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ppdm_udfs.draws import Reals
from ppdm_udfs.wide import Words

# fmt: off
_CENTRE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.3871328727963666080),
    (5226.4952788528545610, 28729.085735721942674, 39307.895800092710610, 21213.794301586595867,
     5394.1960214247511077, 687.18700749205790830, 42.313330701600911252, 1.0),
)
_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258,
     3.64784832476320460504, 5.76949722146069140550, 4.63033784615654529590, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940, 2.05319162663775882187, 1.0),
)
_FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580, 5.46378491116411436990, 6.65790464350110377720),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)
# fmt: on
_MIDDLE = 0.425  # how far from one half a probability may be for the first of them
_TAIL_FROM = 1.6
_FAR_FROM = 5.0
_SIGN = np.uint64(1 << 63)
_LOG2_HIGH = 0.69314718036912381649  # the leading bits of ln 2, so that its product with an exponent is exact
_LOG2_LOW = 1.9082149292705877e-10
_ROOT_HALF = 0.70710678118654757
_SERIES = tuple(1 / odd for odd in range(21, 1, -2))  # of atanh, for arguments up to 0.172


def normals(bits: Words) -> Reals:
    """Return a standard normal number for each word; the first bit is its sign, the others say how far out it lies."""
    distance = (bits & ~_SIGN).astype(np.float64)
    distance += 0.5
    distance *= 2.0**-64  # the probability beyond the number, above 0 and at most one half
    offset = 0.5 - distance
    square = offset * offset
    np.subtract(_MIDDLE**2, square, out=square)
    result = _ratio(_CENTRE, square)
    result *= offset
    outer = np.flatnonzero(offset > _MIDDLE)
    if len(outer):
        result[outer] = _outer(distance[outer])
    np.negative(result, out=result, where=bits >= _SIGN)
    return result


def _outer(probability: Reals) -> Reals:
    """Return how far out a number lies beyond which there is so little."""
    root = np.sqrt(-logarithms(probability))
    result = _ratio(_TAIL, root - _TAIL_FROM)
    far = np.flatnonzero(root > _FAR_FROM)
    if len(far):
        result[far] = _ratio(_FAR_TAIL, root[far] - _FAR_FROM)
    return result


def logarithms(values: Reals) -> Reals:
    """Return natural logarithms of positive numbers, to about 1e-16 of the value away from 1."""
    fraction, exponent = np.frexp(values)
    low = fraction < _ROOT_HALF
    fraction = np.where(low, fraction * 2, fraction)
    power: npt.NDArray[np.float64] = (exponent - low).astype(np.float64)
    slope = (fraction - 1) / (fraction + 1)
    square = slope * slope
    series = _polynomial((*_SERIES, 1.0), square)
    result: Reals = power * _LOG2_HIGH + (2 * slope * series + power * _LOG2_LOW)
    return result


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], at: Reals) -> Reals:
    over, under = (_polynomial(line, at) for line in coefficients)
    over /= under
    return over


def _polynomial(coefficients: tuple[float, ...], at: Reals) -> Reals:
    """Return the polynomial, highest power first; in place, for new arrays would cost more than the arithmetic."""
    total = np.full_like(at, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= at
        total += coefficient
    return total
