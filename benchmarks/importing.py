"""How long an import takes, each time in a new interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from functools import partial

from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace

TURNS = 15
LIMIT = 150.0


def of_the_package(space: Workspace) -> Iterator[Result]:
    """An interpreter that imports, minus one that does nothing."""
    for what, code, limit in (
        ("import ppdm_sql", "import ppdm_sql", LIMIT),
        ("import ppdm_sql, take connect", "import ppdm_sql; ppdm_sql.connect", None),
        ("import duckdb", "import duckdb", None),
    ):
        times = in_turns(partial(_run, code), partial(_run, "pass"), TURNS)
        yield Result(
            what,
            1000 * times.difference,
            unit="ms",
            limit=limit,
            detail=times.detail,
            numbers=times.numbers(),
        )


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own interpreter and text
