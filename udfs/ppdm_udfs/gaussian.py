"""Gaussian noise: add to each number the place of its row's path, and round to a declared step.

The noise of several columns may go together as the columns do: its covariance is the magnitude times a matrix K. Row j
of the Cholesky factor of K mixes independent paths, one a column, into the noise of column j. The paths of a row are
those of its numbers: where one of them changes, all of them do.

Rounding hides what the digits of a sum of doubles would tell: the noise of a double is one of finitely many, so that
an unrounded sum is possible for some originals and impossible for others. Rounded to a step, every multiple of it is
possible for every original, up to nine standard deviations. It adds step**2 / 12 to the variance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppdm_udfs.buffers import build, joined, nulls_of, values_of
from ppdm_udfs.coins import KeyedRows, digest, keyed_rows, vector_words
from ppdm_udfs.draws import Reals
from ppdm_udfs.errors import KernelError, NullFound, OutsideDomain
from ppdm_udfs.keys import subkey
from ppdm_udfs.motion import Magnitude, motions, time_of
from ppdm_udfs.wide import Flags, Words

MAX_UNITS = 1 << 53
"""How many steps from zero a published number may lie: beyond, neighbouring steps are one double."""

MAX_SCALE = 22
"""10**22 is the largest power of ten that a float64 holds exactly."""

NULLS = ("error", "keep")


@dataclass(frozen=True)
class Step:
    """``units / 10**scale``: published numbers are whole multiples of it."""

    units: int
    scale: int = 0

    def __post_init__(self) -> None:
        if not (0 < self.units < MAX_UNITS and 0 <= self.scale <= MAX_SCALE):
            raise KernelError("a step is a number above 0 with at most 22 decimals")

    @property
    def width(self) -> float:
        """The step as the nearest double."""
        return float(self.units / 10**self.scale)


@dataclass(frozen=True)
class Gaussian:
    """How one column is perturbed: how much noise, of which paths it is mixed, and the step it is rounded to.

    ``weights``: the column's row of the Cholesky factor of K, one for each of ``columns``, whose paths are mixed.
    ``nulls``: "error", or "keep" (NULL stays NULL).
    """

    magnitude: Magnitude
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    step: Step
    nulls: str = "error"

    def __post_init__(self) -> None:
        time_of(self.magnitude)
        if not self.columns or len(self.columns) != len(self.weights):
            raise KernelError("noise needs a weight for each of the columns whose paths it mixes, and at least one")
        if not (math.isfinite(self.deviation) and self.deviation > 0):
            raise KernelError("the standard deviation of noise is a number above 0")
        if self.nulls not in NULLS:
            raise KernelError(f"nulls is one of {NULLS}")

    @property
    def deviation(self) -> float:
        """The noise's standard deviation, before rounding."""
        return math.sqrt(float(time_of(self.magnitude).value)) * math.hypot(*self.weights)


def factor(covariance: Sequence[Sequence[float]] | Reals) -> Reals:
    """Return the lower triangle L with ``L @ L.T == covariance``, and refuse what is not a covariance."""
    matrix: npt.NDArray[np.float64] = np.asarray(covariance, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix) or not np.isfinite(matrix).all():
        raise KernelError("a covariance is a square table of numbers")
    if not np.allclose(matrix, matrix.T, rtol=1e-12, atol=0):
        raise KernelError("a covariance is symmetric")
    if (np.diag(matrix) <= 0).any():
        raise KernelError("a covariance has variances above 0 on its diagonal")
    deviations = np.sqrt(np.diag(matrix))
    try:
        triangle = np.linalg.cholesky(matrix / np.outer(deviations, deviations))
    except np.linalg.LinAlgError:
        raise KernelError(
            "a covariance is positive definite: no column's noise may follow from the others' in full"
        ) from None
    return np.asarray(deviations[:, None] * triangle)


def add_noise(
    array: pa.Array | pa.ChunkedArray,
    mechanism: Gaussian,
    *,
    key: bytes,
    table: str,
    rows: Words | KeyedRows,
    threads: int | None = None,
) -> pa.Array:
    """Return noisy numbers, as doubles, for one column of numbers of any type.

    Raises
    ------
    NullFound
        Where NULL is not to be kept.
    OutsideDomain
        Where a number is infinite or NaN, or lies more than 2**53 steps from zero.
    """
    noise = joint_noise([array], [mechanism], key=key, table=table, rows=rows, threads=threads)
    return noised(array, noise[0], mechanism)


