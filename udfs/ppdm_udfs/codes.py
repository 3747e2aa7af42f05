"""Codes whose columns are independent: from a short seed, bits for every item of which any few are independent.

A seed is a vector of bits. Bit number c of what it generates is its inner product, over GF(2), with column c of the
parity check matrix of a BCH code: the powers a^c, a^3c, a^5c, .. of a primitive element of GF(2^r), r bits each. With l
such powers, any 2 l columns are linearly independent, so any 2 l bits of a random seed are independent coins. An item
has `bits` columns; read as a number below 2**bits, it is in the basket where that number is below a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ppdm_udfs.errors import KernelError
from ppdm_udfs.wide import Words

Elements: TypeAlias = npt.NDArray[np.uint32]

MAX_BITS = 8
_WORD = 64
_TABLE_WORDS = 1 << 23  # columns of a code are all kept where they fit this many words

# A primitive polynomial of each degree: x generates every element but zero. Bit i stands for x**i.
_PRIMITIVE = {
    2: 0x7,
    3: 0xB,
    4: 0x13,
    5: 0x25,
    6: 0x43,
    7: 0x89,
    8: 0x11D,
    9: 0x211,
    10: 0x409,
    11: 0x805,
    12: 0x1053,
    13: 0x201B,
    14: 0x4443,
    15: 0x8003,
    16: 0x1100B,
    17: 0x20009,
    18: 0x40081,
    19: 0x80027,
    20: 0x100009,
    21: 0x200005,
    22: 0x400003,
    23: 0x800021,
    24: 0x1000087,
}


@dataclass(frozen=True)
class Code:
    """The code of a column: GF(2^degree), how many powers of an element a column has, and how many bits an item."""

    degree: int
    powers: int
    bits: int = 1

    def __post_init__(self) -> None:
        if self.degree not in _PRIMITIVE or not 1 <= self.bits <= MAX_BITS:
            raise KernelError(f"a code's degree is 2 to {max(_PRIMITIVE)}, and an item has 1 to {MAX_BITS} bits")
        if not 1 <= self.powers < 1 << (self.degree - 1):
            raise KernelError(f"a code over GF(2^{self.degree}) has 1 to {(1 << self.degree - 1) - 1} powers")

    @property
    def seed_bits(self) -> int:
        """How long a seed is."""
        return self.degree * self.powers

    @property
    def seed_bytes(self) -> int:
        """How many bytes hold a seed; bits beyond its length are zero."""
        return -(-self.seed_bits // 8)

    @property
    def words(self) -> int:
        """How many words hold a seed."""
        return -(-self.seed_bits // _WORD)

    @property
    def independent(self) -> int:
        """How many items at least are independent of each other, q."""
        return 2 * self.powers // self.bits

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return (1 << self.degree) - 1

    def threshold(self, rho: float) -> int:
        """The number below which an item is in the basket with probability rho."""
        return round(rho * (1 << self.bits))

    def check(self, items: int, largest: int, rhos: Sequence[float]) -> None:
        """Refuse a code that is too small for the item set or the baskets, or that cannot make a probability."""
        if items * self.bits > self.columns or self.independent < largest:
            raise KernelError(f"the code is too small for {items} items and baskets of {largest}")
        for rho in rhos:
            if rho * (1 << self.bits) != self.threshold(rho) or not 0 < rho < 1:
                raise KernelError(f"{rho} is not a whole number of 1/{1 << self.bits}, above 0 and below 1")


def code_for(items: int, bits: int, independent: int) -> Code:
    """The shortest of these codes with which any `independent` of `items` items are independent.

    >>> code_for(100_000, 1, 15).seed_bits, code_for(100_000, 4, 15).seed_bits
    (136, 570)
    """
    powers = -(-bits * independent // 2)
    degree = max(2, (items * bits).bit_length(), powers.bit_length() + 1)
    if degree > max(_PRIMITIVE):
        raise KernelError(f"{items} items of {bits} bits each are more than a code of degree {max(_PRIMITIVE)} has")
    return Code(degree, powers, bits)


def columns_of(code: Code, items: npt.NDArray[np.int64]) -> Words:
    """The columns of items, shape (items, bits, words)."""
    items = np.asarray(items, dtype=np.int64)
    numbers = items[:, None] * code.bits + np.arange(code.bits)
    if code.columns * code.words <= _TABLE_WORDS:
        held: Words = _table(code)[numbers]
        return held
    return _columns(code, numbers.ravel()).reshape(*numbers.shape, code.words)


def values_of(seeds: Words, columns: Words) -> npt.NDArray[np.uint8]:
    """The numbers that seeds show for items: seeds (n, words) and columns (n or 1, bits, words), result (n,)."""
    result = np.zeros(len(seeds), dtype=np.uint8)
    for bit in range(columns.shape[1]):
        folded = np.bitwise_xor.reduce(seeds & columns[:, bit], axis=1)
        result |= (np.bitwise_count(folded) & np.uint8(1)) << np.uint8(bit)
    return result


@lru_cache(maxsize=8)
def _table(code: Code) -> Words:
    return _columns(code, np.arange(code.columns))


def _columns(code: Code, numbers: npt.NDArray[np.int64]) -> Words:
    """Place the odd powers of an element one after the other, `degree` bits each."""
    powers = _powers_of_x(code.degree)
    result = np.zeros((len(numbers), code.words), dtype=np.uint64)
    for place in range(code.powers):
        element = powers[(numbers * (2 * place + 1)) % code.columns].astype(np.uint64)
        word, shift = divmod(place * code.degree, _WORD)
        result[:, word] |= element << np.uint64(shift)
        if shift + code.degree > _WORD:
            result[:, word + 1] |= element >> np.uint64(_WORD - shift)
    return result


@lru_cache(maxsize=8)
def _powers_of_x(degree: int) -> Elements:
    """x**0, x**1, .. as bits, each part of the table doubled by a multiplication with one power of x."""
    result = np.empty((1 << degree) - 1, dtype=np.uint32)
    result[0], known = 1, 1
    factor = 2 if degree > 1 else 1  # x**known
    while known < len(result):
        more = min(known, len(result) - known)
        result[known : known + more] = _times(result[:more], factor, degree)
        known += more
        factor = int(_times(np.array([factor], dtype=np.uint32), factor, degree)[0])
    return result


def _times(elements: Elements, factor: int, degree: int) -> Elements:
    product = np.zeros(len(elements), dtype=np.uint64)
    for bit in range(degree):
        if factor >> bit & 1:
            product ^= elements.astype(np.uint64) << np.uint64(bit)
    for bit in range(2 * degree - 2, degree - 1, -1):
        above = (product >> np.uint64(bit)) & np.uint64(1)
        product ^= above * np.uint64(_PRIMITIVE[degree] << (bit - degree))
    return product.astype(np.uint32)
