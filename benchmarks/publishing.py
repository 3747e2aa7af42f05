"""Publishing, over a CREATE TABLE AS of DuckDB that draws the same way with random()."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import duckdb

from benchmarks.people import COLUMNS, RETAIN, TABLE, policy, write_people
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import KEY_BYTES, Workspace
from ppdm_sql.publishing import publish

PERTURBED = COLUMNS[:5]
TURNS = 3
AIM, LIMIT = 1.0, 3.0


def over_create_table(space: Workspace) -> Iterator[Result]:
    """Parquet in, a closed .duckdb file out; the Parquet is in the file cache on both sides."""
    space.say(f"making {space.rows:,} rows")
    source = write_people(space.folder / "plain", space.rows, PERTURBED)
    target = space.folder / "published.duckdb"
    key = secrets.token_bytes(KEY_BYTES)

    def before() -> None:
        """Nothing to replace, no page of an earlier run that is still to be written, all of the source in memory."""
        target.unlink(missing_ok=True)
        os.sync()
        for part in sorted(Path(source).parent.iterdir()):
            part.read_bytes()

    times = in_turns(
        lambda: publish(source, policy(PERTURBED), to=target, key=key),
        lambda: _create_table(source, target),
        TURNS,
        warm=False,
        before=before,
    )
    target.unlink()
    yield Result(
        f"publish, {len(PERTURBED)} columns and an id",
        times.ratio,
        aim=AIM,
        limit=LIMIT,
        detail=times.detail,
        numbers=times.numbers(),
    )


def _create_table(source: str, target: Path) -> None:
    drawn = [
        f"CAST(CASE WHEN random() < {RETAIN} THEN {c.name} ELSE {c.low} + floor(random() * {c.size}) END AS INTEGER) "
        f"AS {c.name}"
        for c in PERTURBED
    ]
    with duckdb.connect(str(target)) as con:
        con.execute(f"CREATE TABLE {TABLE} AS SELECT id, {', '.join(drawn)} FROM read_parquet('{source}')")
        con.execute("CHECKPOINT")
