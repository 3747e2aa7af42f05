"""Noise between copies that are fixed: levels of Brownian paths some points of which came from elsewhere.

A copy is a row's numbers at a magnitude; at magnitude 0 stand the original numbers themselves. Between two of them a
path is their weighted mean and a Brownian bridge, beyond the last one the copy and an increment of its own. The bridge
is what a free keyed path (`ppdm_udfs.motion`) does beside the straight line through its own places at both ends: any
number of levels, in any order, are one joint path with the copies, and nothing is stored. The free paths of columns
that belong together are mixed as their noise is. This is Algorithm 3 of the multi-level trust paper: given its two
neighbours, a level depends on no other copy.

A copy that was rounded is taken as it is, its rounding error as a part of the path. Levels beyond a copy are then made
from that copy alone, levels between two from these, and levels before the first are what an unrounded copy at their
magnitude could be turned into: no set of copies tells more than its least noisy one, unrounded. Their variance is that
of their magnitude and at most one rounding's, ``step**2 / 12``, more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from ppdm_udfs.coins import KeyedRows, digest, keyed_rows, vector_words
from ppdm_udfs.draws import Reals
from ppdm_udfs.errors import KernelError
from ppdm_udfs.gaussian import Gaussian, joint_parameters, mixed_paths, number_words, numbers_of, order_of
from ppdm_udfs.keys import subkey
from ppdm_udfs.motion import Magnitude, time_of
from ppdm_udfs.wide import Words


@dataclass(frozen=True)
class NoiseGap:
    """The magnitudes between which levels lie; ``lower`` is None for the original, ``upper`` beyond all copies."""

    lower: Magnitude | None
    upper: Magnitude | None

    @property
    def name(self) -> str:
        """What its coins are drawn under: another gap has others."""
        ends = (None if end is None else time_of(end) for end in (self.lower, self.upper))
        return " ".join("none" if end is None else f"{end.digits}e{end.power}" for end in ends)

    def weights(self, magnitude: Magnitude) -> tuple[float, float]:
        """What the ends count in the mean of a level between them; KernelError where it is not between them.

        >>> NoiseGap("0.5", "2").weights("0.8")
        (0.8, 0.2)
        """
        time = time_of(magnitude).value
        lower = time_of(self.lower).value if self.lower is not None else 0
        upper = None if self.upper is None else time_of(self.upper).value
        if not lower < time or (upper is not None and not time < upper):
            raise KernelError(f"magnitude {magnitude} does not lie between {self.lower} and {self.upper}")
        if upper is None:
            return 1.0, 0.0
        return float((upper - time) / (upper - lower)), float((time - lower) / (upper - lower))


def noise_between(
    lower: Sequence[pa.Array],
    upper: Sequence[pa.Array] | None,
    gap: NoiseGap,
    mechanisms: Sequence[Gaussian],
    wanted: Sequence[int],
    *,
    key: bytes,
    table: str,
    rows: Words | KeyedRows,
    threads: int | None = None,
) -> list[Reals]:
    """Noisy numbers, before rounding, of the columns that are `wanted`, whose magnitudes lie in the gap.

    `lower` and `upper` have the numbers at both ends of all columns that belong together, in the order of `mechanisms`
    and of the rows: the coins are those of both ends, and where one of them changes all between is drawn anew.
    """
    address = digest("noise between", joint_parameters(mechanisms), gap.name)
    order = order_of(mechanisms)
    ends = [(gap.lower, lower)] if upper is None else [(gap.lower, lower), (gap.upper, upper)]
    words = [word for _, arrays in ends for word in number_words([arrays[i] for i in order])]
    blocks = keyed_rows(rows, len(lower[0]), key=key, table=table).blocks
    blocks = blocks ^ vector_words(words, subkey(key, "vector", table.casefold(), address))
    fixed = [magnitude for magnitude, _ in ends if magnitude is not None]
    asked = [mechanisms[i] for i in wanted]
    asked += [replace(mechanisms[i], magnitude=magnitude) for magnitude in fixed for i in wanted]
    places = mixed_paths(asked, blocks, key=key, table=table, parameters=address, threads=threads)
    result = []
    for place, i in enumerate(wanted):
        total = places[place]
        for (magnitude, arrays), weight in zip(ends, gap.weights(mechanisms[i].magnitude), strict=False):
            apart = numbers_of(arrays[i])[0]
            if magnitude is not None:
                apart = apart - places[(1 + fixed.index(magnitude)) * len(wanted) + place]
            total = total + weight * apart
        result.append(total)
    return result
