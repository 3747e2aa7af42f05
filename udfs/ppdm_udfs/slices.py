"""Work on slices of rows that stay in the processor's cache, on all cores, with one report of the rows refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ppdm_udfs.errors import NullFound, OutsideDomain, RowError

Result = TypeVar("Result")

ROWS = 262_144
"""Rows of a slice: few enough for the shared cache, many enough that threads seldom wait for the interpreter's lock."""


def over_slices(
    work: Callable[[int, int], Result], count: int, *, rows: int = ROWS, threads: int | None = None
) -> list[Result]:
    """Call ``work(start, stop)`` for consecutive slices of `count` rows and return the results in order.

    Row errors of the slices are put together into the one that the whole array would have raised: whoever reads it
    cannot know about slices. NULLs come first, because a slice that has any reports nothing else.
    """
    bounds = [(start, min(start + rows, count)) for start in range(0, count, rows)]
    workers = min(threads or os.cpu_count() or 1, len(bounds))

    def attempt(bound: tuple[int, int]) -> Result | RowError:
        try:
            return work(*bound)
        except RowError as error:
            return type(error)(bound[0] + error.offset, error.count)

    if workers <= 1:
        outcomes = [attempt(bound) for bound in bounds]
    else:
        with ThreadPoolExecutor(workers, thread_name_prefix="ppdm") as pool:
            outcomes = list(pool.map(attempt, bounds))
    _report([outcome for outcome in outcomes if isinstance(outcome, RowError)])
    return [outcome for outcome in outcomes if not isinstance(outcome, RowError)]


def _report(errors: Sequence[RowError]) -> None:
    for kind in (NullFound, OutsideDomain):
        found = [error for error in errors if isinstance(error, kind)]
        if found:
            raise kind(found[0].offset, sum(error.count for error in found))
