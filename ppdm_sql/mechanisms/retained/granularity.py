"""Whether a column's values lie on a coarser grid than its domain: then kept values are told from drawn ones.

If every wage is a multiple of 1000 and the domain has a step of 1, a published 41000 is almost surely true. The
greatest common divisor of all differences of grid indices tells; it is 1 after a few rows of any column that fills its
grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np
import pyarrow as pa
from ppdm_udfs import Uniform, encode

from ppdm_sql.domain.domain import Grid
from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_point, describe_step

ENOUGH_ROWS = 16
"""With fewer values a coarser grid may well be chance."""
_SLICE = 4096


@dataclass(frozen=True)
class Spacing:
    """What is known of a column after some rows: how many values, one of them, the divisor of all differences."""

    rows: int = 0
    first: int = 0
    divisor: int = 0

    @property
    def settled(self) -> bool:
        """No further row can change the outcome."""
        return self.divisor == 1


def spacing_of(array: pa.Array, mechanism: Uniform, known: Spacing) -> Spacing:
    """Take a batch of a column into account; stops as soon as the divisor is 1."""
    for start in range(0, len(array), _SLICE):
        if known.settled:
            break
        index = encode(array.slice(start, _SLICE), mechanism.domain, mechanism.nulls, mechanism.outside)
        known = _with(known, index[index < np.uint64(mechanism.domain.size)])
    return known


def _with(known: Spacing, index: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Spacing:
    if not len(index):
        return known
    numbers = index.astype(np.int64)  # sizes stay below 2^53, so differences are exact
    first = known.first if known.rows else int(numbers[0])
    divisor = gcd(known.divisor, int(np.gcd.reduce(np.abs(numbers - first))))
    return Spacing(known.rows + len(index), first, divisor)


def check_spacing(where: str, column: RetainedColumn, found: Spacing) -> None:
    """Refuse a column all of whose values lie on a coarser grid than the declared one."""
    grid = column.domain
    if not isinstance(grid, Grid) or found.divisor <= 1 or found.rows < ENOUGH_ROWS:
        return
    step = grid.step * found.divisor
    low = grid.low + (found.first % found.divisor) * grid.step
    high = low + (grid.high - low) // step * step
    family, spoken = column.type.family, describe_step(column, step)
    declared = repr(spoken) if family in ("date", "timestamp") else spoken
    least, most = describe_point(column, low), describe_point(column, high)
    raise SourceError(
        f"{where}: every value of column {column.name!r} is {least} plus a multiple of {spoken}, but its domain has a "
        f"step of {describe_step(column, grid.step)}: kept values would be told from drawn ones by their digits. "
        f"Declare step = {declared}, min = {least}, max = {most}."
    )
