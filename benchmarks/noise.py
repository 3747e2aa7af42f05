"""Gaussian noise at 23 levels at once: the paper reports 0.37 s for 23 copies of 100,000 rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ppdm_udfs import motions, position_blocks

from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace

COPIES = 23
ROWS = 100_000
LEVELS = [round(0.05 * copy, 2) for copy in range(1, COPIES + 1)]
KEY = bytes(32)
AIM = 0.2
PAPER = 0.37
TURNS = 9


def of_many_copies(space: Workspace) -> Iterator[Result]:
    """Copies that are coupled and found again from a key, beside as many independent normals of numpy's own."""
    rows = position_blocks(0, ROWS)
    generator = np.random.default_rng(1)
    times = in_turns(
        lambda: motions(LEVELS, key=KEY, table="t", column="c", blocks=rows),
        lambda: generator.standard_normal((COPIES, ROWS)),
        TURNS,
    )
    yield Result(
        f"{COPIES} noisy copies of {ROWS:,} rows",
        min(times.ours),
        unit="s",
        aim=AIM,
        limit=PAPER,
        binding=False,  # seconds of another machine
        detail=times.detail,
        numbers=times.numbers(),
    )
