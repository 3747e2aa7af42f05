"""Values in a form that does not depend on the Arrow type that carries them.

Engines hand one value over in many types: a name as string, view or dictionary, a number in any width, a moment in any
unit. Rows must be found again all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_udfs import wide
from ppdm_udfs.buffers import nulls_of, plain, storage_dtype, values_of, words_of
from ppdm_udfs.errors import KernelError
from ppdm_udfs.wide import Flags, Wide, Words

Bytes: TypeAlias = npt.NDArray[np.uint8]
Offsets: TypeAlias = npt.NDArray[np.int64]

INTEGER, DECIMAL, REAL, BOOLEAN, DATE, TIME, MOMENT, TEXT, BINARY = (ord(letter) for letter in "idrbDTMsx")

_BLOCK = 16
_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_HEX = np.frombuffer(b"0123456789abcdef", dtype=np.uint8)
_UUID_PLACES = np.array([place for place in range(36) if place not in (8, 13, 18, 23)])


@dataclass(frozen=True)
class Fixed:
    """A column of which every value is one block."""

    tag: Words
    words: Words

    @property
    def lengths(self) -> Words:
        """Bytes of every value."""
        return np.full(len(self.words), _BLOCK, dtype=np.uint64)

    def blocks(self) -> Words:
        """Return how many blocks every value takes."""
        return np.ones(len(self.words), dtype=np.uint64)


@dataclass(frozen=True)
class Text:
    """A column of byte strings inside `data`, which has a spare block at its end to be read past."""

    tag: Words
    starts: Offsets
    lengths: Words
    data: Bytes

    def blocks(self) -> Words:
        """Return how many blocks every value takes."""
        return (self.lengths + np.uint64(_BLOCK - 1)) // np.uint64(_BLOCK)


def invalid(array: pa.Array) -> Flags | None:
    """Tell which values cannot name a row: NULL, and NaN, which equals nothing. None if all can."""
    array = _decoded(array)
    if pa.types.is_floating(array.type):
        flags: Flags = pc.fill_null(pc.is_nan(array), True).to_numpy(zero_copy_only=False)
        return flags
    return nulls_of(array)


def integers(array: pa.Array) -> Words | None:
    """Return integers sign-extended to 128 bits, None if the type is not an integer's."""
    array = plain(_decoded(array))
    kind = array.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return words_of(array)
    if not pa.types.is_integer(kind):
        return None
    return _extended(values_of(array, np.dtype(kind.to_pandas_dtype())))


def canonical(array: pa.Array) -> Fixed | Text:
    """Return a column without NULLs in its canonical form."""
    array = _decoded(array)
    if isinstance(array.type, pa.UuidType):
        return _uuid_text(array)
    array = plain(array)
    if _is_text(array.type) or _is_bytes(array.type):
        return _text(array)
    return _number(array)


def _number(array: pa.Array) -> Fixed:
    kind = array.type
    numbers = integers(array)
    if numbers is not None:
        return _fixed(INTEGER, numbers)
    if pa.types.is_decimal(kind):
        return _decimal(array)
    if pa.types.is_boolean(kind):
        return _fixed(BOOLEAN, _extended(array.to_numpy(zero_copy_only=False).astype(np.int64)))
    if pa.types.is_floating(kind):
        reals = array.to_numpy(zero_copy_only=False).astype(np.float64) + 0.0  # which turns -0.0 into 0.0
        reals[np.isnan(reals)] = np.nan  # of which there are many, with and without a sign
        return _fixed(REAL, _extended(reals.view(np.int64), sign=False))
    if pa.types.is_temporal(kind):
        return _temporal(array)
    raise KernelError(f"a column of {kind} cannot name rows")


