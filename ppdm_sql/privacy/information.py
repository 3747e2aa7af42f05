"""Information about the original in the output: on average, and in the worst case (Evfimievski et al., Section 6).

Everything is in base-2 logarithms unless another function f is given, for which t f(t) must be convex on t > 0.
Mutual information averages over outputs, and so overlooks an output that is rare and tells everything; the worst-case
measures take the largest over outputs, and bound upward and downward breaches.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from ppdm_sql.privacy.channel import Array, Channel, RetentionChannel, UniformChannel
from ppdm_sql.privacy.posterior import output_distribution

Function = Callable[[Array], Array]


def output_information(channel: Channel, prior: ArrayLike, f: Function = np.log2) -> Array:
    """For each output y, the distance ``KL(posterior given y || prior)``.

    Parameters
    ----------
    channel : Channel
    prior : array_like, shape (inputs,)
    f : callable, optional
        Takes and gives an array; in place of the logarithm.

    Returns
    -------
    ndarray, shape (outputs,)
        0 for an output that is never seen.
    """
    return _distances(channel, prior, lambda t: t * _at(f, t, zero=0.0))


def inverse_output_information(channel: Channel, prior: ArrayLike, f: Function = np.log2) -> Array:
    """For each output y, the distance ``KL(prior || posterior given y)``; infinite where y rules a value out."""
    return _distances(channel, prior, lambda t: _at(f, np.divide(1, t, out=np.full_like(t, np.inf), where=t > 0)))


def mutual_information(channel: Channel, prior: ArrayLike, f: Function = np.log2) -> float:
    """The mean of `output_information` over the outputs.

    >>> round(mutual_information(UniformChannel(0.2, 2), [0.5, 0.5]), 5)
    0.02905
    """
    return float(output_distribution(channel, prior) @ output_information(channel, prior, f))


def worst_case_information(channel: Channel, prior: ArrayLike, f: Function = np.log2) -> float:
    """The largest of `output_information`, which bounds upward breaches."""
    return float(output_information(channel, prior, f).max())


def inverse_worst_case_information(channel: Channel, prior: ArrayLike, f: Function = np.log2) -> float:
    """The largest of `inverse_output_information`, which bounds downward breaches."""
    return float(inverse_output_information(channel, prior, f).max())


def information_of_breach(rho1: float, rho2: float, f: Function = np.log2) -> float:
    """Statements 6 and 7: the least information with which there can be a breach between rho1 and rho2.

    With less worst-case information there is no upward rho1-to-rho2 breach, with less inverse worst-case
    information no downward rho2-to-rho1 breach: for the prior that the information was computed with.

    >>> round(information_of_breach(0.1, 0.5), 4)
    0.737
    """
    if not 0 < rho1 < rho2 < 1:
        raise ValueError(f"a breach is from rho1 to rho2 with 0 < rho1 < rho2 < 1, not from {rho1} to {rho2}")
    high, low = (float(f(np.asarray(t))) for t in (rho2 / rho1, (1 - rho2) / (1 - rho1)))
    return rho2 * high + (1 - rho2) * low


def _distances(channel: Channel, prior: ArrayLike, term: Function) -> Array:
    """Sum over the inputs, for each output, ``prior * term(posterior / prior)``."""
    seen = output_distribution(channel, prior)
    before = np.asarray(prior, dtype=np.float64)
    if isinstance(channel, UniformChannel | RetentionChannel):
        # All inputs but the output itself have one and the same ratio, so a matrix is not needed.
        drawn = (1 - channel.retain) * channel.shares
        other, same = (_ratio(part, seen) for part in (drawn, channel.retain + drawn))
        result = _weigh(1 - before, term(other)) + _weigh(before, term(same))
    else:
        result = _weigh(before[:, None], term(_ratio(channel.matrix(), seen))).sum(axis=0)
    result[seen == 0] = 0.0
    return result


def _ratio(likelihood: Array, seen: Array) -> Array:
    return np.divide(likelihood, seen, out=np.zeros(np.broadcast_shapes(likelihood.shape, seen.shape)), where=seen > 0)


def _weigh(weights: Array, terms: Array) -> Array:
    """The product, where a weight of 0 silences even an infinite term."""
    shape = np.broadcast_shapes(weights.shape, terms.shape)
    return np.multiply(weights, terms, out=np.zeros(shape), where=np.broadcast_to(weights > 0, shape))


def _at(f: Function, t: Array, zero: float | None = None) -> Array:
    """f at every t; where t is 0 it is `zero`, if that is given."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.asarray(f(t), dtype=np.float64)
    return values if zero is None else np.where(t > 0, values, zero)
