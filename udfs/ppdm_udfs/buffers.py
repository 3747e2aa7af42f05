"""The memory of Arrow arrays as numpy arrays, and back, without a copy where the types allow it."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_udfs.errors import KernelError
from ppdm_udfs.wide import Flags, Words

Numbers: TypeAlias = npt.NDArray[Any]
"""Integers or floats of the array's own width."""

_STORAGE: dict[pa.DataType, np.dtype[Any]] = {
    pa.date32(): np.dtype("<i4"),
    pa.date64(): np.dtype("<i8"),
    pa.float32(): np.dtype("<f4"),
    pa.float64(): np.dtype("<f8"),
}


def joined(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one contiguous array, of a chunked one too."""
    if isinstance(array, pa.ChunkedArray):
        return array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks or [pa.array([], array.type)])
    return array


def storage_dtype(kind: pa.DataType) -> np.dtype[Any] | None:
    """Return the numpy type of a fixed-width type's memory, None where there is none (DECIMAL, text, ..)."""
    if pa.types.is_integer(kind):
        integer: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return integer
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        return np.dtype("<i8")
    if pa.types.is_time32(kind):
        return np.dtype("<i4")
    return _STORAGE.get(kind)


def values_of(array: pa.Array, dtype: np.dtype[Any] | type[Any]) -> Numbers:
    """View a fixed-width array's values; what stands in the place of a NULL is undefined."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros(len(array), dtype=dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(data, dtype=dtype, count=len(array), offset=array.offset * width)


def words_of(array: pa.Array) -> Words:
    """View a decimal128 array as (n, 2) words, low word first."""
    data = array.buffers()[1]
    if data is None:
        return np.zeros((len(array), 2), dtype=np.uint64)
    words = np.frombuffer(data, dtype="<u8", count=2 * len(array), offset=array.offset * 16)
    return words.reshape(-1, 2)


def nulls_of(array: pa.Array) -> Flags | None:
    """Return which rows are NULL, None if no row is."""
    if array.null_count == 0 and not pa.types.is_dictionary(array.type):
        return None
    flags: Flags = pc.is_null(array).to_numpy(zero_copy_only=False)
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        # A dictionary may hold NULL as one of its values; Arrow does not count those.
        entries = pc.is_null(array.dictionary).to_numpy(zero_copy_only=False)
        flags = flags | entries[codes_of(array)]
    return flags if flags.any() else None


def codes_of(array: pa.DictionaryArray) -> Numbers:
    """Return a dictionary array's codes, with 0 for NULL."""
    codes: Numbers = pc.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
    return codes


def build(kind: pa.DataType, values: Numbers, nulls: Flags | None) -> pa.Array:
    """Wrap fixed-width values as an Arrow array of exactly this type."""
    validity = None
    if nulls is not None:
        validity = pa.py_buffer(np.packbits(~nulls, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(np.ascontiguousarray(values))])


def plain(array: pa.Array) -> pa.Array:
    """Return the same values in a type that numpy or Arrow's functions can work on.

    An extension type (UUID) becomes its storage, a view of text becomes text, a DECIMAL of any width becomes 128 bits.
    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(kind):
        try:
            return array.cast(pa.decimal128(min(kind.precision, 38), kind.scale))
        except pa.ArrowInvalid:
            raise KernelError(f"{kind} values of more than 38 digits are not supported") from None
    return array


def restored(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Undo `plain`: give an array the type that it came with."""
    if array.type == kind:
        return array
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(restored(array, kind.storage_type))
    return array.cast(kind)
