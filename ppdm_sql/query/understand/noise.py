"""Products of columns with Gaussian noise, and what a row adds to the estimate of their sum.

The expectation of a noisy number is the original's, but that of its square is larger by the noise's variance, and that
of a product of two by the covariance of their noise. Taking these away again, for products of any length, is one rule:
with ``T`` the corrected form and ``C`` the covariance of the noise,

    T(x m) = x T(m) - sum over the variables v of C(x, v) T(dm / dv)

so T(x) = x, T(x x) = x x - C(x, x), T(x y) = x y - C(x, y), and so on (the Hermite polynomials, of several variables).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, order=True)
class Variable:
    """A column with noise, less a public number: of spreads, which do not depend on it, that keeps digits."""

    name: str
    centre: float = 0.0


Powers: TypeAlias = tuple[tuple[Variable, int], ...]
"""A product of variables, each with its power, in order; () is 1."""

Polynomial: TypeAlias = dict[Powers, float]


def times(one: Powers, other: Powers) -> Powers:
    """The product of two products.

    >>> x = Variable("x")
    >>> times(((x, 1),), ((x, 2),))
    ((Variable(name='x', centre=0.0), 3),)
    """
    powers = dict(one)
    for variable, power in other:
        powers[variable] = powers.get(variable, 0) + power
    return tuple(sorted(powers.items()))


def corrected(powers: Powers, covariance: Callable[[str, str], float]) -> Polynomial:
    """The polynomial of noisy numbers whose expectation is a product of the originals.

    >>> x = Variable("x")
    >>> [value for value in corrected(((x, 4),), lambda one, other: 2.0).values()]
    [1.0, -12.0, 12.0]
    """
    if not powers:
        return {(): 1.0}
    (first, power), *others = powers
    rest: Powers = (*([(first, power - 1)] if power > 1 else []), *others)
    result = {times(((first, 1),), term): value for term, value in corrected(rest, covariance).items()}
    for variable, count in rest:
        shared = covariance(first.name, variable.name)
        if shared:
            lower = tuple((v, p - (v == variable)) for v, p in rest if p > (v == variable))
            for term, value in corrected(lower, covariance).items():
                result[term] = result.get(term, 0.0) - count * shared * value
    return result
