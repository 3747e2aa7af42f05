"""Retention replacement with a replacing distribution of any shape, given by weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

import numpy as np

from ppdm_udfs.draws import Reals
from ppdm_udfs.errors import KernelError
from ppdm_udfs.uniform import Uniform
from ppdm_udfs.wide import Words

_WORD = 1 << 64


@dataclass(frozen=True, eq=False)
class Weighted(Uniform):
    """As `Uniform`, but value i is drawn with probability ``weights[i] / sum(weights)``.

    64 random bits are looked up among the cumulative weights, which are rounded down to whole multiples of 2**-64: each
    probability is met to within 2**-64, whatever the weights. ``weights`` has one entry a value, NULL last where it is
    one.
    """

    weights: tuple[float, ...] = ()
    _bounds: Words = field(init=False, repr=False)

    name: ClassVar[str] = "custom"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.weights) != self.size:
            raise KernelError(f"{self.size} values need as many weights, not {len(self.weights)}")
        if not all(math.isfinite(weight) and weight > 0 for weight in self.weights):
            raise KernelError("a weight is a number above 0: a value that is never drawn is true wherever it is seen")
        whole = all(weight == int(weight) for weight in self.weights)  # counts: many of them, and integers are quicker
        sums = list(accumulate(int(weight) if whole else Fraction(weight) for weight in self.weights))
        bounds = [part * _WORD // sums[-1] for part in sums[:-1]]
        if any(one == other for one, other in zip([0, *bounds], [*bounds, _WORD], strict=True)):
            raise KernelError("a weight is below 2**-64 of all: such a value would never be drawn")
        object.__setattr__(self, "_bounds", np.array(bounds, dtype=np.uint64))

    def weight_words(self) -> Sequence[str]:
        """The weights to the last bit."""
        return tuple(float(weight).hex() for weight in self.weights)

    def drawn(self, bits: Words) -> Words:
        """The values, by number, that 64 random bits each stand for."""
        return np.searchsorted(self._bounds, bits, side="right").astype(np.uint64)

    def shares(self, index: Words) -> Reals:
        """The share of values, by number, in the replacing distribution."""
        weights = np.array(self.weights) / math.fsum(self.weights)
        return np.asarray(weights[np.minimum(index, np.uint64(self.size - 1)).astype(np.intp)])
