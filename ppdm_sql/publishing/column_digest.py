"""The digest of a column whose rows are replaced by what other rows hold: another column, other coins.

It is made with the key, from every row's identity and value, and is the same in whatever order the rows come. Without
the key it tells nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import subkey
from ppdm_udfs.coins import column_digest, digest, rows_digest

from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.publishing.perturber import Rows

Words = npt.NDArray[np.uint64]


class ColumnDigest:
    """Of one column, batch by batch; with it, all that is declared but the level tells its coins from others."""

    def __init__(self, column: PerturbedColumn) -> None:
        mechanism = MECHANISMS[column.mechanism]
        self._declared = {
            word: said == "value" if word == "nulls" else said  # NULLs that are no value take no part
            for word, said in mechanism.to_json(column).items()
            if word not in mechanism.level_keys
        }
        self._column = column
        self._rows = 0
        self._sum: Words = np.zeros(2, dtype=np.uint64)

    def add(self, array: pa.Array, rows: Rows) -> None:
        """Take a batch of values into account."""
        self._rows += len(array)
        self._sum += column_digest(array, rows.keyed.blocks, self._key(rows))

    def add_numbers(self, index: Words, rows: Rows) -> None:
        """Take a batch of values into account that are numbered."""
        self._rows += len(index)
        values = np.zeros((len(index), 2), dtype=np.uint64)
        values[:, 0] = index
        self._sum += rows_digest(values, rows.keyed.blocks, self._key(rows))

    @property
    def parameters(self) -> str:
        """What the address of a coin says of the mechanism and the column, all of which has been read."""
        declared = json.dumps(self._declared, sort_keys=True)
        return digest(self._column.mechanism, declared, self._rows, *self._sum.tolist())

    def coins(self, place: int) -> Mapping[int, str]:
        """The parameters by the place of the column, none where no row has been read."""
        return {place: self.parameters} if self._rows else {}

    def _key(self, rows: Rows) -> bytes:
        return subkey(rows.key, "column", rows.table.casefold(), self._column.name.casefold())
