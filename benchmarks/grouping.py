"""GROUP BY an exact column, with conditions on two perturbed ones, over DuckDB's own."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.people import COLUMNS, TABLE, conditions
from benchmarks.queries import as_arrow, stored_rows
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.connection.connect import connect

WIDTH = 2
FEW = 10
ROWS_A_GROUP = 10
APART = 2_003
"""Between two keys that are too far apart for an array."""

LIMIT = 3.0
TURNS = 9


def by_exact_columns(space: Workspace) -> Iterator[Result]:
    """Few groups and very many; results as Arrow, so that making Python objects does not hide the difference."""
    rows = max(space.rows // 2, 100)
    many = rows // ROWS_A_GROUP
    household = f"hash(id, 21) % {many}"
    extra = {"region": f"hash(id, 20) % {FEW}", "household": household, "code": f"{household} * {APART}"}
    _, release = space.release("grouped", rows, COLUMNS[:WIDTH], extra)
    keys = {"region": f"{FEW} groups", "household": f"{many:,} groups", "code": f"{many:,} groups, keys far apart"}
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for errors in ("off", "columns"):
            ours.execute(f"SET ppdm_errors = '{errors}'")
            for key, groups in keys.items():
                sql = f"SELECT {key}, count(*) FROM {TABLE} WHERE {conditions(WIDTH)} GROUP BY {key}"
                times = in_turns(as_arrow(ours, sql), as_arrow(theirs, sql), TURNS)
                limited = errors == "off" and key != "code"
                yield Result(
                    f"{groups}{'' if errors == 'off' else ', with intervals'}, {rows:,} rows",
                    times.ratio,
                    limit=LIMIT if limited else None,
                    detail=times.detail,
                    numbers=times.numbers(),
                )
