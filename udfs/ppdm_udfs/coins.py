"""Where a coin is found: the key that it is drawn with, and the block of its row that is encrypted with it.

A coin depends on the row, on the row's own value and on the public parameters of its mechanism, all but the level. A
row that is published again shows the same as before as long as its value is the same; a value that changed meets coins
that have nothing to do with the earlier ones, and so does every value under other parameters. So two releases of a row
are one and the same, or levels of one path, or independent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from ppdm_udfs.canonical import canonical
from ppdm_udfs.domain import Domain, Grid
from ppdm_udfs.draws import draw
from ppdm_udfs.errors import KernelError
from ppdm_udfs.identity import hashed
from ppdm_udfs.keys import encoded, subkey
from ppdm_udfs.slices import over_slices
from ppdm_udfs.wide import Words


@dataclass(frozen=True)
class KeyedRows:
    """The identities of rows, encrypted under a key and a table: one encryption a row for all of its columns."""

    blocks: Words
    made_with: bytes

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, rows: Any) -> KeyedRows:
        return KeyedRows(self.blocks[rows], self.made_with)


def keyed_rows(rows: Words | KeyedRows, count: int, *, key: bytes, table: str) -> KeyedRows:
    """Encrypt the identities of `count` rows, unless they are already; KernelError where they do not fit.

    Identities are numbers that follow one another, and values are small: unencrypted, row 2 with value 1 would have the
    block of row 1 with value 2.
    """
    blocks = rows.blocks if isinstance(rows, KeyedRows) else rows
    if blocks.shape != (count, 2) or blocks.dtype != np.uint64:
        raise KernelError(f"identities of {count} rows are needed, as {count} pairs of uint64")
    cipher_key = subkey(key, "rows", table.casefold())
    made_with = hashlib.sha256(cipher_key).digest()
    if isinstance(rows, KeyedRows):
        if rows.made_with != made_with:
            raise KernelError("the rows are of another key or table")
        return rows
    result = np.empty((count, 2), dtype=np.uint64)

    def part(start: int, stop: int) -> None:
        result[start:stop] = draw(cipher_key, rows[start:stop])

    over_slices(part, count)
    return KeyedRows(result, made_with)


def digest(*parts: str | int) -> str:
    """Tells parameters apart."""
    return hashlib.sha256(encoded(*parts)).hexdigest()


def domain_words(domain: Domain, kind: pa.DataType) -> Iterable[str | int]:
    """A domain for `digest`: the same words whatever the type that carries its values."""
    if isinstance(domain, Grid):
        low, step, scale = domain.low, domain.step, domain.scale
        while scale and low % 10 == 0 and step % 10 == 0:
            low, step, scale = low // 10, step // 10, scale - 1
        return ("grid", _unit(kind), low, step, domain.size, scale)
    return ("values", *(_word(value) for value in domain.values.to_pylist()))


def column_digest(array: pa.Array, rows: Words, cipher_key: bytes) -> Words:
    """What a batch adds to the digest of its column: two words, which add up to the same in whatever order rows come.

    It tells which row has which value, and means nothing without the key.
    """
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode(null_encoding="encode")
    known = coded.dictionary.is_valid()
    values = np.zeros((len(coded.dictionary), 2), dtype=np.uint64)
    values[known.to_numpy(zero_copy_only=False)] = hashed([canonical(coded.dictionary.filter(known))], cipher_key)
    return rows_digest(values[coded.indices.to_numpy(zero_copy_only=False)], rows, cipher_key)


def rows_digest(values: Words, rows: Words, cipher_key: bytes) -> Words:
    """As `column_digest`, from values that are words already, shape (n, 2)."""
    result: Words = draw(cipher_key, rows ^ values).sum(axis=0, dtype=np.uint64)
    return result


def vector_words(columns: Sequence[Words], cipher_key: bytes) -> Words:
    """One pair of words for several columns of pairs, shape (n, 2) each: a CBC-MAC, for all have the same length."""
    state = np.zeros_like(columns[0])
    for words in columns:
        state = draw(cipher_key, state ^ words)
    return state


def _unit(kind: pa.DataType) -> str:
    if pa.types.is_date(kind):
        return "days"
    return "microseconds" if pa.types.is_timestamp(kind) else "numbers"


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return f"boolean {value}"
    if isinstance(value, int | float | Decimal) and np.isfinite(float(value)):
        return f"number {Fraction(value)}"
    if isinstance(value, datetime):
        return f"moment {(value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat()}"
    if isinstance(value, date):
        return f"day {value.isoformat()}"
    return f"text {value}" if isinstance(value, str) else f"other {value!r}"
