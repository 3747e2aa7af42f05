"""Whether a release's rows agree with its manifest: columns, types, number of rows, and a sample within the domains.

A manifest of another table, or one that somebody has changed, gives wrong answers that look like right ones. What can
be seen in a few thousand rows is looked at: a value outside its domain, a NULL where there is none, and a value of the
domain that never occurs although chance alone would have drawn it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

import duckdb

from ppdm_sql.errors import AGAIN, ReleaseError
from ppdm_sql.mechanisms.base import PerturbedColumn, RowCheck
from ppdm_sql.mechanisms.registry import MECHANISMS, capability, has
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.syntax.quoting import quote_name

SAMPLE = 4096
"""Rows that are looked at."""


def check_columns(where: str, manifest: Manifest, columns: Sequence[tuple[str, str]]) -> None:
    """Refuse rows whose columns, names and types, are not those that the manifest tells of."""
    said = [(column.name, column.type.name) for column in manifest.columns]
    if said == list(columns):
        return
    for (name, kind), (found, other) in zip(said, columns, strict=False):
        if name != found:
            disagree(where, f"the manifest tells of a column {name!r} where the rows have {found!r}")
        if kind != other:
            disagree(where, f"column {name!r} is {kind[:60]} by the manifest, and {other[:60]} in the rows")
    disagree(where, f"the manifest tells of {len(said)} columns, and the rows have {len(columns)}")


def check_count(where: str, manifest: Manifest, rows: int) -> None:
    """Refuse another number of rows than the manifest tells of."""
    if manifest.rows != rows:
        disagree(where, f"the manifest tells of {manifest.rows:,} rows, and there are {rows:,}")


def check_sample(con: duckdb.DuckDBPyConnection, where: str, manifest: Manifest, rows: str) -> None:
    """Refuse a release whose first rows, read by the statement `rows`, cannot have been made as the manifest says."""
    checks = [(column, check, sql) for column, check in _checks(manifest) if (sql := check.problem(column)) is not None]
    if not checks or not manifest.rows:
        return
    items, names = ["count(*)"], list[str]()
    for column, _, problem in checks:
        name = quote_name(column.name)
        items += [f"count(*) FILTER ({problem})", f"count({name})", f"count(DISTINCT {name})"]
        names += [column.name, *MECHANISMS[column.mechanism].companions(column)]
    kept = ", ".join(quote_name(name) for name in dict.fromkeys(names))
    [found] = con.execute(f"SELECT {', '.join(items)} FROM (SELECT {kept} FROM ({rows}) LIMIT {SAMPLE})").fetchall()
    for i, (column, check, _) in enumerate(checks):
        bad, known, different = found[1 + 3 * i : 4 + 3 * i]
        if bad:
            disagree(where, f"column {column.name!r} has values that its mechanism never gives")
        if check.lacks(column, known, found[0], different):
            disagree(where, f"column {column.name!r} lacks values that its mechanism would have drawn by now")


def _checks(manifest: Manifest) -> Iterator[tuple[PerturbedColumn, RowCheck]]:
    for column in manifest.perturbed:
        if has(column.mechanism, "stored_rows"):
            yield column, capability(column.mechanism, "stored_rows")


def disagree(where: str, why: str) -> NoReturn:
    """Refuse a release."""
    raise ReleaseError(f"{where} does not fit its manifest: {why}. {AGAIN}")
