"""A level between two that are fixed: the path of replacements from one copy to another, given both ends.

Between retentions ``q`` (upper, or 1 for the original) and ``r < q`` the value changes by replacements that arrive at
rate 1 in time ``ln(1/p)``. Given what it is at both ends, the last replacement decides the lower end, and whatever
comes before it is free. So a row draws whether there was none (possible where both ends agree), when the last one came,
and a free path before it. A copy at any retention between is then read off the path: all of them together, and both
ends, are the one Markov chain, in whatever order they are asked for and with nothing stored. For a single copy the law
is that of multi-pert, its Equations 3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ppdm_udfs.coins import KeyedRows, keyed_rows
from ppdm_udfs.draws import Reals, coins, draw
from ppdm_udfs.errors import KernelError
from ppdm_udfs.keys import subkey
from ppdm_udfs.uniform import Uniform, along_path
from ppdm_udfs.wide import Words


@dataclass(frozen=True)
class Gap:
    """The retentions between which a level lies; ``lower`` is None below all copies."""

    upper: float
    lower: float | None

    @property
    def name(self) -> str:
        """What its coins are drawn under: another gap has others."""
        return f"bridge {self.upper!r} {self.lower!r}"


def head_and_tail(upper: float, lower: float, retain: float) -> tuple[float, float]:
    """Equations 3 and 4 where the ends differ: the chances that the upper end's, or the lower end's, value is shown.

    >>> head_and_tail(1.0, 0.5, 0.75)
    (0.5, 0.3333333333333333)
    """
    return (retain - lower) / (upper - lower), lower * (upper - retain) / (retain * (upper - lower))


def without_replacement(upper: float, lower: float, share: Reals) -> Reals:
    """The chance that nothing was replaced between two ends that agree on a value of this share."""
    kept = lower / upper
    return kept / (kept + (1 - kept) * share)


def bridge(
    upper: Words,
    lower: Words | None,
    gap: Gap,
    mechanism: Uniform,
    *,
    key: bytes,
    table: str,
    column: str,
    rows: Words | KeyedRows,
    parameters: str = "",
) -> Words:
    """Values, by number, at ``mechanism.retain`` between two copies; rows, `upper` and `lower` have one order.

    The coins are those of both ends: where either changes, all between is drawn anew.
    """
    retain = mechanism.retain
    if not gap.upper > retain > (gap.lower or 0.0):
        raise KernelError(f"retention {retain} does not lie between {gap.upper} and {gap.lower}")
    result = np.array(upper, dtype=np.uint64)
    address = ("bridge", table.casefold(), column.casefold(), parameters, gap.name)
    blocks = keyed_rows(rows, len(upper), key=key, table=table).blocks
    taking = result < np.uint64(mechanism.size)
    if lower is not None:
        assert gap.lower is not None
        blocks = blocks.copy()
        blocks[:, 1] ^= lower
        bits = draw(subkey(key, *address), blocks, upper)
        agree = upper == lower
        never = agree & (coins(bits[:, 0]) < without_replacement(gap.upper, gap.lower, mechanism.shares(upper)))
        # The last replacement came before this level with the chance of Equation 4.
        tail = head_and_tail(gap.upper, gap.lower, retain)[1]
        late = ~never & taking & (coins(bits[:, 1]) >= 1 - tail)
        result[late] = lower[late]
        taking &= ~(never | late)
    along_path(result, blocks, mechanism.drawn, retain / gap.upper, address=(*address, "path"), key=key, taking=taking)
    return result
