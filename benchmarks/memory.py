"""The most memory that publishing takes, in a process that does nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.people import COLUMNS, policy, write_people
from benchmarks.results import Result
from benchmarks.workspace import Workspace

PERTURBED = COLUMNS[:5]
TIMES_THE_ROWS = 5
"""100 million rows where the main table has 20 million."""
LIMIT = 1.5
BYTES_A_ROW = 64
"""Source and release together take less than this on the disk."""

PUBLISH = """
import json, resource, secrets, sys, time
from ppdm_sql.publishing import publish

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

source, target, policy = sys.argv[1:]
start, begin = most(), time.perf_counter()
publish(source, json.loads(policy), to=target, key=secrets.token_bytes(32))
print(json.dumps({"most": most(), "start": start, "seconds": time.perf_counter() - begin}))
"""

# A new process starts with the maximum of the one it was forked from, so there is a small one in between.
BETWEEN = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


def of_publishing(space: Workspace) -> Iterator[Result]:
    """Parquet in, .duckdb out."""
    rows = TIMES_THE_ROWS * space.rows
    if space.free_bytes() < BYTES_A_ROW * rows:
        space.say(f"left out: {rows:,} rows need {BYTES_A_ROW * rows / 1e9:.1f} GB of disk, there is less")
        return
    space.say(f"making {rows:,} rows")
    source = write_people(space.folder / "many", rows, PERTURBED)
    target = space.folder / "many.duckdb"
    space.say("publishing them")
    arguments = [source, str(target), json.dumps(policy(PERTURBED))]
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", BETWEEN, sys.executable, "-c", PUBLISH, *arguments],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    target.unlink()
    yield Result(
        f"memory of publishing {rows:,} rows",
        found["most"] / 1e9,
        unit="GB",
        limit=LIMIT,
        detail=f"{found['seconds']:.0f} s; {found['start'] / 1e9:.2f} GB before the first row",
        numbers=found,
    )
