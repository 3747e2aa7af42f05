"""Small domains: count the values, part the table, and perturb within the parts.

The rows are read twice before they are perturbed: once for how often each value occurs, once more for how many of its
rows the coins send to each part. What is kept follows from the latter, so that the promise holds for the parts as they
are. Both depend on all rows, so the coins depend on a digest of the whole column. Between batches nothing is kept but
the digest and these counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import Assignment, RowError, Uniform, decode, encode, perturb_parts

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.small_domain.column import DomainPart, SmallDomainColumn
from ppdm_sql.privacy.partitioning import merged_ends, part_of, partition, protected_values
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.column_digest import ColumnDigest
from ppdm_sql.publishing.kernel_domain import fitting, kernel_domain
from ppdm_sql.publishing.perturber import Perturber, Publishing, Rows, refused

PART_TYPE = "SMALLINT"


class SmallDomain(Perturber):
    """One column, and the one that says which part a row is in."""

    passes = 2

    def __init__(self, place: int, part_place: int, column: SmallDomainColumn, kind: pa.DataType) -> None:
        super().__init__((place, part_place))
        self.column = column
        whole = RetainedColumn(column.name, column.type, column.domain, 1.0, column.nulls, column.outside)
        self._kernel = fitting(
            whole, kind, lambda: Uniform(kernel_domain(whole, kind), 1.0, column.nulls, column.outside)
        )
        self._digest = ColumnDigest(column)
        self._counts = np.zeros(column.size, dtype=np.int64)
        self._assignment = Assignment(np.zeros((1, column.size), dtype=np.int64))
        self._assigned = self._counts[None]
        self._united = np.zeros(1, dtype=np.int16)

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Count values, then values by part."""
        index = self._index(arrays[0], rows)
        if number == 0:
            self._counts += np.bincount(index.astype(np.int64), minlength=self.column.size)
            self._digest.add_numbers(index, rows)
        else:
            place = self._parts(index, rows).astype(np.int64) * self.column.size + index.astype(np.int64)
            self._assigned += np.bincount(place, minlength=self._assigned.size).reshape(self._assigned.shape)

    def looked(self, number: int) -> None:
        """Part the table; then say what each part keeps, now that its rows are known."""
        rho1, rho2 = self.column.rho1, self.column.rho2
        try:
            if number == 0:
                found = partition(self._counts.tolist(), rho1, rho2)
                self._assignment = Assignment(np.array([part.counts for part in found]))
                self._assigned = np.zeros((len(found), self.column.size), dtype=np.int64)
            else:
                self._settle(protected_values(self._counts, rho1), rho2)
        except PolicyError as error:
            problem = str(error)
        else:
            return
        raise PolicyError(f"column {self.column.name!r}: {problem}")

    def _settle(self, protected: npt.NDArray[np.bool_], rho2: float) -> None:
        """The parts as they turned out; those in which chance made a value too frequent are united with others."""
        ends = merged_ends(self._assigned, protected, rho2)
        pieces = np.split(self._assigned, ends[:-1])
        found = [part_of(piece.sum(axis=0), protected, rho2) for piece in pieces]
        self._united = np.repeat(np.arange(len(pieces), dtype=np.int16), [len(piece) for piece in pieces])
        self.column = replace(self.column, parts=tuple(DomainPart(part.values, part.retention) for part in found))

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The column perturbed within the parts, and the parts."""
        index = self._index(arrays[0], rows)
        parts = self._united[self._parts(index, rows)]
        moved = perturb_parts(
            index,
            parts,
            [np.array(part.places) for part in self.column.parts],
            [part.retain for part in self.column.parts],
            key=rows.key,
            table=rows.table,
            column=self.column.name,
            rows=rows.keyed,
            parameters=self._digest.parameters,
            threads=rows.threads,
        )
        return [decode(moved, self._kernel.domain, arrays[0].type), pa.array(parts, pa.int16())]

    def coins(self) -> Mapping[int, str]:
        """The column as it is, once it has been read."""
        return self._digest.coins(self.columns[0])

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The column with its parts."""
        return {self.columns[0]: self.column}

    def _index(self, array: pa.Array, rows: Rows) -> npt.NDArray[np.uint64]:
        try:
            return encode(array, self._kernel.domain, self.column.nulls, self.column.outside)
        except RowError as error:
            found = error
        raise SourceError(refused(rows, self.column.name, found, "widen its domain"))

    def _parts(self, index: npt.NDArray[np.uint64], rows: Rows) -> npt.NDArray[np.int16]:
        return self._assignment.parts(
            index,
            key=rows.key,
            table=rows.table,
            column=self.column.name,
            rows=rows.keyed,
            parameters=self._digest.parameters,
        )


def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
    """One for each column, with the column of its parts."""
    names = {column.name: place for place, column in enumerate(columns)}
    found: list[Perturber] = []
    for place in mine:
        column = columns[place].perturbed
        assert isinstance(column, SmallDomainColumn)
        found.append(SmallDomain(place, names[column.part_column], column, kinds[place]))
    return found


def added(columns: Sequence[PerturbedColumn]) -> list[Column]:
    """For each column one that says which part a row is in."""
    found = [column for column in columns if isinstance(column, SmallDomainColumn)]
    return [Column(column.part_column, PART_TYPE, f"CAST(0 AS {PART_TYPE})") for column in found]


MECHANISMS: dict[str, Publishing] = {"small_domain": Publishing(perturbers, added)}
