"""The public set of values that a column may take, and its numbering from 0 to size - 1.

All mechanisms work on these numbers, so that one kernel serves every type. NULL is numbered `size`: one more value of
the domain, or no part of it, as the policy says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_udfs.buffers import build, joined, nulls_of, plain, restored, storage_dtype, values_of, words_of
from ppdm_udfs.errors import KernelError, NullFound, OutsideDomain
from ppdm_udfs.listed import decode_listed, encode_listed
from ppdm_udfs.points import decode_points, decode_wide, encode_points, encode_wide
from ppdm_udfs.reals import check_reals, decode_reals, encode_reals
from ppdm_udfs.wide import INT128_MAX, INT128_MIN, WORD, Flags, Wide, Words

MAX_SIZE = 1 << 53
NULLS = ("error", "keep", "value")
OUTSIDE = ("error", "clamp")

_HUGEINT_DIGITS = 38  # DuckDB hands a HUGEINT over as DECIMAL(38, 0), whose digits it may exceed
_MILLISECONDS_A_DAY = 86_400_000
_MICROSECONDS = {"s": (1, 1_000_000), "ms": (1, 1_000), "us": (1, 1), "ns": (1_000, 1)}


@dataclass(frozen=True)
class Grid:
    """The points ``low + i * step`` for ``0 <= i < size``, in a unit that the column's type gives.

    Integers: the number itself. DECIMAL and reals: ``10**-scale``. DATE: days since 1970. TIMESTAMP: microseconds since
    1970, whatever the column's own unit.
    """

    low: int
    step: int
    size: int
    scale: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_SIZE:
            raise KernelError(f"a domain has 1 to 2**53 values, not {self.size}")
        if self.step < 1 or self.scale < 0:
            raise KernelError("a grid's step is at least 1 and its scale at least 0")

    @property
    def high(self) -> int:
        """The last point."""
        return self.low + (self.size - 1) * self.step


@dataclass(frozen=True, eq=False)
class Values:
    """A list of distinct values, none of them NULL."""

    values: pa.Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", joined(self.values))
        if pa.types.is_nested(self.values.type):
            raise KernelError(f"{self.values.type} values cannot be perturbed")
        if not 1 <= len(self.values) <= MAX_SIZE or self.values.null_count:
            raise KernelError("a domain has at least one value, and NULL is none")
        if pa.types.is_dictionary(self.values.type):
            object.__setattr__(self, "values", self.values.dictionary_decode())
        if len(pc.unique(plain(self.values))) != len(self.values):
            raise KernelError("the values of a domain are distinct")

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.values)


Domain: TypeAlias = Grid | Values


def encode(array: pa.Array | pa.ChunkedArray, domain: Domain, nulls: str = "error", outside: str = "error") -> Words:
    """Return each value's number in the domain, and `size` for NULL.

    Reals and timestamps are rounded to the nearest point first; every other value must be a point.

    Parameters
    ----------
    nulls
        ``"error"`` refuses NULL; ``"keep"`` and ``"value"`` number it.
    outside
        ``"error"`` refuses what is not in the domain; ``"clamp"`` takes the nearest point of a grid. NaN has none.

    Raises
    ------
    NullFound, OutsideDomain
        With the offset of the first such row and their number, never the value.
    """
    if nulls not in NULLS or outside not in OUTSIDE:
        raise KernelError(f"nulls is one of {NULLS} and outside one of {OUTSIDE}")
    array = joined(array)
    missing = nulls_of(array)
    if missing is not None and nulls == "error":
        raise NullFound(*_where(missing))
    index, strange = locate(array, domain, outside)
    if missing is not None:
        index[missing] = domain.size
        strange &= ~missing
    if strange.any():
        raise OutsideDomain(*_where(strange))
    return index


def locate(array: pa.Array, domain: Domain, outside: str = "error") -> tuple[Words, Flags]:
    """Return each value's number in the domain, and which values are not in it; NULL is anywhere."""
    if isinstance(domain, Grid):
        return _encode_grid(array, domain, clamp=outside == "clamp")
    if outside == "clamp":
        raise KernelError("clamp needs a domain with an order: a list of values has none")
    return encode_listed(array, domain.values)


