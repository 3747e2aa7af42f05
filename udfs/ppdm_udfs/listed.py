"""Domains that are a list of values: values to their places in the list and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_udfs.buffers import codes_of, plain, restored
from ppdm_udfs.errors import KernelError
from ppdm_udfs.wide import Flags, Words


def encode_listed(array: pa.Array, values: pa.Array) -> tuple[Words, Flags]:
    """Return each value's place in the list, and which values are not in it."""
    if pa.types.is_dictionary(array.type):
        places, missing = _places(array.dictionary, values)
        if not len(places):
            return np.zeros(len(array), dtype=np.uint64), np.ones(len(array), dtype=np.bool_)
        codes = codes_of(array)
        return places[codes], missing[codes]
    return _places(array, values)


def _places(array: pa.Array, values: pa.Array) -> tuple[Words, Flags]:
    searched = plain(array)
    wanted = plain(fitted(values, array.type))
    places = pc.index_in(searched, value_set=wanted, skip_nulls=True)
    missing: Flags = pc.is_null(places).to_numpy(zero_copy_only=False)
    index: Words = pc.fill_null(places, 0).to_numpy(zero_copy_only=False).astype(np.uint64)
    return index, missing


def decode_listed(index: Words, values: pa.Array, nulls: Flags | None, kind: pa.DataType) -> pa.Array:
    """Return the values at places of the list; a dictionary type gets the list itself as its dictionary."""
    if pa.types.is_dictionary(kind):
        limit = np.iinfo(kind.index_type.to_pandas_dtype()).max
        if len(values) - 1 > limit:
            raise KernelError(f"a domain of {len(values)} values does not fit {kind}")
        codes = pa.array(index.astype(kind.index_type.to_pandas_dtype()), type=kind.index_type, mask=nulls)
        return pa.DictionaryArray.from_arrays(codes, fitted(values, kind.value_type), ordered=kind.ordered)
    places = pa.array(index, mask=nulls)
    return restored(plain(fitted(values, kind)).take(places), kind)


def fitted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a domain's values in the type of a column."""
    if values.type == kind:
        return values
    try:
        if isinstance(kind, pa.BaseExtensionType):
            return kind.wrap_array(fitted(plain(values), kind.storage_type))
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise KernelError(f"a domain of {values.type} values does not fit a column of {kind}") from None
