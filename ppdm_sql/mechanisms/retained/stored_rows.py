"""What stored rows of a column that is kept or redrawn cannot be: off their domain, or without values of it."""

from __future__ import annotations

import math

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.measuring.domains import listed
from ppdm_sql.mechanisms.base import RowCheck
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.quoting import quote_name

LISTED = 4096
"""Lists of more values are not compared with the rows: a statement with all of them takes longer than an answer."""
SURELY = 30.0
"""Values are missing by chance with a probability of at most e to the minus that: then it is not by chance."""


def outside(column: RetainedColumn) -> str:
    """SQL that is true of a value outside of the domain."""
    name = quote_name(column.name)
    null = f"{name} IS NULL" if column.nulls == "error" else "FALSE"
    if isinstance(column.domain, Values):
        if column.domain.size > LISTED:
            return null
        return f"{null} OR ({name} IS NOT NULL AND {name} NOT IN (SELECT ppdm_value FROM ({listed(column)})))"
    return f"{null} OR {_off_grid(name, column, column.domain)}"


def lacks(column: RetainedColumn, known: int, rows: int, different: int) -> bool:
    """Whether so few different values among so many rows, of which some have one, are no accident.

    That some given values are all missing has a chance of at most e to the minus of the draws expected of them; there
    are (size over missing) choose that many, which is at most (e size / missing) to the power of missing.
    """
    size = column.domain.size
    missing = size - different
    if missing <= 0:
        return False
    drawn = (rows if column.nulls == "value" else known) * (1 - column.retain) / column.spread
    return missing * (drawn - 1 - math.log(size / missing)) > SURELY


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


_CHECK = RowCheck(outside, lacks)
MECHANISMS = {"uniform": _CHECK, "custom": _CHECK}
