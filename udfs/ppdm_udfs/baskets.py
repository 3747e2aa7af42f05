"""Select-a-size: keep some of a basket's items, and add others of the item set.

For a basket of m items a number j is drawn with probability p[j], j of its items are kept, each choice being equally
likely, and every other item of the item set is added with probability rho. Items come out in the item set's order, so
that their order does not tell kept ones from added ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ppdm_udfs.adding import added
from ppdm_udfs.codes import Code
from ppdm_udfs.coins import KeyedRows, digest, domain_words, keyed_rows
from ppdm_udfs.domain import Domain, Grid, Values
from ppdm_udfs.errors import KernelError
from ppdm_udfs.item_lists import ItemLists, is_list, read_lists, write_lists
from ppdm_udfs.keys import subkey
from ppdm_udfs.seeds import seeds_of
from ppdm_udfs.slices import over_slices
from ppdm_udfs.streams import Numbers, Streams
from ppdm_udfs.wide import Flags, Words

NULLS = ("error", "keep")
_CELLS = 1 << 22  # rows times items of a slice: few enough for the cache
_LEAST_ROWS, _MOST_ROWS = 512, 32_768


@dataclass(frozen=True)
class SizeOperator:
    """What happens to baskets of m items: ``keep[j]`` is p[j] for j = 0 .. m, `rho` the chance of every other item."""

    rho: float
    keep: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SelectASize:
    """How a column of baskets is randomized.

    ``operators[m]`` is for baskets of m items; larger ones are cut to the last size, by a choice that the key makes.
    With a `code` a randomized basket is not a list but a seed from which its items can be told.
    """

    items: Domain
    operators: tuple[SizeOperator, ...]
    nulls: str = "error"
    code: Code | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.items, Grid | Values):
            raise KernelError("an item set is a Grid or Values")
        if self.nulls not in NULLS:
            raise KernelError(f"nulls is one of {NULLS} for baskets")
        if len(self.operators) < 2 or self.largest > self.items.size:
            raise KernelError("the largest basket has at least one item, and no more than there are items")
        for size, operator in enumerate(self.operators):
            if len(operator.keep) != size + 1 or abs(math.fsum(operator.keep) - 1) > 1e-9 or min(operator.keep) < 0:
                raise KernelError(f"baskets of {size} items need {size + 1} probabilities that sum to 1")
            if not 0 <= operator.rho < 1:
                raise KernelError(f"rho is at least 0 and below 1, not {operator.rho}")
        if self.code is not None:
            self.code.check(self.items.size, self.largest, [operator.rho for operator in self.operators[1:]])

    @property
    def largest(self) -> int:
        """The size to which larger baskets are cut."""
        return len(self.operators) - 1

    def parameters(self, kind: pa.DataType) -> str:
        """Tells mechanisms apart, for lists of this type.

        Other parameters draw other coins: one coin against two thresholds would tell what was true.
        """
        code = () if self.code is None else (self.code.degree, self.code.powers, self.code.bits)
        numbers = [
            number for operator in self.operators for number in (float(operator.rho).hex(), *_hex(operator.keep))
        ]
        items = domain_words(self.items, kind.value_type if is_list(kind) else kind)
        return digest("select_a_size", len(code), *code, len(self.operators), *numbers, *items)


@dataclass(frozen=True)
class Randomized:
    """Randomized baskets: lists or seeds, the public size of each (NULL where the basket is), how many were cut."""

    values: pa.Array
    sizes: pa.Array
    cut: int


def randomize(
    array: pa.Array | pa.ChunkedArray,
    mechanism: SelectASize,
    *,
    key: bytes,
    table: str,
    column: str,
    rows: Words | KeyedRows,
    threads: int | None = None,
) -> Randomized:
    """Randomize a column of baskets.

    The result depends on the key, the names, the rows' identities, the sets of items and the mechanism alone: not on
    how rows are batched or ordered, nor on the order of a list or on repeats in it.
    """
    blocks = keyed_rows(rows, len(array), key=key, table=table).blocks
    address = ("baskets", table.casefold(), column.casefold(), mechanism.parameters(array.type))

    def part(start: int, stop: int) -> Randomized:
        lists = read_lists(array.slice(start, stop - start), mechanism.items, mechanism.nulls)
        streams = Streams(key, address, blocks[start:stop] ^ lists.words(subkey(key, *address, "set")))
        return _randomized(lists, mechanism, streams, array.type)

    length = min(max(_CELLS // mechanism.items.size, _LEAST_ROWS), _MOST_ROWS)
    parts = over_slices(part, len(array), rows=length, threads=threads) or [part(0, 0)]
    return Randomized(
        pa.concat_arrays([one.values for one in parts]),
        pa.concat_arrays([one.sizes for one in parts]),
        sum(one.cut for one in parts),
    )


def _hex(numbers: Sequence[float]) -> list[str]:
    return [float(number).hex() for number in numbers]


def _randomized(lists: ItemLists, mechanism: SelectASize, streams: Streams, kind: pa.DataType) -> Randomized:
    cut = int(np.count_nonzero(lists.sizes > mechanism.largest))
    if cut:
        lists = _cut(lists, mechanism.largest, streams)
    sizes = lists.sizes
    kept = _kept(lists, mechanism, streams)
    rhos = np.array([operator.rho for operator in mechanism.operators])[sizes]
    if mechanism.code is None:
        most = max(operator.rho for operator in mechanism.operators)
        values = write_lists(added(lists, kept, rhos, most, mechanism.items.size, streams), mechanism.items, kind)
    else:
        values = seeds_of(lists, kept, rhos, mechanism.code, streams)
    return Randomized(values, pa.array(sizes.astype(np.int32), mask=lists.nulls), cut)


def _cut(lists: ItemLists, largest: int, streams: Streams) -> ItemLists:
    """Leave `largest` items in every basket that has more, each choice being equally likely."""
    row = lists.rows
    large = lists.sizes[row] > largest
    chosen = np.flatnonzero(large)
    place = chosen - lists.offsets[row[chosen]]
    order = np.lexsort((streams.at("cut", row[chosen], place.astype(np.uint64)), row[chosen]))
    by_row = row[chosen][order]
    rank = np.arange(len(by_row)) - np.searchsorted(by_row, by_row)
    staying = ~large
    staying[chosen[order]] = rank < largest
    lengths = np.bincount(row[staying], minlength=len(lists.sizes))
    return ItemLists(np.concatenate(([0], np.cumsum(lengths))), lists.items[staying], lists.nulls)


def _kept(lists: ItemLists, mechanism: SelectASize, streams: Streams) -> Flags:
    """Choose j of each basket's items, each choice being equally likely.

    One place after the other: with `need` still to be chosen of `left` items, the next is taken with probability
    need / left.
    """
    sizes = lists.sizes
    most = int(sizes.max(initial=0))
    result = np.zeros(len(lists.items), dtype=np.bool_)
    if most == 0:
        return result
    need = _counts(sizes, mechanism, streams)
    chances = _chances(most)
    order = np.argsort(-sizes, kind="stable")
    words = streams.words("keep", most)[order] >> np.uint64(1)
    need, left, first = need[order], sizes[order].copy(), lists.offsets[:-1][order]
    active = np.searchsorted(-sizes[order], -np.arange(most), side="left")  # rows of more than i items
    for place in range(most):
        rows = slice(0, int(active[place]))
        taken = words[rows, place] < chances[need[rows], left[rows]]
        result[first[rows] + place] = taken
        need[rows] -= taken
        left[rows] -= 1
    return result


def _counts(sizes: Numbers, mechanism: SelectASize, streams: Streams) -> Numbers:
    """Draw j for every row: the number of steps of the size's distribution function that the draw has passed."""
    steps = np.full((len(mechanism.operators), mechanism.largest), np.iinfo(np.uint64).max, dtype=np.uint64)
    for size, operator in enumerate(mechanism.operators):
        for kept in range(size):
            passed = math.fsum(operator.keep[: kept + 1])
            steps[size, kept] = min(int(math.ldexp(min(passed, 1.0), 64)), (1 << 64) - 1)
    drawn = streams.words("count", 1)
    result: Numbers = np.minimum((drawn >= steps[sizes]).sum(axis=1), sizes)
    return result


def _chances(most: int) -> Words:
    """need / left in units of 2**-63, by need and left."""
    table = np.zeros((most + 1, most + 1), dtype=np.uint64)
    for left in range(1, most + 1):
        for need in range(left + 1):
            table[need, left] = (need << 63) // left
    return table
