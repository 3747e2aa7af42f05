"""Gaussian noise: the kernel of each column, from a covariance that is declared or read off the originals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from ppdm_udfs import Gaussian, KernelError, Step, add_noise, factor

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.policy.noise import DATA, INDEPENDENT, NoisyColumn, declared_matrix
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.covariance import Moments
from ppdm_sql.publishing.perturber import Perturber, Publishing, Rows, SingleColumn


class NoisedColumn(SingleColumn):
    """One column whose covariance is known."""

    def __init__(self, place: int, column: NoisyColumn) -> None:
        super().__init__(place, column.name)
        self.column = column
        self.kernel = _kernel(column)
        self._rows, self._sum = 0, 0.0

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released array, whose mean is taken on the way."""
        result = super().perturb(arrays, rows)
        self._rows += len(result[0]) - result[0].null_count
        self._sum += pc.sum(result[0]).as_py() or 0.0
        return result

    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Noise added by the kernel."""
        return add_noise(array, self.kernel, key=rows.key, table=rows.table, rows=rows.blocks, threads=rows.threads)

    def remedy(self) -> str:
        """Infinite numbers, or such that no step tells apart."""
        return _REMEDY

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The column with the paths that its noise mixes, and the mean of what is released, roughly."""
        digit = 10.0 ** math.floor(math.log10(self.column.deviation))
        centre = digit * round(self._sum / max(self._rows, 1) / digit)
        return {self.columns[0]: replace(self.column, centre=centre)}


class FromData(Perturber):
    """Columns whose noise goes together, relative to the covariance of the originals."""

    passes = 1

    def __init__(self, places: Sequence[int], columns: Sequence[NoisyColumn]) -> None:
        super().__init__(places)
        self._bound = columns
        self._moments = Moments(len(columns))
        self._noised: list[NoisedColumn] = []

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Take a batch into the covariance."""
        self._moments.add(arrays)

    def looked(self, number: int) -> None:
        """Settle the covariance."""
        names = " and ".join(repr(column.name) for column in self._bound)
        matrix = self._moments.rounded()
        if matrix is None:
            raise SourceError(
                f"column {names}: all its values are alike, or fewer than two are known, so that noise relative to "
                "their spread is none. Declare deviation, or drop the column."
            )
        mixed = mixing(self._bound, matrix.tolist())
        self._noised = [NoisedColumn(place, column) for place, column in zip(self.columns, mixed, strict=True)]

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """Noise added column by column."""
        return [one.perturb([array], rows)[0] for one, array in zip(self._noised, arrays, strict=True)]

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The columns with the covariance that was found."""
        return {place: column for one in self._noised for place, column in one.released().items()}


def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
    """One for each column whose covariance is known, one for all that go together as the originals do."""
    found: list[Perturber] = []
    together: list[int] = []
    declared: list[int] = []
    for place in mine:
        column = _noisy(columns[place])
        if column.weights:  # from a manifest
            found.append(NoisedColumn(place, column))
        elif column.covariance.kind == DATA:
            together.append(place)
        elif column.covariance.kind != INDEPENDENT:
            declared.append(place)
        elif column.covariance.deviation is None:
            found.append(FromData([place], [column]))
        else:
            found.append(NoisedColumn(place, *mixing([column], [[column.covariance.deviation**2]])))
    if together:
        found.append(FromData(together, [_noisy(columns[place]) for place in together]))
    if declared:
        bound = [_noisy(columns[place]) for place in declared]
        mixed = mixing(bound, declared_matrix(bound))
        found += [NoisedColumn(place, column) for place, column in zip(declared, mixed, strict=True)]
    return found


PUBLISHING = Publishing(perturbers)

_REMEDY = "use a coarser step: a number must be finite and lie within 2^53 steps of zero"


def mixing(columns: Sequence[NoisyColumn], covariance: Sequence[Sequence[float]]) -> list[NoisyColumn]:
    """The columns with the rows of the Cholesky factor, over the paths of the columns in the order of their names.

    That order, and not the policy's, so that the noise stays the same when a policy is sorted anew.
    """
    order = sorted(range(len(columns)), key=lambda i: columns[i].name.casefold())
    try:
        triangle = factor([[covariance[i][j] for j in order] for i in order])
    except KernelError as error:
        problem = str(error)
    else:
        names = tuple(columns[i].name for i in order)
        rows = {i: tuple(float(w) for w in triangle[place][: place + 1]) for place, i in enumerate(order)}
        return [replace(column, columns=names[: len(rows[i])], weights=rows[i]) for i, column in enumerate(columns)]
    named = ", ".join(column.name for column in columns)
    raise PolicyError(f"the covariance of {named}: {problem}.")


def _kernel(column: NoisyColumn) -> Gaussian:
    if float(column.step) > column.deviation:
        raise PolicyError(
            f"column {column.name!r}: its step, {column.step}, is coarser than the noise, whose standard deviation is "
            f"{column.deviation:.4g}: rounding would show the original again. Use a finer step, or more noise."
        )
    try:
        return Gaussian(column.noise, column.columns, column.weights, Step(*column.units), column.nulls)
    except KernelError as error:
        problem = str(error)
    raise PolicyError(f"column {column.name!r}: {problem}.")


def _noisy(column: Column) -> NoisyColumn:
    assert isinstance(column.perturbed, NoisyColumn)
    return column.perturbed
