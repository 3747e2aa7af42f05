"""Publishing, over a CREATE TABLE AS of DuckDB that draws the same way with random()."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from benchmarks.people import COLUMNS, RETAIN, TABLE, policy, write_people
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import KEY_BYTES, Workspace
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing import publish
from ppdm_sql.publishing_sql.query_source import perturb_query

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


def over_one_process(space: Workspace) -> Iterator[Result]:
    """What it costs that another process writes the release, and that it sorts rows by a keyed hash.

    The other side perturbs the same rows, and writes them in the process that has read the originals.
    """
    rows = space.rows // 5
    space.say(f"making {rows:,} rows")
    source = space.folder / "texts.parquet"
    made = write_people(space.folder / "numbers", rows, PERTURBED)
    target = space.folder / "written.duckdb"
    with duckdb.connect() as con:
        texts = "'city of ' || (hash(id) % 500) AS city, 'person ' || hash(id, 1) AS name"
        con.execute(f"COPY (SELECT *, {texts} FROM read_parquet('{made}')) TO '{source}'")
    said = policy(PERTURBED)
    said["columns"]["name"] = {"mechanism": "drop"}
    for what, identity, limit in (("", ["id"], 1.5), (" in keyed order", [], 1.8)):
        times = in_turns(
            partial(publish, source, said | {"identity": identity}, to=target, key=bytes(KEY_BYTES)),
            partial(_in_one_process, source, said | {"identity": identity, "order": "source"}, target),
            TURNS,
            before=lambda: target.unlink(missing_ok=True),
            warm=False,
        )
        name = f"publish{what}, over one process"
        yield Result(name, times.ratio, limit=limit, detail=times.detail, numbers=times.numbers())
    target.unlink()


def _in_one_process(source: Path, said: dict[str, Any], target: Path) -> None:
    with duckdb.connect() as reading, duckdb.connect(str(target)) as writing:

        def write(schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
            whole = (pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in batches)
            writing.register("stream", pa.RecordBatchReader.from_batches(schema, whole))
            writing.execute(f"CREATE TABLE {TABLE} AS FROM stream")

        relation = reading.sql(f"FROM read_parquet('{source}')")
        perturb_query(relation, load_policy(said), bytes(KEY_BYTES), write)
        writing.execute("CHECKPOINT")


def _create_table(source: str, target: Path) -> None:
    drawn = [
        f"CAST(CASE WHEN random() < {RETAIN} THEN {c.name} ELSE {c.low} + floor(random() * {c.size}) END AS INTEGER) "
        f"AS {c.name}"
        for c in PERTURBED
    ]
    with duckdb.connect(str(target)) as con:
        con.execute(f"CREATE TABLE {TABLE} AS SELECT id, {', '.join(drawn)} FROM read_parquet('{source}')")
        con.execute("CHECKPOINT")