def _decoded(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _fixed(tag: int, words: Words) -> Fixed:
    return Fixed(np.full(len(words), tag, dtype=np.uint64), words)


def _extended(values: npt.NDArray[np.integer], *, sign: bool = True) -> Words:
    words = np.empty((len(values), 2), dtype=np.uint64)
    np.copyto(words[:, 0], values, casting="unsafe")
    if sign and values.dtype.kind == "i":
        np.copyto(words[:, 1], values >> (8 * values.itemsize - 1), casting="unsafe")
    else:
        words[:, 1] = 0
    return words


def _decimal(array: pa.Array) -> Fixed:
    """Drop trailing zeros: 1.50 and 1.500 are one number, and 2.00 is the integer 2."""
    scale = array.type.scale
    if scale < 0:
        raise KernelError(f"a column of {array.type} cannot name rows: its scale is negative")
    numbers = Wide.of_blocks(words_of(array))
    below_zero = wide.negative(numbers)
    size = wide.negate(numbers, below_zero).blocks()
    scales = np.full(len(size), scale, dtype=np.uint64)
    rows = np.arange(len(size))
    for _ in range(scale):
        shorter, rest = wide.divide_small(Wide.of_blocks(size[rows]), 10)
        whole = rest == 0
        rows = rows[whole]
        size[rows] = shorter.blocks()[whole]
        scales[rows] -= np.uint64(1)
    tag = np.where(scales == 0, np.uint64(INTEGER), np.uint64(DECIMAL) | (scales << np.uint64(8)))
    return Fixed(tag, wide.negate(Wide.of_blocks(size), below_zero).blocks())


def _temporal(array: pa.Array) -> Fixed:
    kind = array.type
    dtype = storage_dtype(kind)
    if dtype is None:
        raise KernelError(f"a column of {kind} cannot name rows")
    values = values_of(array, dtype).astype(np.int64)
    if pa.types.is_date(kind):
        return _fixed(DATE, _extended(values // 86_400_000 if kind == pa.date64() else values))
    seconds, rest = np.divmod(values, _SECOND[kind.unit])
    words = np.empty((len(values), 2), dtype=np.uint64)
    words[:, 0] = seconds.astype(np.uint64)
    words[:, 1] = rest * (10**9 // _SECOND[kind.unit])
    return _fixed(MOMENT if pa.types.is_timestamp(kind) else TIME, words)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _text(array: pa.Array) -> Text:
    kind = array.type
    tag = TEXT if _is_text(kind) else BINARY
    if pa.types.is_fixed_size_binary(kind):
        bounds = (np.arange(len(array) + 1) + array.offset) * kind.byte_width
        data = array.buffers()[1]
    else:
        width = np.dtype("<i8" if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind) else "<i4")
        offsets, data = array.buffers()[1:]
        bounds = np.zeros(len(array) + 1, dtype=np.int64)
        if offsets is not None and len(array):
            place = array.offset * width.itemsize
            bounds = np.frombuffer(offsets, dtype=width, count=len(array) + 1, offset=place).astype(np.int64)
    first, last = int(bounds[0]), int(bounds[-1])
    padded = np.zeros(last - first + _BLOCK, dtype=np.uint8)
    if last > first:
        padded[: last - first] = np.frombuffer(data, dtype=np.uint8, count=last - first, offset=first)
    tags = np.full(len(array), tag, dtype=np.uint64)
    return Text(tags, bounds[:-1] - first, np.diff(bounds).astype(np.uint64), padded)


def _uuid_text(array: pa.Array) -> Text:
    """Write UUIDs as text, for that is how DuckDB and Spark hand them over."""
    raw = _text(array.storage)
    octets = raw.data[: 16 * len(array)].reshape(-1, 16)
    letters = np.full((len(array), 36), ord("-"), dtype=np.uint8)
    letters[:, _UUID_PLACES] = _HEX[np.stack((octets >> 4, octets & 15), axis=2).reshape(-1, 32)]
    data = np.concatenate((letters.reshape(-1), np.zeros(_BLOCK, dtype=np.uint8)))
    lengths = np.full(len(array), 36, dtype=np.uint64)
    return Text(np.full(len(array), TEXT, dtype=np.uint64), np.arange(len(array)) * 36, lengths, data)
