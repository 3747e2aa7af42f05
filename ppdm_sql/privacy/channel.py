"""Channels: how likely each original value makes each published one.

A mechanism hands in the smallest of the three that describes it:

- `UniformChannel`: kept with probability p, else drawn evenly from `size` values; nothing grows with the size;
- `RetentionChannel`: the same with any replacing distribution (the data's own, for identity perturbation);
- `MatrixChannel`: any matrix of transition probabilities.

Whatever else has a `gamma` (select-a-size, say) fits the functions that need no more than that number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retention import gamma_of_retention

Array = NDArray[np.float64]

# Rows of a matrix are sums of quotients: 1 up to a few roundings.
_SUM_TOLERANCE = 1e-9


class Amplifying(Protocol):
    """What has an amplification."""

    @property
    def gamma(self) -> float:
        """How many times likelier one original value makes an output than another does, at most."""


class Channel(Amplifying, Protocol):
    """A channel whose transition probabilities can be asked for."""

    @property
    def inputs(self) -> int:
        """The number of original values."""

    @property
    def outputs(self) -> int:
        """The number of published values."""

    def into(self, output: int) -> Array:
        """The probability of one output, for each input; shape (inputs,)."""

    def matrix(self) -> Array:
        """All of them, shape (inputs, outputs); only for small domains."""


@dataclass(frozen=True)
class UniformChannel:
    """A value is kept with probability `retain`, else drawn evenly from `size` values.

    >>> round(UniformChannel(0.3, 74).gamma, 3)
    32.714
    >>> UniformChannel(0.5, 15_000_001).gamma
    15000002.0
    """

    retain: float
    size: int

    def __post_init__(self) -> None:
        _check_retain(self.retain)
        if self.size < 1:
            raise ValueError(f"a domain has at least one value, not {self.size}")

    @property
    def inputs(self) -> int:
        """The number of values."""
        return self.size

    @property
    def outputs(self) -> int:
        """The number of values."""
        return self.size

    @property
    def gamma(self) -> float:
        """Infinite where every value is kept; 1 where there is only one."""
        return 1.0 if self.size == 1 else gamma_of_retention(self.retain, self.size)

    @property
    def shares(self) -> Array:
        """The replacing distribution, in the memory of one number."""
        return np.broadcast_to(np.float64(1 / self.size), (self.size,))

    def into(self, output: int) -> Array:
        """The probability of one output, for each input."""
        return _kept_or_drawn(self.retain, self.shares, output)

    def matrix(self) -> Array:
        """All transition probabilities."""
        return _kept_or_drawn_matrix(self.retain, self.shares)


@dataclass(frozen=True, eq=False)
class RetentionChannel:
    """A value is kept with probability `retain`, else drawn from the distribution `shares` on the same values.

    >>> RetentionChannel(0.2, [0.5, 0.25, 0.25]).gamma
    2.0
    """

    retain: float
    shares: Array

    def __init__(self, retain: float, shares: ArrayLike) -> None:
        _check_retain(retain)
        object.__setattr__(self, "retain", retain)
        object.__setattr__(self, "shares", distribution("the replacing distribution", shares))

    @property
    def inputs(self) -> int:
        """The number of values."""
        return len(self.shares)

    @property
    def outputs(self) -> int:
        """The number of values."""
        return len(self.shares)

    @property
    def gamma(self) -> float:
        """Set by the value that is drawn most rarely; infinite where one is never drawn, or all are kept."""
        if self.inputs == 1:
            return 1.0
        rarest = (1 - self.retain) * float(self.shares.min())
        return math.inf if rarest == 0 else 1 + self.retain / rarest

    def into(self, output: int) -> Array:
        """The probability of one output, for each input."""
        return _kept_or_drawn(self.retain, self.shares, output)

    def matrix(self) -> Array:
        """All transition probabilities."""
        return _kept_or_drawn_matrix(self.retain, self.shares)


@dataclass(frozen=True, eq=False)
class MatrixChannel:
    """Any channel: `probabilities[x, y]` is the chance that x is published as y.

    >>> MatrixChannel([[0.75, 0.25], [0.25, 0.75]]).gamma
    3.0
    """

    probabilities: Array

    def __init__(self, probabilities: ArrayLike) -> None:
        given = np.asarray(probabilities, dtype=np.float64)
        if given.ndim != 2 or 0 in given.shape:
            raise ValueError(f"a channel is a matrix of inputs by outputs, not of shape {given.shape}")
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError("a probability of the channel is not a number of at least 0")
        worst = float(np.abs(given.sum(axis=1) - 1).max())
        if worst > _SUM_TOLERANCE:
            raise ValueError(f"each row of a channel must sum to 1; one is off by {worst:g}")
        object.__setattr__(self, "probabilities", given)

    @property
    def inputs(self) -> int:
        """The number of original values."""
        return int(self.probabilities.shape[0])

    @property
    def outputs(self) -> int:
        """The number of published values."""
        return int(self.probabilities.shape[1])

    @property
    def gamma(self) -> float:
        """The largest ratio within a column, of those that some value can become."""
        most, least = self.probabilities.max(axis=0), self.probabilities.min(axis=0)
        possible = most > 0
        with np.errstate(divide="ignore"):
            return float((most[possible] / least[possible]).max())

    def into(self, output: int) -> Array:
        """The probability of one output, for each input."""
        return self.probabilities[:, output].copy()

    def matrix(self) -> Array:
        """All transition probabilities."""
        return self.probabilities.copy()


def channel_of(column: RetainedColumn) -> UniformChannel | RetentionChannel:
    """The channel of a column that is kept or replaced; of its other values, where NULLs are kept as they are."""
    if column.weights is None:
        return UniformChannel(column.retain, column.size)
    weights = np.asarray(column.weights, dtype=np.float64)
    return RetentionChannel(column.retain, weights / weights.sum())


def distribution(name: str, given: ArrayLike) -> Array:
    """`given` as a distribution; ValueError where it is none."""
    shares = np.asarray(given, dtype=np.float64)
    if shares.ndim != 1 or not len(shares) or not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise ValueError(f"{name} must be a list of numbers of at least 0")
    total = math.fsum(shares) if len(shares) < 10_000 else float(shares.sum())
    if abs(total - 1) > _SUM_TOLERANCE:
        raise ValueError(f"{name} must sum to 1, not {total:g}")
    return shares


def _check_retain(retain: float) -> None:
    if not 0 <= retain <= 1:
        raise ValueError(f"retain must lie in [0, 1], not {retain}")


def _kept_or_drawn(retain: float, shares: Array, output: int) -> Array:
    column = np.full(len(shares), (1 - retain) * shares[output])
    column[output] += retain
    return column


def _kept_or_drawn_matrix(retain: float, shares: Array) -> Array:
    matrix: Array = retain * np.eye(len(shares)) + (1 - retain) * shares
    return matrix
