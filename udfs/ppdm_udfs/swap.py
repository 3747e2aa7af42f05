"""Swapping: which rows are replaced, and the order in which their values are dealt out among them again.

Both follow from the key, the rows' identities and a digest of the whole column, so the order in which rows are read
does not matter. Where a row of the column is another, all coins are: who gets whose value depends on all rows.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ppdm_udfs.coins import KeyedRows, keyed_rows
from ppdm_udfs.draws import COIN_BITS, draw
from ppdm_udfs.errors import KernelError
from ppdm_udfs.keys import subkey
from ppdm_udfs.wide import Flags, Words


def swapped_rows(
    rows: Words | KeyedRows, retain: float, *, key: bytes, table: str, column: str, parameters: str = ""
) -> tuple[Flags, Words]:
    """Which rows are replaced, with probability ``1 - retain`` each, and for every row 64 bits to order it by."""
    if not 0 < retain <= 1:
        raise KernelError(f"a retention is above 0 and at most 1, not {retain}")
    blocks = keyed_rows(rows, len(rows), key=key, table=table).blocks
    bits = draw(subkey(key, "swap", table.casefold(), column.casefold(), parameters), blocks)
    threshold = math.ceil(math.ldexp(retain, COIN_BITS)) << (64 - COIN_BITS)
    if threshold >> 64:
        return np.zeros(len(rows), dtype=np.bool_), bits[:, 1]
    return bits[:, 0] >= np.uint64(threshold), bits[:, 1]


def dealing(rows: Words, order: Words) -> npt.NDArray[np.int64]:
    """For each replaced row, the place of the replaced row whose value it gets: any permutation, all alike.

    The rows by their identities meet the rows by their random bits. Needs about 40 bytes a row while it sorts.
    """
    by_identity = np.lexsort((rows[:, 0], rows[:, 1]))
    by_chance = np.lexsort((rows[:, 0], rows[:, 1], order))  # identities settle a tie of bits
    source = np.empty(len(rows), dtype=np.int64)
    source[by_identity] = by_chance
    return source
