"""Randomized baskets as seeds: one drawn among all seeds that show the kept items, and none of the others of a basket.

A random seed is corrected: where it shows something else for one of the basket's items, bits are turned that a GF(2)
elimination finds. Which bits depends on the difference alone, so every seed that agrees is equally likely.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppdm_udfs.codes import Code, columns_of, values_of
from ppdm_udfs.draws import Reals
from ppdm_udfs.item_lists import ItemLists
from ppdm_udfs.streams import Numbers, Streams
from ppdm_udfs.wide import Flags, Words

_WORD = 64
_ONE = np.uint64(1)


def seeds_of(lists: ItemLists, kept: Flags, rhos: Reals, code: Code, streams: Streams) -> pa.Array:
    """Seeds as fixed-size binary."""
    sizes = lists.sizes
    seeds = np.ascontiguousarray(streams.words("seed", code.words))
    spare = code.words * _WORD - code.seed_bits
    seeds[:, -1] &= np.uint64((1 << 64) - 1) >> np.uint64(spare)
    wanted = _wanted(lists, kept, rhos, code, streams)
    for size in np.unique(sizes[sizes > 0]).tolist():
        rows = np.flatnonzero(sizes == size)
        places = lists.offsets[rows][:, None] + np.arange(size)
        columns = columns_of(code, lists.items[places].ravel()).reshape(len(rows), size * code.bits, code.words)
        shown = (wanted[places][:, :, None] >> np.arange(code.bits) & 1).reshape(len(rows), -1)
        seeds[rows] = agreeing(seeds[rows], columns, shown.astype(np.bool_))
    return to_binary(seeds, code, lists.nulls)


def agreeing(seeds: Words, columns: Words, shown: Flags) -> Words:
    """Correct seeds (n, words) until their products with the columns (n, e, words) are the bits shown (n, e)."""
    matrix = np.ascontiguousarray(columns.transpose(1, 2, 0))  # equations, words, rows: long runs in memory
    equations, _, count = matrix.shape
    missing = _parity(matrix & seeds.T) ^ shown.T
    pivots = []
    everywhere = np.arange(count)
    for equation in range(equations):
        row = matrix[equation]
        word = (row != 0).argmax(axis=0)
        value = row[word, everywhere]
        lowest = value & (~value + _ONE)
        pivots.append((word, lowest))
        below = matrix[equation + 1 :]
        holding = (below[:, word, everywhere] & lowest) != 0
        below ^= np.where(holding, ~np.uint64(0), np.uint64(0))[:, None, :] & row
        missing[equation + 1 :] ^= holding & missing[equation]
    change = np.zeros((len(matrix[0]), count), dtype=np.uint64)
    for equation in range(equations - 1, -1, -1):
        word, lowest = pivots[equation]
        needed = _parity((matrix[equation] & change)[None])[0] ^ missing[equation]
        change[word, everywhere] ^= np.where(needed, lowest, np.uint64(0))
    return seeds ^ change.T


def to_binary(seeds: Words, code: Code, nulls: Flags | None = None) -> pa.Array:
    """Seeds as fixed-size binary, the lowest bits first."""
    octets = np.ascontiguousarray(seeds.astype("<u8", copy=False).view(np.uint8)[:, : code.seed_bytes])
    validity = None if nulls is None else pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    buffers = [validity, pa.py_buffer(octets)]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(code.seed_bytes), len(seeds), buffers)


def from_binary(array: pa.Array, code: Code) -> Words:
    """Seeds as words, shape (n, words); a NULL is a seed of zeros."""
    fixed = array.cast(pa.binary(code.seed_bytes)).fill_null(bytes(code.seed_bytes))
    size = code.seed_bytes
    octets = np.frombuffer(fixed.buffers()[1], dtype=np.uint8, count=size * len(fixed), offset=size * fixed.offset)
    words = np.zeros((len(fixed), code.words * 8), dtype=np.uint8)
    words[:, :size] = octets.reshape(-1, size)
    return words.view("<u8")


def shows(seeds: Words, item: int, thresholds: npt.NDArray[np.integer], code: Code) -> Flags:
    """Whether each seed's basket shows an item; `thresholds` are those of the baskets' sizes."""
    result: Flags = values_of(seeds, columns_of(code, np.array([item]))) < thresholds
    return result


def _wanted(lists: ItemLists, kept: Flags, rhos: Reals, code: Code, streams: Streams) -> Numbers:
    """The number that each of a basket's items is to show: below its threshold where it is kept, else not below."""
    below = np.round(rhos * (1 << code.bits)).astype(np.uint64)[lists.rows]
    place = np.arange(len(lists.items)) - lists.offsets[:-1][lists.rows]
    drawn = streams.at("value", lists.rows, place.astype(np.uint64)) >> np.uint64(_WORD - 56)
    choices = np.where(kept, below, np.uint64(1 << code.bits) - below)
    number = (drawn * choices) >> np.uint64(56)
    return np.where(kept, number, number + below).astype(np.int64)


def _parity(words: Words) -> Flags:
    """Whether an odd number of bits is set, over the words of each equation: (e, words, n) to (e, n)."""
    folded = np.bitwise_xor.reduce(words, axis=1)
    result: Flags = (np.bitwise_count(folded) & np.uint8(1)).astype(np.bool_)
    return result
