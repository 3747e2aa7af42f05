"""Gaussian noise: the kernel of each column, from a covariance that is declared or read off the originals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from ppdm_udfs import Gaussian, KernelError, RowError, Step, joint_noise, joint_parameters, noised
from ppdm_udfs.draws import Reals

from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.gaussian.column import DATA, INDEPENDENT, NoisyColumn, declared_matrix, mixing
from ppdm_sql.mechanisms.gaussian.covariance import Moments
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.perturber import Perturber, Publishing, Rows, refused


class NoisedColumns(Perturber):
    """Columns whose noise goes together, or one with noise of its own; their covariance is known."""

    def __init__(self, places: Sequence[int], columns: Sequence[NoisyColumn]) -> None:
        super().__init__(places)
        self.noisy = tuple(columns)
        self.kernels = [_kernel(column) for column in columns]
        self._rows = [0] * len(columns)
        self._sums = [0.0] * len(columns)

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released arrays, whose means are taken on the way."""
        return self.seen(
            [self.noised(i, array, noise, rows) for i, (array, noise) in enumerate(self.noise(arrays, rows))]
        )

    def seen(self, released: list[pa.Array]) -> list[pa.Array]:
        """What is released, whose means are taken."""
        for i, array in enumerate(released):
            self._rows[i] += len(array) - array.null_count
            self._sums[i] += pc.sum(array).as_py() or 0.0
        return released

    @property
    def settled(self) -> NoisedColumns:
        """Itself, for its covariance is known."""
        return self

    def noise(self, arrays: Sequence[pa.Array], rows: Rows) -> Iterator[tuple[pa.Array, Reals]]:
        """Each column with its noise, before rounding."""
        found = joint_noise(arrays, self.kernels, key=rows.key, table=rows.table, rows=rows.keyed, threads=rows.threads)
        return zip(arrays, found, strict=True)

    def coins(self) -> Mapping[int, str]:
        """The covariance, and the steps."""
        return dict.fromkeys(self.columns, joint_parameters(self.kernels))

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The columns with the paths that their noise mixes, and the means of what is released, roughly."""
        found = {}
        for i, (place, column) in enumerate(zip(self.columns, self.noisy, strict=True)):
            digit = 10.0 ** math.floor(math.log10(column.deviation))
            centre = digit * round(self._sums[i] / max(self._rows[i], 1) / digit)
            found[place] = replace(column, centre=centre)
        return found

    def noised(self, i: int, array: pa.Array, noise: Reals, rows: Rows) -> pa.Array:
        """Column i with its noise, rounded."""
        try:
            return noised(array, noise, self.kernels[i])
        except RowError as error:
            found = error
        # Outside of the handler: an exception remembers the one it was raised in.
        raise SourceError(refused(rows, self.noisy[i].name, found, _REMEDY))


class FromData(Perturber):
    """Columns whose noise goes together, relative to the covariance of the originals."""

    passes = 1

    def __init__(self, places: Sequence[int], columns: Sequence[NoisyColumn]) -> None:
        super().__init__(places)
        self.noisy = tuple(columns)
        self._moments = Moments(len(columns))
        self._noised: NoisedColumns | None = None

    def look(self, number: int, arrays: Sequence[pa.Array], rows: Rows) -> None:
        """Take a batch into the covariance."""
        self._moments.add(arrays)

    def looked(self, number: int) -> None:
        """Settle the covariance."""
        names = " and ".join(repr(column.name) for column in self.noisy)
        matrix = self._moments.rounded()
        if matrix is None:
            raise SourceError(
                f"column {names}: all its values are alike, or fewer than two are known, so that noise relative to "
                "their spread is none. Declare deviation, or drop the column."
            )
        self._noised = NoisedColumns(self.columns, mixing(self.noisy, matrix.tolist()))

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """Noise added to all of them."""
        return self.settled.perturb(arrays, rows)

    @property
    def settled(self) -> NoisedColumns:
        """The columns with the covariance that was found."""
        assert self._noised is not None
        return self._noised

    def coins(self) -> Mapping[int, str]:
        """The covariance, once it is known."""
        return {} if self._noised is None else self._noised.coins()

    def released(self) -> Mapping[int, PerturbedColumn]:
        """The columns with the covariance that was found."""
        return {} if self._noised is None else self._noised.released()


def perturbers(columns: Sequence[Column], kinds: Sequence[pa.DataType], mine: Sequence[int]) -> list[Perturber]:
    """One for each column whose covariance is known, one for all that go together as the originals do."""
    found: list[Perturber] = []
    together: list[int] = []
    declared: list[int] = []
    for place in mine:
        column = _noisy(columns[place])
        if column.covariance.kind == DATA:
            together.append(place)
        elif column.covariance.kind != INDEPENDENT:
            declared.append(place)
        elif column.covariance.deviation is None:
            found.append(FromData([place], [column]))
        else:
            found.append(NoisedColumns([place], mixing([column], [[column.covariance.deviation**2]])))
    if together:
        found.append(FromData(together, [_noisy(columns[place]) for place in together]))
    if declared:
        bound = [_noisy(columns[place]) for place in declared]
        found.append(NoisedColumns(declared, mixing(bound, declared_matrix(bound))))
    return found


MECHANISMS: dict[str, Publishing] = {"gaussian": Publishing(perturbers)}

_REMEDY = "use a coarser step: a number must be finite and lie within 2^53 steps of zero"


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
