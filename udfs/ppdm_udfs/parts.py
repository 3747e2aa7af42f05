"""Small domains: which part of its table a row belongs to, by a keyed coin, and perturbation within the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ppdm_udfs.coins import KeyedRows, digest, keyed_rows
from ppdm_udfs.draws import COIN_BITS, draw
from ppdm_udfs.errors import KernelError
from ppdm_udfs.keys import subkey
from ppdm_udfs.uniform import perturb_indices
from ppdm_udfs.wide import Words

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Assignment:
    """How the rows of each value are spread over the parts: `counts[i, v]` of them go to part i, on average.

    A row of value v goes to part i with probability ``counts[i, v] / sum(counts[:, v])``, to within 2**-53; never to a
    part that has none of its value.
    """

    counts: Counts
    _bounds: Words = field(init=False, repr=False)

    def __post_init__(self) -> None:
        counts = np.asarray(self.counts)
        if counts.ndim != 2 or not len(counts) or (counts < 0).any():
            raise KernelError("an assignment needs counts of at least 0, one row a part and one column a value")
        sums = np.cumsum(counts, axis=0)
        whole = np.maximum(sums[-1], 1)
        # In whole numbers of Python: a quotient of doubles could be rounded up to a part that has none of a value.
        bounds = [[(int(s) << COIN_BITS) // int(w) for s, w in zip(row, whole, strict=True)] for row in sums[:-1]]
        object.__setattr__(self, "_bounds", np.array(bounds, dtype=np.uint64).reshape(len(counts) - 1, counts.shape[1]))

    def parts(
        self, index: Words, *, key: bytes, table: str, column: str, rows: Words | KeyedRows, parameters: str = ""
    ) -> npt.NDArray[np.int16]:
        """The part of each row, from its value's number and its identity."""
        blocks = keyed_rows(rows, len(index), key=key, table=table).blocks
        bits = draw(subkey(key, "part", table.casefold(), column.casefold(), parameters), blocks, index)[:, 0]
        coin = bits >> np.uint64(64 - COIN_BITS)
        part = np.zeros(len(index), dtype=np.int16)
        for bound in self._bounds:
            part += coin >= bound[index]
        return part


def perturb_parts(
    index: Words,
    part: npt.NDArray[np.int16],
    values: Sequence[npt.NDArray[np.int64]],
    retain: Sequence[float],
    *,
    key: bytes,
    table: str,
    column: str,
    rows: Words | KeyedRows,
    parameters: str = "",
    threads: int | None = None,
) -> Words:
    """Perturb each row among the values of its part.

    Parameters
    ----------
    values
        For each part the numbers of its values, in rising order.
    retain
        For each part the probability that a value is kept.
    """
    rows = keyed_rows(rows, len(index), key=key, table=table)
    result = np.array(index, dtype=np.uint64)
    for number, (own, probability) in enumerate(zip(values, retain, strict=True)):
        mine = np.flatnonzero(part == number)
        places = np.searchsorted(own, index[mine].astype(np.int64))
        if (own[np.minimum(places, len(own) - 1)] != index[mine].astype(np.int64)).any():
            raise KernelError("a row lies in a part that has none of its value")
        moved = perturb_indices(
            places.astype(np.uint64),
            len(own),
            probability,
            key=key,
            table=table,
            column=column,
            rows=rows[mine],
            parameters=digest(parameters, number, *own.tolist()),
            threads=threads,
        )
        result[mine] = own[moved.astype(np.int64)].astype(np.uint64)
    return result
