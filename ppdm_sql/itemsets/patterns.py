"""How many baskets show which of an itemset's items: thousands of itemsets in one reading of the baskets.

Baskets are laid out as one row of bits an item, ordered by the baskets' size. An itemset is then a bitwise AND of its
items' rows, and its count for each size a sum over a stretch of words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

MAX_ITEMS = 8
"""Items of one itemset: its patterns are 2**items."""

_WORD = 64
_CELLS = 1 << 26  # items times baskets that are laid out at once, a byte each
_BLOCK = 1 << 17  # words of itemsets that are intersected at once, so that they stay in the cache


@dataclass(frozen=True)
class Baskets:
    """Randomized baskets: the public size of each, and the numbers of the items that are seen in it, one after another.

    ``offsets`` has one entry more than ``sizes``: basket i shows ``items[offsets[i]:offsets[i + 1]]``.
    """

    sizes: Integers
    offsets: Integers
    items: Integers

    def part(self, start: int, stop: int) -> Baskets:
        """The baskets from `start` up to `stop`."""
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return Baskets(self.sizes[start:stop], self.offsets[start : stop + 1] - first, self.items[first:last])


def pattern_counts(baskets: Baskets, itemsets: Integers, largest_size: int) -> Integers:
    """Count baskets by itemset, size and pattern.

    Parameters
    ----------
    itemsets : shape (c, k)
        Numbers of k distinct items each.
    largest_size : int
        The largest public size, S.

    Returns
    -------
    ndarray, shape (c, S + 1, 2**k)
        ``[i, m, pattern]``: baskets of size m in which item b of itemset i is seen exactly where bit b of the pattern
        is set. Counts of several parts of a release add up.
    """
    count, items = itemsets.shape
    if not 1 <= items <= MAX_ITEMS:
        raise ValueError(f"an itemset has 1 to {MAX_ITEMS} items, not {items}")
    result = np.zeros((count, largest_size + 1, 1 << items), dtype=np.int64)
    used, places = np.unique(itemsets, return_inverse=True)
    places = places.reshape(count, items)
    step = max(_WORD, _CELLS // max(len(used), 1))
    for start in range(0, len(baskets.sizes), step):
        part = baskets.part(start, min(start + step, len(baskets.sizes)))
        bits, present, starts = _laid_out(part, used)
        result[:, present] += _counted(bits, places, starts, np.bincount(part.sizes)[present])
    return result


def _laid_out(baskets: Baskets, used: Integers) -> tuple[Bits, Integers, Integers]:
    """One row of bits for each used item; the sizes that occur, and the word at which each size begins."""
    present, lengths = np.unique(baskets.sizes, return_counts=True)
    words = -(-lengths // _WORD)
    starts = np.concatenate(([0], np.cumsum(words)))
    order = np.argsort(baskets.sizes, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    before = np.repeat(np.cumsum(lengths) - lengths, lengths)
    place[order] = np.repeat(starts[:-1] * _WORD, lengths) + np.arange(len(order)) - before
    cells = np.zeros((len(used), int(starts[-1]) * _WORD), dtype=np.bool_)
    row_of = np.full(max(int(array.max(initial=-1)) for array in (used, baskets.items)) + 1, -1)
    row_of[used] = np.arange(len(used))
    row = row_of[baskets.items]
    wanted = row >= 0
    basket = np.repeat(place, np.diff(baskets.offsets))
    cells[row[wanted], basket[wanted]] = True
    return np.packbits(cells, axis=1, bitorder="little").view(np.uint64), present, starts[:-1]


def _counted(bits: Bits, places: Integers, starts: Integers, totals: Integers) -> Integers:
    """Counts of patterns for each itemset and each size that occurs."""
    count, items = places.shape
    result = np.empty((count, len(starts), 1 << items), dtype=np.int64)
    result[:, :, 0] = totals
    single = _population(bits, starts)
    step = max(1, _BLOCK // max(bits.shape[1], 1))
    for start in range(0, count, step):
        block = slice(start, start + step)
        joint: dict[int, Bits] = {}
        for mask in range(1, 1 << items):
            top = mask.bit_length() - 1
            rest = mask & ~(1 << top)
            if rest == 0:
                joint[mask] = bits[places[block, top]]
                result[block, :, mask] = single[places[block, top]]
            else:
                joint[mask] = joint[rest] & joint[1 << top]
                result[block, :, mask] = _population(joint[mask], starts)
    # From baskets that show at least the mask's items to those that show exactly these.
    for item in range(items):
        without = np.array([mask for mask in range(1 << items) if not mask >> item & 1])
        result[:, :, without] -= result[:, :, without | 1 << item]
    return result


def _population(bits: Bits, starts: Integers) -> NDArray[np.uint32]:
    result: NDArray[np.uint32] = np.add.reduceat(np.bitwise_count(bits), starts, axis=1, dtype=np.uint32)
    return result
