"""From a query's text to the text that runs, with nothing run on the table.

For comparison, measured by others and elsewhere: Qrlew takes 9 to 18 ms to rewrite such queries; SmartNoise takes 120
ms for a whole query on a small table.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.aggregating import TEN
from benchmarks.people import TABLE, conditions
from benchmarks.queries import fetched, stored_rows
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.connection.connect import connect

ROWS = 100
TURNS = 100
AIM = 5.0
VALUES = 100_000
QUERIES = {
    "count, k = 1": f"SELECT count(*) FROM {TABLE} WHERE {conditions(1)}",
    "count, k = 4": f"SELECT count(*) FROM {TABLE} WHERE {conditions(4)}",
    "groups": f"SELECT id % 7 AS g, avg(hours) AS h FROM {TABLE} WHERE {conditions(2)} GROUP BY g ORDER BY h DESC",
    "a subquery around": f"SELECT sum(n) FROM (SELECT id % 7 AS g, count(*) AS n FROM {TABLE} "
    f"WHERE {conditions(2)} GROUP BY g) AS t WHERE g < 5",
    "with its error": f"SELECT avg(hours), ppdm_error(avg(hours)) FROM {TABLE} WHERE {conditions(2)}",
    "ten aggregates": f"SELECT {TEN} FROM {TABLE} WHERE {conditions(2)}",
}


def of_queries(space: Workspace) -> Iterator[Result]:
    """The time of `compile`, beside DuckDB's own parsing and planning of the query as it stands."""
    _, release = space.release("rewritten", ROWS)
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for what, sql in QUERIES.items():
            plain = sql.replace("ppdm_error", "abs")
            times = in_turns(partial(ours.compile, sql), fetched(theirs, f"EXPLAIN {plain}"), TURNS)
            yield Result(
                f"rewriting, {what}",
                1000 * min(times.ours),
                unit="ms",
                aim=AIM,
                detail=f"DuckDB plans it in {1000 * min(times.theirs):.1f} ms",
                numbers=times.numbers(),
            )


def of_lists(space: Workspace) -> Iterator[Result]:
    """A list of a hundred thousand constants, beside DuckDB's own query on the few rows as they are."""
    _, release = space.release("rewritten", ROWS)
    sql = f"SELECT count(*) FROM {TABLE} WHERE income IN ({', '.join(str(2 * i) for i in range(VALUES))})"
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        times = in_turns(fetched(ours, sql), fetched(theirs, sql), 3)
        ratio = min(times.ours) / min(times.theirs)
        detail = f"{min(times.ours):.2f} s"
        yield Result(f"a list of {VALUES:,} constants", ratio, limit=2.0, detail=detail, numbers=times.numbers())