def decode(index: Words, domain: Domain, kind: pa.DataType) -> pa.Array:
    """Return the values of numbers as an array of exactly this type; the number `size` is NULL."""
    nulls: Flags | None = index >= np.uint64(domain.size)
    if nulls is not None and nulls.any():
        index = np.where(nulls, np.uint64(0), index)
    else:
        nulls = None
    if isinstance(domain, Values):
        return decode_listed(index, domain.values, nulls, kind)
    dtype = storage_dtype(kind)
    if pa.types.is_floating(kind) and dtype is not None:
        check_reals(domain.low, domain.step, domain.size, domain.scale, dtype)
        return build(kind, decode_reals(index, domain.low, domain.step, domain.scale, dtype), nulls)
    if pa.types.is_decimal(kind):
        grid, exponent = _decimal_grid(domain, kind)
        held = pa.decimal128(min(kind.precision, _HUGEINT_DIGITS), kind.scale)
        words = decode_wide(index, grid.low, grid.step, exponent=exponent)
        return restored(build(held, words, nulls), kind)
    grid, grid_dtype = _integer_grid(domain, kind)
    return build(kind, decode_points(index, grid.low, grid.step, grid_dtype), nulls)


def _encode_grid(array: pa.Array, grid: Grid, *, clamp: bool) -> tuple[Words, Flags]:
    kind, dtype = array.type, storage_dtype(array.type)
    if pa.types.is_floating(kind) and dtype is not None:
        check_reals(grid.low, grid.step, grid.size, grid.scale, dtype)
        return encode_reals(values_of(array, dtype), grid.low, grid.step, grid.size, grid.scale, clamp=clamp)
    if pa.types.is_decimal(kind):
        grid, exponent = _decimal_grid(grid, kind)
        numbers = Wide.of_blocks(words_of(plain(array)))
        return encode_wide(numbers, grid.low, grid.step, grid.size, exponent=exponent, nearest=clamp, clamp=clamp)
    grid, dtype = _integer_grid(grid, kind)
    nearest = clamp or pa.types.is_timestamp(kind)
    return encode_points(values_of(array, dtype), grid.low, grid.step, grid.size, nearest=nearest, clamp=clamp)


def _integer_grid(grid: Grid, kind: pa.DataType) -> tuple[Grid, np.dtype[Any]]:
    """Return the grid in the unit in which a type counts in memory, and the type of that memory."""
    dtype = storage_dtype(kind)
    if dtype is None or not (pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise KernelError(f"a column of {kind} has no grid; list its values instead")
    times, over = 1, 10**grid.scale
    if pa.types.is_timestamp(kind):
        times, over = _MICROSECONDS[kind.unit]
    elif kind == pa.date64():
        times = _MILLISECONDS_A_DAY
    if grid.scale and not pa.types.is_integer(kind):
        raise KernelError(f"a grid of {kind} has no decimals")
    result = _rescaled(grid, times, over, kind)
    limits = np.iinfo(dtype)
    _check_span(result, kind, int(limits.min), int(limits.max))
    return result, dtype


def _decimal_grid(grid: Grid, kind: pa.DataType) -> tuple[Grid, int]:
    """Return the grid and by how many digits its unit is coarser than the type's."""
    exponent = max(kind.scale - grid.scale, 0)
    result = _rescaled(grid, 1, 10 ** max(grid.scale - kind.scale, 0), kind)
    digits = min(kind.precision, _HUGEINT_DIGITS)
    least, most = (INT128_MIN, INT128_MAX) if digits == _HUGEINT_DIGITS else (1 - 10**digits, 10**digits - 1)
    _check_span(result, kind, -(-least // 10**exponent), most // 10**exponent)
    return result, exponent


def _rescaled(grid: Grid, times: int, over: int, kind: pa.DataType) -> Grid:
    low, low_rest = divmod(grid.low * times, over)
    step, step_rest = divmod(grid.step * times, over)
    if low_rest or (step_rest and grid.size > 1):
        raise KernelError(f"the grid's step or low end is finer than a column of {kind} can hold")
    return Grid(low, max(step, 1), grid.size)


def _check_span(grid: Grid, kind: pa.DataType, least: int, most: int) -> None:
    if grid.low < least or grid.high > most:
        raise KernelError(f"the domain does not fit a column of {kind}")
    if grid.size * grid.step >= WORD:
        raise KernelError("the domain spans 2**64 units or more")


def _where(flags: Flags) -> tuple[int, int]:
    return int(flags.argmax()), int(np.count_nonzero(flags))
