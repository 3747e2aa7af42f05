"""Stretches of a large grid as cells: counted by arithmetic, no point of it looked at but one a stretch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell, Cells
from ppdm_sql.domain.domain import Grid
from ppdm_sql.errors import Unsupported
from ppdm_sql.measuring.domains import point
from ppdm_sql.measuring.intervals import Run, compared_constants, cuts
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

TRUTH = (False, True, None)


def measure_bins(
    run: Run, table: Callable[[str], pa.Table], column: RetainedColumn, terms: Sequence[exp.Expr], starts: Sequence[int]
) -> Cells:
    """The cells of a grid column that rows are grouped by in bins, each labelled by the place that it starts at."""
    grid = column.domain
    assert isinstance(grid, Grid)
    constants = [compared_constants(term) for term in terms]
    for term, found in zip(terms, constants, strict=True):
        if found is None:
            raise Unsupported(
                f"Unsupported: {term.sql(dialect=ANALYST)}: a quantile of {column.name}, whose domain has "
                f"{grid.size:,} values, is found under comparisons of it with constants only. Write it as a range "
                "(BETWEEN, <, >=)."
            )
    places = cuts(run, column, [value for found in constants for value in found or ()])
    bounds = sorted({*starts, *places, grid.size})
    name = quote_name(column.name)
    rows = f"SELECT unnest({bounds[:-1]}::BIGINT[]) AS i"
    shown = f"SELECT i, {point(column, 'i')} AS {name} FROM ({rows})"
    if column.nulls != "error":
        shown += f" UNION ALL SELECT {grid.size}, NULL"
    truths = "".join(
        f", COALESCE(CAST(({term.sql(dialect=ANALYST)}) AS UTINYINT), 2) AS t{i}" for i, term in enumerate(terms)
    )
    told = table(f"SELECT i{truths} FROM ({shown}) ORDER BY i")
    truth = list(zip(*(told.column(f"t{i}").to_pylist() for i in range(len(terms))), strict=True))
    truth = truth or [()] * told.num_rows
    own = set(starts)
    weights: dict[tuple[int | None, tuple[bool | None, ...], bool], float] = {}
    label = 0
    for (first, last), values in zip(itertools.pairwise(bounds), truth, strict=False):
        label = first if first in own else label
        key = label, tuple(TRUTH[value] for value in values), False
        weights[key] = weights.get(key, 0.0) + column.weight(first, last)
    if column.nulls != "error":
        null = tuple(TRUTH[value] for value in truth[-1])
        weight = column.weight(grid.size, grid.size + 1) if column.nulls == "value" else 0.0
        weights[None, null, column.nulls == "keep"] = weight
    cells = tuple(Cell(values, weight, fixed) for (_, values, fixed), weight in weights.items())
    return Cells(cells, (pa.array([label for label, _, _ in weights], pa.int64()),))
