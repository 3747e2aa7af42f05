"""Retention replacement: keep a value with probability p, else replace it by a uniform draw from its domain.

The draws of a row form one path for all retentions. With uniform coins U_1, U_2, .. and replacements V_1, V_2, .. of
the row, ``Q_k = U_1 * .. * U_k`` is where the k-th replacement arrives: the value is V_k for the largest k with
``Q_k >= p``, and the original where ``U_1 < p``. Releases at several retentions are then a Markov chain: what one says
of a row beyond another is only what a further, independent perturbation says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
import pyarrow as pa

from ppdm_udfs.buffers import joined
from ppdm_udfs.coins import KeyedRows, digest, domain_words, keyed_rows
from ppdm_udfs.domain import MAX_SIZE, NULLS, OUTSIDE, Domain, Grid, Values, decode, encode
from ppdm_udfs.draws import COIN_BITS, Reals, coins, draw, replacements
from ppdm_udfs.errors import KernelError
from ppdm_udfs.keys import subkey
from ppdm_udfs.slices import ROWS, over_slices
from ppdm_udfs.wide import Flags, Words

_ROWS_A_VALUE = 8  # looking values up first hashes the whole list: a slice must be long enough to pay for it


@dataclass(frozen=True)
class Uniform:
    """How one column is perturbed: its domain, the probability that a value is kept, and what exceptions do.

    ``nulls``: "error", "keep" (NULL stays NULL and takes no part), "value" (NULL is one more value of the domain).
    ``outside``: "error", or "clamp" to the nearest point of a grid.
    """

    domain: Domain
    retain: float
    nulls: str = "error"
    outside: str = "error"

    name: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Grid | Values):
            raise KernelError("a domain is a Grid or Values")
        _check_retention(self.retain)
        if self.nulls not in NULLS or self.outside not in OUTSIDE:
            raise KernelError(f"nulls is one of {NULLS} and outside one of {OUTSIDE}")
        if self.outside == "clamp" and isinstance(self.domain, Values):
            raise KernelError("clamp needs a domain with an order: a list of values has none")

    @property
    def size(self) -> int:
        """How many values a replacement is drawn from."""
        return self.domain.size + (self.nulls == "value")

    def parameters(self, kind: pa.DataType) -> str:
        """Tells mechanisms apart whose copies of a column of this type are no levels of one path.

        What is done with values outside and with NULLs that are no value is not in it: it changes what a row's value
        is, not what becomes of it.
        """
        return digest(self.name, int(self.nulls == "value"), *self.weight_words(), *domain_words(self.domain, kind))

    def weight_words(self) -> Sequence[str]:
        """The replacing distribution as words; none where it is even."""
        return ()

    def drawn(self, bits: Words) -> Words:
        """The values, by number, that 64 random bits each stand for."""
        return replacements(bits, self.size)

    def shares(self, index: Words) -> Reals:
        """The share of values, by number, in the replacing distribution."""
        return np.full(len(index), 1 / self.size)


def perturb(
    array: pa.Array | pa.ChunkedArray,
    mechanism: Uniform,
    *,
    key: bytes,
    table: str,
    column: str,
    rows: Words | KeyedRows,
    parameters: str | None = None,
    threads: int | None = None,
) -> pa.Array:
    """Perturb a column.

    The result depends on the key, the names, the rows' identities, the values and the mechanism alone: not on how rows
    are batched, ordered or spread over threads.

    Parameters
    ----------
    rows
        The rows' identities, shape (n, 2), from `row_blocks` or `position_blocks`; or what `keyed_rows` makes of them.
    parameters
        What the coins' address says of the mechanism, in the place of `Uniform.parameters`.

    Returns
    -------
    pyarrow.Array
        Of the same type and length as `array`. Reals and timestamps are rounded to the grid even where they are kept.
    """
    blocks = keyed_rows(rows, len(array), key=key, table=table).blocks
    parameters = mechanism.parameters(array.type) if parameters is None else parameters
    cipher_key = _cipher_keys(key, "draw", table.casefold(), column.casefold(), parameters)
    held = mechanism.domain.values if isinstance(mechanism.domain, Values) else ()
    entries = max(len(held), _dictionary_size(array))

    def part(start: int, stop: int) -> pa.Array:
        values = joined(array.slice(start, stop - start))
        index = encode(values, mechanism.domain, mechanism.nulls, mechanism.outside)
        taking = index < np.uint64(mechanism.size) if mechanism.nulls == "keep" else None
        _walk(index, blocks[start:stop], mechanism.drawn, mechanism.retain, cipher_key=cipher_key, taking=taking)
        return decode(index, mechanism.domain, array.type)

    parts = over_slices(part, len(array), rows=max(ROWS, _ROWS_A_VALUE * entries), threads=threads)
    return pa.concat_arrays(parts) if parts else part(0, 0)


def perturb_indices(
    index: Words,
    size: int,
    retain: float,
    *,
    key: bytes,
    table: str,
    column: str,
    rows: Words | KeyedRows,
    parameters: str = "",
    taking_part: Flags | None = None,
    threads: int | None = None,
) -> Words:
    """Perturb numbers below `size`; rows that `taking_part` leaves out stay as they are.

    `parameters` tell mechanisms apart that share a column; the size does so too.
    """
    _check_retention(retain)
    if not 1 <= size <= MAX_SIZE + 1:
        raise KernelError(f"a domain has 1 to 2**53 values, not {size}")
    blocks = keyed_rows(rows, len(index), key=key, table=table).blocks
    result = np.array(index, dtype=np.uint64)
    cipher_key = _cipher_keys(key, "draw", table.casefold(), column.casefold(), parameters, size)

    def drawn(bits: Words) -> Words:
        return replacements(bits, size)

    def part(start: int, stop: int) -> None:
        taking = None if taking_part is None else taking_part[start:stop]
        _walk(result[start:stop], blocks[start:stop], drawn, retain, cipher_key=cipher_key, taking=taking)

    over_slices(part, len(result), threads=threads)
    return result


def _walk(
    index: Words,
    blocks: Words,
    drawn: Callable[[Words], Words],
    retain: float,
    *,
    cipher_key: Callable[[int], bytes],
    taking: Flags | None,
) -> None:
    """Move numbers along their path, in place; only rows that may still meet a replacement are drawn for again.

    A row's path is that of its number: the coins are drawn from its block with the number in it.
    """
    threshold = math.ceil(math.ldexp(retain, COIN_BITS)) << (64 - COIN_BITS)
    if threshold >> 64 or not len(index):
        return
    bits = draw(cipher_key(1), blocks, index)
    replaced = bits[:, 0] >= np.uint64(threshold)
    if taking is not None:
        replaced &= taking
    alive = np.flatnonzero(replaced)
    bits = bits.take(alive, axis=0)
    blocks = blocks.take(alive, axis=0)
    blocks[:, 0] ^= index.take(alive)
    reached = coins(bits[:, 0])
    number = 1
    while len(alive):
        index[alive] = drawn(bits[:, 1])
        number += 1
        bits = draw(cipher_key(number), blocks)
        reached *= coins(bits[:, 0])
        chosen = np.flatnonzero(reached >= retain)
        alive, reached = alive[chosen], reached[chosen]
        bits, blocks = bits.take(chosen, axis=0), blocks.take(chosen, axis=0)


def along_path(
    index: Words,
    blocks: Words,
    drawn: Callable[[Words], Words],
    retain: float,
    *,
    address: tuple[str, ...],
    key: bytes,
    taking: Flags,
) -> None:
    """Move numbers along a path of their own, in place: one whose coins are drawn under another address."""
    keys = _cipher_keys(key, *address)
    over_slices(
        lambda a, b: _walk(index[a:b], blocks[a:b], drawn, retain, cipher_key=keys, taking=taking[a:b]), len(index)
    )


def _cipher_keys(key: bytes, *address: str | int) -> Callable[[int], bytes]:
    """Return draw number -> key, remembered for one call only, so that no key outlives its use."""
    subkey(key, *address)
    return cache(lambda number: subkey(key, *address, number))


def _check_retention(retain: float) -> None:
    if not 0 < retain <= 1:
        raise KernelError(f"a retention is above 0 and at most 1, not {retain}")


def _dictionary_size(array: pa.Array | pa.ChunkedArray) -> int:
    if not pa.types.is_dictionary(array.type):
        return 0
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return max((len(chunk.dictionary) for chunk in chunks), default=0)
