"""A further level of one column: 600,000 rows of a domain of 50, after many other levels of the same key."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from ppdm_udfs import Grid, Uniform, perturb, position_blocks

from benchmarks.results import Result
from benchmarks.workspace import KEY_BYTES, Workspace
from ppdm_sql.domain.types import parse_type
from ppdm_sql.policy import Manifest, ReleasedColumn, bind, load_policy
from ppdm_sql.publishing.ledger import Entry, check_coupled, entry_of, read_ledger

ROWS, SIZE = 600_000, 50
TURNS = 5
AIMS = {0.5: 0.05, 0.1: None, 0.001: None}
LIMIT = 0.5
"""What multi-pert is reported to need, with seven stored values a row."""


def after_many(space: Workspace) -> Iterator[Result]:
    """The kernel, and the look at the ledger of earlier levels; nothing else grows with them."""
    key = secrets.token_bytes(KEY_BYTES)
    values = pa.array(np.random.default_rng(0).integers(0, SIZE, ROWS), pa.int16())
    rows = position_blocks(0, ROWS)
    entry = _entry(key)
    for earlier in (0, 100, 10_000):
        ledger = space.folder / f"levels-{earlier}.ledger"
        ledger.write_text("".join(replace(entry, level=str(i)).to_json() + "\n" for i in range(earlier)))
        for retain, aim in AIMS.items():
            times = [_seconds(values, rows, retain, key, entry, ledger) for _ in range(TURNS)]
            what = f"level {retain} after {earlier:,} others"
            yield Result(what, min(times), "s", aim=aim, limit=LIMIT, binding=False, numbers={"least": min(times)})


def _entry(key: bytes) -> Entry:
    column = {"mechanism": "uniform", "domain": {"min": 0, "max": SIZE - 1}, "retain": 0.5}
    policy = load_policy({"table": "t", "columns": {"x": column}})
    bound = bind(policy.columns[0], "SMALLINT")
    manifest = Manifest("t", ROWS, (ReleasedColumn("x", parse_type("SMALLINT"), bound),))
    return entry_of(manifest, Path("r.parquet"), (), key, None, {}, {"x": ""})


def _seconds(
    values: pa.Array,
    rows: np.ndarray[tuple[int, int], np.dtype[np.uint64]],
    retain: float,
    key: bytes,
    entry: Entry,
    ledger: Path,
) -> float:
    begin = time.perf_counter()
    check_coupled(entry, read_ledger(ledger, beside=entry))
    perturb(values, Uniform(Grid(0, 1, SIZE), retain), key=key, table="t", column="x", rows=rows)
    return time.perf_counter() - begin
