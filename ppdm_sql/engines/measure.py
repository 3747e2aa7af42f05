"""How a domain falls into cells: the terms of a query, evaluated on the domain itself by the engine.

Small domains are enumerated. On large grids, comparisons with constants are measured by where they change; any other
expression is enumerated up to a limit, and refused beyond it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.channels.cells import Cell
from ppdm_sql.engines.domains import listed, point, quote
from ppdm_sql.engines.intervals import Run, compared_constants, cuts
from ppdm_sql.errors import Unsupported
from ppdm_sql.policy.binding import BoundColumn
from ppdm_sql.policy.domain import Grid

SMALL = 4096
"""Up to here enumerating costs less than looking for the places where a comparison changes."""

MAX_ENUMERATED = 2**26
"""About a second of work; beyond it an expression must be made of comparisons."""

TRUTH: dict[str, bool | None] = {"1": True, "0": False, "2": None}


def measure(run: Run, columns: Sequence[tuple[BoundColumn, Sequence[exp.Expr]]]) -> list[tuple[Cell, ...]]:
    """The cells of every column under its terms, in one statement for all of them."""
    parts = [
        _cells_statement(i, column, terms, _points(run, column, terms)) for i, (column, terms) in enumerate(columns)
    ]
    found: dict[int, list[Cell]] = defaultdict(list)
    for axis, truth, points, fixed in run(" UNION ALL ".join(parts)):
        values = tuple(TRUTH[letter] for letter in str(truth))
        found[int(axis or 0)].append(Cell(values, int(points or 0), bool(fixed)))
    return [tuple(sorted(found[i], key=_order)) for i in range(len(columns))]


def _order(cell: Cell) -> tuple[bool, tuple[int, ...]]:
    """TRUE before FALSE before NULL, fixed cells last: the same plan for the same query."""
    return cell.fixed, tuple({True: 0, False: 1, None: 2}[truth] for truth in cell.truth)


def _points(run: Run, column: BoundColumn, terms: Sequence[exp.Expr]) -> str:
    """A relation of values of the domain and how many points each stands for."""
    name = quote(column.name)
    grid = column.domain
    if not isinstance(grid, Grid):
        return f"SELECT ppdm_value AS {name}, 1 AS w FROM ({listed(column)})"
    if grid.size > SMALL:
        constants = [compared_constants(term) for term in terms]
        if all(c is not None for c in constants):
            places = cuts(run, column, [value for c in constants for value in c or ()])
            rows = ", ".join(f"({a}, {b - a})" for a, b in itertools.pairwise(places))
            return f"SELECT {point(column, 'i')} AS {name}, w FROM (VALUES {rows}) AS t(i, w)"
    if grid.size > MAX_ENUMERATED:
        odd = next(term for term in terms if compared_constants(term) is None)
        raise Unsupported(
            f"Unsupported: {odd.sql(dialect='duckdb')}: the domain of {column.name} has {grid.size:,} values, and an "
            f"expression other than a comparison with constants is evaluated on at most {MAX_ENUMERATED:,}. "
            "Write it as a range (BETWEEN, <, >=)."
        )
    return f"SELECT {point(column, 'i')} AS {name}, 1 AS w FROM range({grid.size}) AS t(i)"


def _cells_statement(axis: int, column: BoundColumn, terms: Sequence[exp.Expr], points: str) -> str:
    name = quote(column.name)
    null = f"SELECT CAST(NULL AS {column.type.name}) AS {name}, "
    relation = f"SELECT *, FALSE AS fixed FROM ({points})"
    if column.nulls == "value":
        relation += f" UNION ALL {null} 1, FALSE"
    elif column.nulls == "keep":
        relation += f" UNION ALL {null} 0, TRUE"
    truths = ", ".join(f"COALESCE(CAST(({term.sql(dialect='duckdb')}) AS UTINYINT), 2)" for term in terms)
    truth = f"concat({truths})"
    return (
        f"SELECT {axis} AS axis, truth, CAST(sum(w) AS BIGINT) AS points, fixed "
        f"FROM (SELECT {truth} AS truth, w, fixed FROM ({relation})) GROUP BY truth, fixed"
    )
