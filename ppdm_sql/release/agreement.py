"""Whether a release's rows agree with its manifest: columns, types, number of rows, and a sample within the domains.

A manifest of another table, or one that somebody has changed, gives wrong answers that look like right ones. What can
be seen in a few thousand rows is looked at: a value outside its domain, a NULL where there is none, and a value of the
domain that never occurs although chance alone would have drawn it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NoReturn

import duckdb

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.errors import AGAIN, ReleaseError
from ppdm_sql.measuring.domains import constant, listed
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.syntax.quoting import quote_name

SAMPLE = 4096
"""Rows that are looked at."""
LISTED = 4096
"""Lists of more values are not compared with the rows: a statement with all of them takes longer than an answer."""
SURELY = 30.0
"""Values are missing by chance with a probability of at most e to the minus that: then it is not by chance."""


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
    columns = [column for column in manifest.perturbed if _problem(column) is not None]
    if not columns or not manifest.rows:
        return
    items = ["count(*)"]
    for column in columns:
        name = quote_name(column.name)
        items += [f"count(*) FILTER ({_problem(column)})", f"count({name})", f"count(DISTINCT {name})"]
    kept = ", ".join(quote_name(name) for name in dict.fromkeys(_named(columns)))
    [found] = con.execute(f"SELECT {', '.join(items)} FROM (SELECT {kept} FROM ({rows}) LIMIT {SAMPLE})").fetchall()
    for i, column in enumerate(columns):
        bad, known, different = found[1 + 3 * i : 4 + 3 * i]
        if bad:
            disagree(where, f"column {column.name!r} has values that its mechanism never gives")
        if isinstance(column, RetainedColumn) and _lacks(column, known, found[0], different):
            disagree(where, f"column {column.name!r} lacks values that its mechanism would have drawn by now")


def disagree(where: str, why: str) -> NoReturn:
    """Refuse a release."""
    raise ReleaseError(f"{where} does not fit its manifest: {why}. {AGAIN}")


def _named(columns: Sequence[PerturbedColumn]) -> list[str]:
    names = [column.name for column in columns]
    names += [column.part_column for column in columns if isinstance(column, SmallDomainColumn)]
    return names + [column.size_column for column in columns if isinstance(column, BasketColumn)]


def _lacks(column: RetainedColumn, known: int, rows: int, different: int) -> bool:
    """Whether so few different values among so many rows, of which some have one, are no accident.

    That some given values are all missing has a chance of at most e to the minus of the draws expected of them; there
    are (size over missing) choose that many, which is at most (e size / missing) to the power of missing.
    """
    size = column.domain.size
    missing = size - different
    if isinstance(column, SelfReplacedColumn) or missing <= 0:
        return False
    drawn = (rows if column.nulls == "value" else known) * (1 - column.retain) / column.spread
    return missing * (drawn - 1 - math.log(size / missing)) > SURELY


def _problem(column: PerturbedColumn) -> str | None:
    """SQL that is true of a row whose value the mechanism cannot have given; None where every value is possible."""
    name = quote_name(column.name)
    if isinstance(column, SelfReplacedColumn):
        return f"{name} IS NULL" if column.nulls == "error" else None
    if isinstance(column, RetainedColumn):
        return _outside(name, column)
    if isinstance(column, SmallDomainColumn):
        return _outside_parts(name, column)
    if isinstance(column, NoisyColumn):
        steps = f"({name} / {float(column.step)!r}::DOUBLE)"
        between = f"abs({steps} - round({steps})) > 1e-6 * greatest(1, abs({steps}))"
        null = f"{name} IS NULL OR " if column.nulls == "error" else ""
        return f"{null}NOT isfinite({name}) OR {between}"
    if isinstance(column, BasketColumn):
        size = quote_name(column.size_column)
        null = f"{name} IS NULL OR " if column.nulls == "error" else ""
        return f"{null}{size} NOT BETWEEN 0 AND {column.largest}{_strange_items(name, column)}"
    return None


def _outside(name: str, column: RetainedColumn) -> str:
    null = f"{name} IS NULL" if column.nulls == "error" else "FALSE"
    if isinstance(column.domain, Values):
        if column.domain.size > LISTED:
            return null
        return f"{null} OR ({name} IS NOT NULL AND {name} NOT IN (SELECT ppdm_value FROM ({listed(column)})))"
    return f"{null} OR {_off_grid(name, column, column.domain)}"


def _outside_parts(name: str, column: SmallDomainColumn) -> str:
    """SQL that is true of a value outside the domain of its row's part."""
    whole = RetainedColumn(column.name, column.type, column.domain, 1.0, column.nulls, column.outside)
    part = quote_name(column.part_column)
    found = f"{_outside(name, whole)} OR {part} IS NULL OR {part} NOT BETWEEN 0 AND {len(column.parts) - 1}"
    if sum(len(one.places) for one in column.parts) > LISTED:
        return found
    inside = (f" OR ({part} = {i} AND ({_outside(name, one)}))" for i, one in enumerate(column.bound_parts))
    return found + "".join(inside)


def _strange_items(name: str, column: BasketColumn) -> str:
    """SQL that is true of a basket with an item that is none, or of a seed of another length."""
    if column.code is not None:
        return f" OR octet_length({name}) <> {column.code.seed_bytes}"
    if column.items.size > LISTED:
        return ""
    items = ", ".join(constant(column.item(number)) for number in range(column.items.size))
    return f" OR NOT list_has_all(CAST([{items}] AS {column.item_type.name}[]), {name})"


def _off_grid(name: str, column: RetainedColumn, grid: Grid) -> str:
    """SQL that is true of a value that is no point of a grid."""
    family = column.type.family
    units, rounded = f"CAST({name} AS HUGEINT)", "FALSE"
    if family == "real":
        scaled = f"CAST({name} AS DOUBLE) * 1e{grid.scale}"
        small = f"abs({scaled}) < 1e18"  # neither infinite nor NaN, which is above all numbers
        units = f"CASE WHEN {small} THEN CAST(round({scaled}) AS HUGEINT) END"
        slack = 1e-6 if column.type.name.upper() == "DOUBLE" else 1e-3
        largest = max(abs(grid.low), abs(grid.high), 1)
        rounded = f"NOT {small} OR abs({scaled} - round({scaled})) > {max(slack, slack * 1e-6 * largest)!r}"
    elif family == "decimal":
        units = f"CAST(replace(CAST({name} AS VARCHAR), '.', '') AS HUGEINT)"
    elif family == "date":
        units = f"({name} - DATE '1970-01-01')"
    elif family == "timestamp":
        zoned = column.type.name.upper() == "TIMESTAMP WITH TIME ZONE"
        moment = name if zoned else f"CAST({name} AS TIMESTAMP)"
        units, rounded = f"CAST(epoch_us({moment}) AS HUGEINT)", f"NOT isfinite({moment})"
    step = "" if grid.step == 1 else f" OR ({units} - ({grid.low})) % {grid.step} <> 0"
    return f"{rounded} OR {units} NOT BETWEEN {grid.low} AND {grid.high}{step}"
