"""Arrays without what lies hidden under their NULLs, where Arrow allows any value, an original among them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def without_hidden(array: pa.Array) -> pa.Array:
    """The same array; what nobody can read of it is gone."""
    if not array.null_count:
        return array
    return pc.take(array, pa.array(range(len(array)), pa.int64()))
