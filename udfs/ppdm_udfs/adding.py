"""The items that select-a-size adds: one coin for every item of the item set that the basket does not hold.

Where many are added, a byte decides each item, and sixty-four further bits those whose byte is on the border. Where few
are, the gaps between them are drawn, so that the others are never looked at. Both give every item its own coin of
exactly rho, to 2**-50.
"""

from __future__ import annotations

import math

import numpy as np

from ppdm_udfs.draws import Reals, coins
from ppdm_udfs.item_lists import ItemLists, from_keys
from ppdm_udfs.streams import Numbers, Streams
from ppdm_udfs.wide import Flags

FEW = 1 / 64
"""Below this rho the gaps are drawn."""

_BYTES = 8  # of a word


def added(lists: ItemLists, kept: Flags, rhos: Reals, most: float, items: int, streams: Streams) -> ItemLists:
    """The baskets with only the kept items of their own, and with others added.

    Parameters
    ----------
    rhos
        Each row's chance of another item.
    most
        The largest chance of the whole column: the way of drawing may not depend on which rows come together.
    """
    if most >= FEW:
        keys = _by_bytes(lists, kept, rhos, items, streams)
    else:
        keys = _by_gaps(lists, kept, rhos, most, items, streams)
    return from_keys(keys, len(rhos), items, lists.nulls)


def _by_bytes(lists: ItemLists, kept: Flags, rhos: Reals, items: int, streams: Streams) -> Numbers:
    """Rising numbers ``row * items + item`` of what is in the randomized baskets."""
    words = streams.words("add", -(-items // _BYTES))
    drawn = np.ascontiguousarray(words).astype("<u8", copy=False).view(np.uint8)[:, :items]
    scaled = rhos * 256
    whole = np.floor(scaled)
    border = whole.astype(np.uint8)
    inside = drawn < border[:, None]
    row, item = np.nonzero(drawn == border[:, None])
    rest = np.ldexp(scaled - whole, 53).astype(np.uint64)
    further = streams.at("border", row, item.astype(np.uint64)) >> np.uint64(11)
    inside[row, item] = further < rest[row]
    inside[lists.rows, lists.items] = kept
    inside[_absent(lists)] = False
    result: Numbers = np.flatnonzero(inside)
    return result


def _by_gaps(lists: ItemLists, kept: Flags, rhos: Reals, most: float, items: int, streams: Streams) -> Numbers:
    """The same numbers; an added item that the basket holds already is left out, as its coin was the other one."""
    count = 2 * (1 + math.ceil((items * most + 4 * math.sqrt(items * most)) / 2))
    found = []
    active = np.flatnonzero((rhos > 0) & ~_absent(lists))
    last = np.full(len(active), -1.0)
    start = 0
    while len(active):
        drawn = coins(streams.words("add", count, active, start)) + 2.0**-53  # in (0, 1]
        gaps = np.floor(np.log(drawn, out=drawn) / np.log1p(-rhos[active])[:, None])
        places = last[:, None] + np.cumsum(np.minimum(gaps, items) + 1, axis=1)
        within = places < items
        found.append((active[:, None] * items + places.astype(np.int64))[within])
        going = within[:, -1]
        active, last, start = active[going], places[going, -1], start + count
    own = lists.rows * items + lists.items
    # Two marks below each number put a basket's own item before the coin of the same item.
    marked = np.concatenate([*(keys * 4 + 2 for keys in found), own * 4 + kept])
    marked.sort()
    number, mark = marked >> 2, marked & 3
    fresh = np.ones(len(marked), dtype=np.bool_)
    fresh[1:] = number[1:] != number[:-1]
    result: Numbers = number[(mark == 1) | ((mark == 2) & fresh)]
    return result


def _absent(lists: ItemLists) -> Flags:
    return np.zeros(len(lists.sizes), dtype=np.bool_) if lists.nulls is None else lists.nulls
