"""What is believed of a row after its published value is seen, for a stated prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.privacy.channel import Array, Channel, RetentionChannel, UniformChannel, distribution


def posterior(channel: Channel, prior: ArrayLike, output: int) -> Array:
    """The distribution of the original value, given one output.

    Parameters
    ----------
    channel : Channel
    prior : array_like, shape (inputs,)
    output : int

    Returns
    -------
    ndarray, shape (inputs,)

    Raises
    ------
    ValueError
        If the output cannot be seen under this prior.
    """
    before = _prior(channel, prior)
    joint = before * channel.into(output)
    total = joint.sum()
    if total == 0:
        raise ValueError(f"output {output} is never seen under this prior")
    result: Array = joint / total
    return result


def property_posterior(channel: Channel, prior: ArrayLike, members: ArrayLike, output: int) -> float:
    """The probability that the original value has a property, given one output.

    Parameters
    ----------
    channel : Channel
    prior : array_like, shape (inputs,)
    members : array_like of bool, shape (inputs,)
        Which values have the property.
    output : int

    Returns
    -------
    float
    """
    mask = np.asarray(members)
    if mask.dtype != np.bool_ or mask.shape != (channel.inputs,):
        raise ValueError("members says of each original value, by True or False, whether it has the property")
    return float(posterior(channel, prior, output)[mask].sum())


def output_distribution(channel: Channel, prior: ArrayLike) -> Array:
    """How often each value is published; shape (outputs,)."""
    before = _prior(channel, prior)
    if isinstance(channel, UniformChannel | RetentionChannel):
        mixed: Array = channel.retain * before + (1 - channel.retain) * channel.shares
        return mixed
    return before @ channel.matrix()


def best_guesses(channel: Channel, prior: ArrayLike) -> NDArray[np.intp]:
    """The likeliest original value for each output: the guess that is right most often; shape (outputs,).

    Notes
    -----
    For retention replacement the guess is either the value seen, or the most common value of all, whichever has the
    higher ``prior * probability``; so nothing grows with the square of the domain.
    """
    before = _prior(channel, prior)
    if not isinstance(channel, UniformChannel | RetentionChannel):
        likeliest: NDArray[np.intp] = np.argmax(before[:, None] * channel.matrix(), axis=0)
        return likeliest
    seen = np.arange(channel.outputs)
    common = int(np.argmax(before))
    drawn = (1 - channel.retain) * channel.shares
    return np.where(before * (channel.retain + drawn) >= before[common] * drawn, seen, common)


def guess_rate(channel: Channel, prior: ArrayLike) -> float:
    """How often the best guess per row is right, over the rows and the coins.

    >>> guess_rate(UniformChannel(0.5, 2), [0.5, 0.5])
    0.75
    """
    before = _prior(channel, prior)
    guesses = best_guesses(channel, before)
    if isinstance(channel, UniformChannel | RetentionChannel):
        seen = np.arange(channel.outputs)
        kept = channel.retain * (guesses == seen)
        return float((before[guesses] * (kept + (1 - channel.retain) * channel.shares)).sum())
    joint = before[:, None] * channel.matrix()
    return float(joint.max(axis=0).sum())


def _prior(channel: Channel, prior: ArrayLike) -> Array:
    before = distribution("the prior", prior)
    if len(before) != channel.inputs:
        raise ValueError(f"the prior has {len(before)} values, the channel {channel.inputs}")
    return before
