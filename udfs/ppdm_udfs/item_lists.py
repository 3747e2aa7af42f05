"""Baskets as Arrow lists, and as numbers of items in rising order: a basket is a set, however its list is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_udfs.buffers import joined, nulls_of
from ppdm_udfs.domain import Domain, decode, locate
from ppdm_udfs.draws import draw
from ppdm_udfs.errors import KernelError, NullFound, OutsideDomain
from ppdm_udfs.streams import Numbers
from ppdm_udfs.wide import Flags, Words


@dataclass(frozen=True)
class ItemLists:
    """Distinct item numbers, rising within each row; ``offsets`` has one entry more than there are rows."""

    offsets: Numbers
    items: Numbers
    nulls: Flags | None = None

    @property
    def sizes(self) -> Numbers:
        """How many items each row holds."""
        return np.diff(self.offsets)

    @property
    def rows(self) -> Numbers:
        """The row of each item."""
        return np.repeat(np.arange(len(self.offsets) - 1), self.sizes)

    def words(self, cipher_key: bytes) -> Words:
        """A pair of words for each row's set, shape (n, 2): the sum of those of its items."""
        items = np.zeros((len(self.items), 2), dtype=np.uint64)
        items[:, 0] = self.items
        sums = np.zeros((len(self.items) + 1, 2), dtype=np.uint64)
        np.cumsum(draw(cipher_key, items), axis=0, out=sums[1:])
        return np.diff(sums[self.offsets], axis=0)


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def read_lists(array: pa.Array | pa.ChunkedArray, domain: Domain, nulls: str) -> ItemLists:
    """Number the items of every row.

    Raises
    ------
    NullFound, OutsideDomain
        With the first row of a list that is NULL or holds NULL, or that holds what is no item, and their number.
    """
    array = joined(array)
    if not is_list(array.type):
        raise KernelError(f"a column of {array.type} holds no baskets: a basket is a list of items")
    missing = nulls_of(array)
    if missing is not None and nulls == "error":
        raise NullFound(int(missing.argmax()), int(np.count_nonzero(missing)))
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    flat = array.flatten()
    row = np.repeat(np.arange(len(array)), lengths)
    item = _numbered(flat, domain, row)
    keys = row * domain.size + item
    if len(keys) > 1 and not (keys[1:] > keys[:-1]).all():
        keys.sort()
        keys = keys[np.concatenate(([True], keys[1:] > keys[:-1]))]
        row, item = np.divmod(keys, domain.size)
    return ItemLists(_offsets(np.bincount(row, minlength=len(array))), item, missing)


def write_lists(lists: ItemLists, domain: Domain, kind: pa.DataType) -> pa.Array:
    """Return lists of exactly this type; a FixedSizeList cannot hold what was added, and becomes a plain list."""
    items = decode(lists.items.astype(np.uint64), domain, kind.value_type)
    mask = None if lists.nulls is None else pa.array(lists.nulls)
    if pa.types.is_large_list(kind) or len(items) > np.iinfo(np.int32).max:
        result = pa.LargeListArray.from_arrays(pa.array(lists.offsets), items, mask=mask)
        return result if pa.types.is_large_list(kind) else result.cast(kind)
    return pa.ListArray.from_arrays(pa.array(lists.offsets.astype(np.int32)), items, type=_plain(kind), mask=mask)


def from_keys(keys: Numbers, rows: int, items: int, nulls: Flags | None) -> ItemLists:
    """Lists from rising numbers ``row * items + item``."""
    first = np.arange(rows + 1) * items
    offsets = np.searchsorted(keys, first)
    return ItemLists(offsets, keys - np.repeat(first[:-1], np.diff(offsets)), nulls)


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.list_(kind.value_type) if pa.types.is_fixed_size_list(kind) else kind


def _offsets(lengths: Numbers) -> Numbers:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))


def _numbered(flat: pa.Array, domain: Domain, row: Numbers) -> Numbers:
    """The items' numbers; an error of theirs names rows, not items."""
    missing = nulls_of(flat)
    if missing is not None:
        raise NullFound(*_where(row[missing]))
    index, strange = locate(flat, domain)
    if strange.any():
        raise OutsideDomain(*_where(row[strange]))
    return index.astype(np.int64)


def _where(rows: Numbers) -> tuple[int, int]:
    """The first of some rows, and how many they are."""
    return int(rows[0]), len(np.unique(rows))
