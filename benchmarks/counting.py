"""COUNT with conditions on perturbed columns, over DuckDB's own COUNT with the same conditions on the same table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from benchmarks.people import TABLE, conditions
from benchmarks.queries import fetched, stored_rows
from benchmarks.results import Result
from benchmarks.timing import Side, in_turns
from benchmarks.workspace import Workspace
from ppdm_sql.connection.connect import connect
from ppdm_sql.connection.connection import Connection

TURNS = 50
WIDTHS = (1, 2, 3, 4, 8)
BAYES_WIDTHS = (1, 2, 3, 4, 5)
BAYES_LIMITED = 4
"""Bayes on more columns than this is for information."""

INVERSION_AIM, INVERSION_LIMIT = 1.3, 2.0
BAYES_AIM, BAYES_LIMIT = 3.0, 4.0
FAR = 6
"""An estimate this many standard errors from the truth is wrong, however quick."""


def by_inversion(space: Workspace) -> Iterator[Result]:
    """Plain counts."""
    source, release = space.people
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for width in WIDTHS:
            _check(ours, source, width)
            times = in_turns(*_sides(ours, "count(*)", theirs, width), TURNS)
            yield Result(
                f"count, inversion, k = {width}",
                times.ratio,
                aim=INVERSION_AIM,
                limit=INVERSION_LIMIT,
                detail=times.detail,
                numbers=times.numbers(),
            )


def with_error(space: Workspace) -> Iterator[Result]:
    """The standard error beside the count."""
    yield from _for_information(space.people[1], "count and its error", "count(*), ppdm_error(count(*))", WIDTHS)


def by_bayes(space: Workspace) -> Iterator[Result]:
    """Plain counts by the iterative method."""
    _, release = space.people
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        ours.execute("SET ppdm_method = 'bayes'")
        for width in BAYES_WIDTHS:
            times = in_turns(*_sides(ours, "count(*)", theirs, width), TURNS)
            limited = width <= BAYES_LIMITED
            yield Result(
                f"count, Bayes, k = {width}",
                times.ratio,
                aim=BAYES_AIM if limited else None,
                limit=BAYES_LIMIT if limited else None,
                detail=times.detail,
                numbers=times.numbers(),
            )


def _for_information(release: Path, what: str, items: str, widths: Sequence[int]) -> Iterator[Result]:
    with connect(release, read_only=True) as ours, stored_rows(release) as theirs:
        for width in widths:
            times = in_turns(*_sides(ours, items, theirs, width), TURNS)
            yield Result(f"{what}, k = {width}", times.ratio, detail=times.detail, numbers=times.numbers())


def _sides(ours: Connection, items: str, theirs: duckdb.DuckDBPyConnection, width: int) -> tuple[Side, Side]:
    where = f"FROM {TABLE} WHERE {conditions(width)}"
    return fetched(ours, f"SELECT {items} {where}"), fetched(theirs, f"SELECT count(*) {where}")


def _check(con: Connection, source: str, width: int) -> None:
    """That what is measured gives the original's answer."""
    where = f"WHERE {conditions(width)}"
    with duckdb.connect() as original:
        [(truth,)] = original.execute(f"SELECT count(*) FROM read_parquet('{source}') {where}").fetchall()
    [(estimate, error)] = con.execute(f"SELECT count(*), ppdm_error(count(*)) FROM {TABLE} {where}").fetchall()
    if abs(estimate - truth) > FAR * error:
        raise ValueError(f"k = {width}: estimated {estimate:.0f} with error {error:.0f}, but {truth} rows are there")
