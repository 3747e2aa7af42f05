"""Results of a scan as tensors over groups and cells, and how cells merge into groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppdm_sql.query.sql.domain_groups import (
    place_name,
)
from ppdm_sql.query.sql.states import GROUP
from ppdm_sql.reconstruct.inversion import Array


@dataclass(frozen=True)
class Scanned:
    """The result of a scan as tensors of shape (exact groups, cells of each axis ..)."""

    table: pa.Table
    shape: tuple[int, ...]
    least: int = 0

    @property
    def groups(self) -> int:
        """The number of exact groups; an aggregate over all rows has one, whether there are rows or not."""
        return max(int(self.group.max(initial=-1)) + 1, self.least)

    @property
    def group(self) -> npt.NDArray[np.int64]:
        """The number of each row's exact group."""
        return self.integers(GROUP)

    def integers(self, name: str) -> npt.NDArray[np.int64]:
        """A column of whole numbers."""
        return np.asarray(self.table.column(name).to_numpy()).astype(np.int64)

    def tensor(self, column: str) -> Array:
        """A column's sums, in the places of their groups and cells."""
        result = np.zeros((self.groups, *self.shape))
        places = tuple(self.integers(place_name(i)) for i in range(len(self.shape)))
        values = np.nan_to_num(np.asarray(self.table.column(column).to_numpy(), dtype=float))
        np.add.at(result, (self.group, *places), values)
        return result


@dataclass(frozen=True)
class Outcomes:
    """How the cells of the key axes merge into groups: for each axis the group of every cell, and one cell of each."""

    of_cell: tuple[npt.NDArray[np.int64], ...]
    cells: tuple[npt.NDArray[np.int64], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of each axis."""
        return tuple(len(cells) for cells in self.cells)

    def merge(self, tensor: Array, first: int = 1) -> Array:
        """Add up the cells of each group; the key axes begin at `first`."""
        for place, index in enumerate(self.of_cell):
            moved = np.moveaxis(tensor, first + place, 0)
            merged = np.zeros((len(self.cells[place]), *moved.shape[1:]))
            np.add.at(merged, index, moved)
            tensor = np.moveaxis(merged, 0, first + place)
        return tensor
