"""Small domains: how long the parts of 500,000 rows take to find; the paper reports up to 30 s."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ppdm_udfs import Assignment, position_blocks

from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.privacy.partitioning import partition

ROWS = 500_000
VALUES = 50
KEY = bytes(32)
RHO1, RHO2 = 1 / 13, 1 / 6
AIM = 0.5
PAPER = 30.0
TURNS = 7


def of_many_rows(space: Workspace) -> Iterator[Result]:
    """Count the values, part the table, and find the part of every row; beside counting alone."""
    weights = 1 / np.arange(12, 12 + VALUES)
    index = np.random.default_rng(1).choice(VALUES, ROWS, p=weights / weights.sum()).astype(np.uint64)
    rows = position_blocks(0, ROWS)

    def parted() -> object:
        counts = np.bincount(index.astype(np.int64), minlength=VALUES)
        parts = partition(counts.tolist(), RHO1, RHO2)
        assignment = Assignment(np.array([part.counts for part in parts]))
        return assignment.parts(index, key=KEY, table="t", column="c", rows=rows)

    times = in_turns(parted, lambda: np.bincount(index.astype(np.int64), minlength=VALUES), TURNS)
    yield Result(
        f"parts of {ROWS:,} rows, {VALUES} values",
        min(times.ours),
        unit="s",
        aim=AIM,
        limit=PAPER,
        binding=False,  # seconds of another machine
        detail=times.detail,
        numbers=times.numbers(),
    )
