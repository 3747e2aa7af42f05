"""Perturb one batch after the other, and keep what the checks over all rows need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import KernelError, NullFound, OutsideDomain, RowError, Uniform, perturb, position_blocks, row_blocks

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.policy.domain import Grid
from ppdm_sql.publishing.granularity import Spacing, check_spacing, spacing_of
from ppdm_sql.publishing.layout import Layout
from ppdm_sql.publishing.unique import Identities


class Perturbation:
    """The state of a publication between two batches: how many rows, which identities, what spacing of values."""

    def __init__(
        self,
        where: str,
        layout: Layout,
        mechanisms: Mapping[int, Uniform],
        key: bytes,
        table: str,
        directory: Path,
    ) -> None:
        self.rows = 0
        self._where = where
        self._layout = layout
        self._mechanisms = mechanisms
        self._key = key
        self._table = table
        self._identities = Identities(directory)
        self._spacings = {
            i: Spacing()
            for i, column in enumerate(layout.columns)
            if column.perturbed is not None and isinstance(column.perturbed.domain, Grid)
        }

    def __enter__(self) -> Perturbation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._identities.close()

    def perturb(self, batch: pa.RecordBatch, done: Callable[[int], object]) -> pa.RecordBatch:
        """The released columns of a batch."""
        count = len(self._layout.columns)
        blocks = self._blocks(batch.columns[count:], batch.num_rows)
        arrays = list(batch.columns[:count])
        for i, mechanism in self._mechanisms.items():
            arrays[i] = self._perturbed(i, batch.column(i), mechanism, blocks)
        self.rows += batch.num_rows
        done(batch.num_rows)
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names[:count])

    def check(self) -> None:
        """What only all rows together tell."""
        self._identities.check(self._where)
        for i, found in self._spacings.items():
            bound = self._layout.columns[i].perturbed
            assert bound is not None
            check_spacing(self._where, bound, found)

    def _blocks(self, identity: list[pa.Array], count: int) -> npt.NDArray[np.uint64]:
        if not identity:
            return position_blocks(self.rows, count)
        try:
            blocks = row_blocks(identity, self._key, self._table)
        except RowError as error:
            problem: tuple[int, int] | str = (error.offset, error.count)
        except KernelError as error:
            problem = str(error)
        else:
            self._identities.add(blocks)
            return blocks
        if isinstance(problem, str):
            raise PolicyError(f"identity: {problem}.")
        raise SourceError(
            f"{self._where}: row {self.rows + problem[0] + 1:,} has no identity, for a column of it is NULL (at least "
            f"{problem[1]:,} such rows). Its coins could not be found again: use columns that are never NULL."
        )

    def _perturbed(self, i: int, array: pa.Array, mechanism: Uniform, blocks: npt.NDArray[np.uint64]) -> pa.Array:
        column = self._layout.columns[i]
        try:
            result = perturb(array, mechanism, key=self._key, table=self._table, column=column.name, rows=blocks)
            if i in self._spacings:
                self._spacings[i] = spacing_of(array, mechanism, self._spacings[i])
            return result
        except RowError as error:
            found = error
        # Outside of the handler: an exception remembers the one it was raised in.
        raise SourceError(_refused(self._where, column.name, self.rows, found, mechanism))


def _refused(where: str, name: str, rows: int, error: RowError, mechanism: Uniform) -> str:
    """Which rule rows break, where the first one is, what to do; never a value."""
    place = f"row {rows + error.offset + 1:,} is the first of at least {error.count:,}"
    if isinstance(error, NullFound):
        return (
            f'{where}: column {name!r} is NULL where nulls = "error" allows none; {place}. Say nulls = "value" (NULL '
            'is perturbed like a value) or "keep" (which rows are NULL stays visible).'
        )
    assert isinstance(error, OutsideDomain)
    widen = "widen its domain" if mechanism.outside == "clamp" else 'widen its domain, or say outside = "clamp"'
    remedy = widen if not hasattr(mechanism.domain, "values") else "add what is missing to its list of values"
    return f"{where}: column {name!r} has values outside its declared domain; {place}. Correct them, or {remedy}."
