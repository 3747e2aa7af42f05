"""Many random words for each row: a row's own block, counted on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ppdm_udfs.draws import draw
from ppdm_udfs.keys import subkey
from ppdm_udfs.wide import Words

Numbers: TypeAlias = npt.NDArray[np.int64]


class Streams:
    """Independent streams of words, one a row and use; the words of a row depend on the key, its block and the use.

    `rows` are blocks with the rows' values in them. They are encrypted first: the block that comes out is far from all
    others, so that counting on from it meets no other row's blocks (by a chance of 2**-60 in a hundred million rows
    with a thousand blocks each).
    """

    def __init__(self, key: bytes, address: Sequence[str | int], rows: Words) -> None:
        self._key = key
        self._address = tuple(address)
        self._blocks = draw(subkey(key, *address, "row"), rows)

    def words(self, use: str, count: int, rows: slice | Numbers = slice(None), first: int = 0) -> Words:
        """The words `first` to ``first + count`` of the rows' streams for one use, shape (rows, count).

        `first` is even: a block has two words.
        """
        blocks = self._blocks[rows]
        numbers = np.arange(first // 2, (first + count + 1) // 2, dtype=np.uint64)
        expanded = np.empty((len(blocks), len(numbers), 2), dtype=np.uint64)
        np.bitwise_xor(blocks[:, :1], numbers, out=expanded[:, :, 0])
        expanded[:, :, 1] = blocks[:, 1:]
        return self._drawn(use, expanded)[:, :count]

    def at(self, use: str, rows: Numbers, numbers: Words) -> Words:
        """One word for each pair of a row and a number, shape (pairs,)."""
        blocks = self._blocks[rows]
        blocks[:, 0] ^= numbers
        return self._drawn(use, blocks[:, None, :])[:, 0]

    def _drawn(self, use: str, expanded: Words) -> Words:
        key = subkey(self._key, *self._address, use)
        return draw(key, expanded.reshape(-1, 2)).reshape(len(expanded), 2 * expanded.shape[1])
