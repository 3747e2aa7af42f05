"""Arrays without what nobody can read of them: what lies under NULLs, and before, between and after the values.

Arrow allows anything there, an original among it, and sends it along. All that is left here are the values themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PLAIN = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
_TEXTS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64, pa.large_binary(): np.int64}


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of a batch whose arrays went through `without_hidden`."""
    return pa.schema([field.with_type(_plain(field.type)) for field in schema])


def without_hidden(array: pa.Array) -> pa.Array:
    """The same values; what nobody can read is gone, also in what is nested. Views become plain arrays."""
    kind = _plain(array.type)
    if kind == array.type or isinstance(array, pa.UnionArray):
        return _bare(array)
    if "list_view" in str(array.type):  # Arrow has no cast of these that can be relied on
        return _bare(pa.array(array.to_pylist(), kind))
    return _bare(array.cast(kind))


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type without views, which share one buffer of values, whichever of them are left."""
    if isinstance(kind, pa.StructType):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if isinstance(kind, pa.MapType):
        return pa.map_(*(field.with_type(_plain(field.type)) for field in (kind.key_field, kind.item_field)))
    if isinstance(kind, pa.FixedSizeListType):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)), kind.list_size)
    if isinstance(kind, pa.LargeListType | pa.LargeListViewType):
        return pa.large_list(kind.value_field.with_type(_plain(kind.value_type)))
    if isinstance(kind, pa.ListType | pa.ListViewType):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if isinstance(kind, pa.UnionType):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.sparse_union([field.with_type(_plain(field.type)) for field in fields], kind.type_codes)
    return _PLAIN.get(kind, kind)


def _bare(array: pa.Array) -> pa.Array:
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, _bare(array.storage))
    if isinstance(array, pa.DictionaryArray):
        return pa.DictionaryArray.from_arrays(_bare(array.indices), _bare(array.dictionary), ordered=kind.ordered)
    if isinstance(array, pa.UnionArray):
        return _union(array)
    if not len(array):
        return pa.array([], kind)
    if isinstance(array, pa.StructArray):  # what is flattened is NULL where the whole is
        children = [_bare(child) for child in array.flatten()]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    if array.null_count:
        places = pa.array(np.arange(len(array)))  # of a NULL, Arrow copies zeros or nothing
        array = pc.take(array, pc.if_else(array.is_valid(), places, pa.scalar(None, pa.int64())))
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.MapArray):
        offsets = array.offsets
        first, end = offsets[0].as_py(), offsets[len(array)].as_py()
        begins = pc.subtract(offsets, offsets[0]).buffers()[1]
        return _nested(array, [begins], array.values.slice(first, end - first))
    if isinstance(array, pa.FixedSizeListArray):
        size = kind.list_size
        return _nested(array, [], array.values.slice(array.offset * size, len(array) * size))
    return _text(array) if kind in _TEXTS else array


def _nested(array: pa.Array, buffers: Sequence[pa.Buffer], values: pa.Array) -> pa.Array:
    """Lists of bare values. One with NULLs was copied, so that its validity begins with its buffer."""
    validity = array.buffers()[0] if array.null_count else None
    return pa.Array.from_buffers(array.type, len(array), [validity, *buffers], children=[_bare(values)])


def _text(array: pa.Array) -> pa.Array:
    """Arrow sends some of what stands behind the last value, up to a multiple of 64 bytes: the buffer ends there."""
    validity, begins, values = array.buffers()
    if values is None:
        return array
    end = int(np.frombuffer(begins, _TEXTS[array.type])[array.offset + len(array)])
    buffers = [validity, begins, values.slice(0, end)]
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)


def _union(array: pa.UnionArray) -> pa.Array:
    """Of each value only the member that it has."""
    kind = array.type
    members = [without_hidden(array.field(i)) for i in range(kind.num_fields)]
    if kind.mode == "dense":
        members = [pc.take(member, array.offsets) for member in members]
    chosen = [pc.equal(array.type_codes, code) for code in kind.type_codes]
    kept = [
        _bare(pc.if_else(here, member, pa.scalar(None, member.type)))
        for here, member in zip(chosen, members, strict=True)
    ]
    names = [kind.field(i).name for i in range(kind.num_fields)]
    return pa.UnionArray.from_sparse(array.type_codes, kept, names, kind.type_codes)
