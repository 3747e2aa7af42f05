"""What a query costs besides its scan: on a table so small that the scan costs nothing."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.people import TABLE, conditions
from benchmarks.queries import fetched, stored_rows
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.connection.connect import connect

ROWS = 100
TURNS = 200
AIM, LIMIT = 5.0, 15.0
WIDTHS = (1, 4)


def of_a_query(space: Workspace) -> Iterator[Result]:
    """Our time minus DuckDB's own, by either method; Bayes for information."""
    _, release = space.release("few", ROWS)
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for method in ("inversion", "bayes"):
            ours.execute(f"SET ppdm_method = '{method}'")
            for width in WIDTHS:
                sql = f"SELECT count(*) FROM {TABLE} WHERE {conditions(width)}"
                times = in_turns(fetched(ours, sql), fetched(theirs, sql), TURNS)
                limited = method == "inversion"
                yield Result(
                    f"overhead, {method if limited else 'Bayes'}, k = {width}",
                    1000 * times.difference,
                    unit="ms",
                    aim=AIM if limited else None,
                    limit=LIMIT if limited else None,
                    detail=times.detail,
                    numbers=times.numbers(),
                )
