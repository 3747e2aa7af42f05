"""Sums, averages and many aggregates at once, over DuckDB's own on the same table."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.people import COLUMNS, TABLE, conditions
from benchmarks.queries import fetched, stored_rows
from benchmarks.results import Result
from benchmarks.timing import in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.connection.connect import connect

TURNS = 15
TEN = (
    "count(*), sum(hours), avg(hours), avg(education), sum(id), avg(income), count_if(marital = 2), "
    "stddev(hours), sum(hours) FILTER (WHERE race <> 1), 100.0 * count_if(state <= 20) / count(*)"
)
QUERIES = {
    "sum of a perturbed column": "sum(hours)",
    "average of a perturbed column": "avg(hours)",
    "sum of an exact column": "sum(id)",
    "ten aggregates": TEN,
}


def of_all_kinds(space: Workspace) -> Iterator[Result]:
    """Under conditions on two perturbed columns."""
    _, release = space.people
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for what, items in QUERIES.items():
            sql = f"SELECT {items} FROM {TABLE} WHERE {conditions(2)}"
            times = in_turns(fetched(ours, sql), fetched(theirs, sql), TURNS)
            yield Result(what, times.ratio, detail=times.detail, numbers=times.numbers())


def by_perturbed_column(space: Workspace) -> Iterator[Result]:
    """GROUP BY a perturbed column: Bayes for the counts, as it is by itself, and inversion."""
    _, release = space.people
    cells = COLUMNS[0].size
    sql = f"SELECT age, count(*) FROM {TABLE} GROUP BY age"
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for method in ("auto", "inversion"):
            ours.execute(f"SET ppdm_method = '{method}'")
            times = in_turns(fetched(ours, sql), fetched(theirs, sql), TURNS)
            what = f"{cells} groups of a perturbed column, {method}"
            yield Result(what, times.ratio, detail=times.detail, numbers=times.numbers())