def joint_parameters(mechanisms: Sequence[Gaussian]) -> str:
    """Tells columns apart whose noise goes together in another way, in whatever order they are named.

    Weights count to the last bit: the same paths under weights that differ a little would give the paths away.
    """
    words: list[str | int] = ["gaussian", len(mechanisms)]
    for i in order_of(mechanisms):
        one = mechanisms[i]
        mixed = zip(one.columns, one.weights, strict=True)
        words += [len(one.columns), *(word for name, w in mixed for word in (name.casefold(), float(w).hex()))]
        words += [one.step.units, one.step.scale]
    return digest(*words)


def joint_noise(
    arrays: Sequence[pa.Array | pa.ChunkedArray],
    mechanisms: Sequence[Gaussian],
    *,
    key: bytes,
    table: str,
    rows: Words | KeyedRows,
    threads: int | None = None,
) -> list[Reals]:
    """The noise of columns that belong together, before rounding; NULL is a value like any other to it.

    All paths are those of the whole vector of a row's numbers. If one of them changed the paths of its own column only,
    the others' noise, which mixes them, would change by a known multiple, and give the change away.
    """
    address = joint_parameters(mechanisms)
    blocks = keyed_rows(rows, len(arrays[0]), key=key, table=table).blocks
    words = number_words([joined(arrays[i]) for i in order_of(mechanisms)])
    vector = words[0] if len(words) == 1 else vector_words(words, subkey(key, "vector", table.casefold(), address))
    return mixed_paths(mechanisms, blocks ^ vector, key=key, table=table, parameters=address, threads=threads)


def mixed_paths(
    mechanisms: Sequence[Gaussian],
    blocks: Words,
    *,
    key: bytes,
    table: str,
    parameters: str,
    threads: int | None = None,
) -> list[Reals]:
    """Each column's mixture of the paths, at its own magnitude."""
    result = [np.zeros(len(blocks)) for _ in mechanisms]
    for name in sorted({name.casefold() for mechanism in mechanisms for name in mechanism.columns}):
        weights = [dict(zip(map(str.casefold, one.columns), one.weights, strict=True)).get(name) for one in mechanisms]
        times = sorted({time_of(one.magnitude) for one, weight in zip(mechanisms, weights, strict=True) if weight})
        if not times:
            continue
        places = motions(
            [time.number for time in times],
            key=key,
            table=table,
            column=name,
            blocks=blocks,
            parameters=parameters,
            threads=threads,
        )
        for i, (one, weight) in enumerate(zip(mechanisms, weights, strict=True)):
            if weight:
                result[i] += weight * places[times.index(time_of(one.magnitude))]
    return result


def number_words(arrays: Sequence[pa.Array]) -> list[Words]:
    """Numbers as pairs of words, shape (n, 2) each: their bits as doubles, and whether they are NULL."""
    result = []
    for array in arrays:
        values, nulls = numbers_of(array)
        words = np.zeros((len(values), 2), dtype=np.uint64)
        words[:, 0] = (values + 0.0).view(np.uint64)  # which turns -0.0 into 0.0
        if nulls is not None:
            words[:, 1] = nulls
        result.append(words)
    return result


def noised(array: pa.Array | pa.ChunkedArray, noise: Reals, mechanism: Gaussian) -> pa.Array:
    """The numbers with their noise, rounded; errors are those of `add_noise`."""
    values, nulls = numbers_of(joined(array))
    if nulls is not None and mechanism.nulls == "error":
        raise NullFound(int(np.argmax(nulls)), int(np.count_nonzero(nulls)))
    return build(pa.float64(), _rounded(values + noise, mechanism.step, nulls), nulls)


def order_of(mechanisms: Sequence[Gaussian]) -> list[int]:
    """The columns in an order that is theirs, whatever the one they come in."""
    return sorted(
        range(len(mechanisms)),
        key=lambda i: ([name.casefold() for name in mechanisms[i].columns], mechanisms[i].weights),
    )


def numbers_of(array: pa.Array) -> tuple[Reals, Flags | None]:
    """Numbers as doubles, 0 in the place of NULL, and which of them are NULL, None if none is."""
    kind = array.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise KernelError(f"noise is added to numbers, not to {kind}")
    nulls = nulls_of(array)
    values = values_of(array.cast(pa.float64(), safe=False), np.float64)
    return (values if nulls is None else np.where(nulls, 0.0, values)), nulls


def _rounded(total: Reals, step: Step, nulls: Flags | None) -> Reals:
    """Whole steps, through integers: a negative zero would tell on which side of zero the sum lay."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(total / step.width)
        outside = ~(np.abs(steps) <= MAX_UNITS // step.units)
    if nulls is not None:
        outside &= ~nulls
    if outside.any():
        raise OutsideDomain(int(np.argmax(outside)), int(np.count_nonzero(outside)))
    result: Reals = (steps.astype(np.int64) * step.units) / 10.0**step.scale
    return result
