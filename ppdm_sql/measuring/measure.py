"""How a domain falls into cells: the terms of a query, evaluated on the domain itself by the engine.

Small domains are enumerated. On large grids, comparisons with constants are measured by where they change; any other
expression is enumerated up to a limit, and refused beyond it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell, Cells
from ppdm_sql.domain.domain import Grid
from ppdm_sql.errors import Unsupported
from ppdm_sql.measuring.arithmetic import cells_by_arithmetic
from ppdm_sql.measuring.domains import listed, places, point
from ppdm_sql.measuring.intervals import Run, compared_constants, cuts
from ppdm_sql.measuring.powers import degree, power_sum
from ppdm_sql.mechanisms.retained.column import ExactColumn, RetainedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

SMALL = 4096
"""Up to here enumerating costs less than looking for the places where a comparison changes."""

MAX_ENUMERATED = 2**26
"""About a second of work; beyond it an expression must be made of comparisons."""

NUMERIC = ("integer", "decimal", "real")
TRUTH: dict[str, bool | None] = {"1": True, "0": False, "2": None}


MAX_LABELS = 65_536
"""No column is cut into more groups."""

Expressions = Sequence[exp.Expr]
Asked = tuple[RetainedColumn, Expressions, Expressions, Expressions]
"""A column, the terms that tell its cells apart, the values to be summed, the labels that tell cells apart by value."""


def measure(run: Run, table: Callable[[str], pa.Table], columns: Sequence[Asked]) -> list[Cells]:
    """The cells of every column: by arithmetic, or in one statement for all without labels, or in one each."""
    found: dict[int, Cells] = {}
    plain: dict[int, Asked] = {}
    for i, asked in enumerate(columns):
        column, terms, values, labels = asked
        own = isinstance(column, SelfReplacedColumn)
        cells = (
            None if values or labels or own or isinstance(column, ExactColumn) else cells_by_arithmetic(column, terms)
        )
        if cells is not None:
            found[i] = Cells(tuple(sorted(cells, key=_order)))
        elif labels:
            found[i] = _labelled(run, table, asked)
        else:
            plain[i] = asked
    found |= _plain(run, plain) if plain else {}
    return [found[i] for i in range(len(columns))]


def _plain(run: Run, columns: Mapping[int, Asked]) -> dict[int, Cells]:
    width = max(len(values) for _, _, values, _ in columns.values())
    parts = [_cells_statement(i, asked, _points(run, asked), width) for i, asked in columns.items()]
    totals = "".join(f", sum(ppdm_v{i})" for i in range(width))
    statement = (
        f"SELECT ppdm_axis, ppdm_truth, CAST(sum(ppdm_w) AS DOUBLE), ppdm_fixed{totals} "
        f"FROM ({' UNION ALL '.join(parts)}) GROUP BY ppdm_axis, ppdm_truth, ppdm_fixed"
    )
    found: dict[int, list[Cell]] = defaultdict(list)
    for axis, truth, weight, fixed, *sums in run(statement):
        found[axis].append(_cell(truth, weight, fixed, sums[: len(columns[axis][2])]))
    return {i: Cells(tuple(sorted(found[i], key=_order))) for i in columns}


def _labelled(run: Run, table: Callable[[str], pa.Table], asked: Asked) -> Cells:
    """The cells of a column whose labels tell cells apart too."""
    column, _, values, labels = asked
    inner = _cells_statement(0, asked, _points(run, asked), len(values))
    told = [f"ppdm_l{i}" for i in range(len(labels))]
    keys = ["ppdm_truth", "ppdm_fixed", *told]
    order = [*told, "ppdm_truth"]
    totals = "".join(f", sum(ppdm_v{i}) AS ppdm_v{i}" for i in range(len(values)))
    result = table(
        f"SELECT {', '.join(keys)}, CAST(sum(ppdm_w) AS DOUBLE) AS ppdm_weight{totals} FROM ({inner}) "
        f"GROUP BY {', '.join(keys)} ORDER BY ppdm_fixed, {', '.join(order)} LIMIT {MAX_LABELS + 1}"
    )
    if result.num_rows > MAX_LABELS:
        raise Unsupported(
            f"Unsupported: {labels[0].sql(dialect=ANALYST)}: the domain of {column.name} falls into more "
            f"than {MAX_LABELS:,} groups. Use a coarser expression."
        )
    names = ["ppdm_truth", "ppdm_weight", "ppdm_fixed", *(f"ppdm_v{i}" for i in range(len(values)))]
    rows = zip(*(result.column(name).to_pylist() for name in names), strict=True)
    cells = tuple(_cell(truth, weight, fixed, sums) for truth, weight, fixed, *sums in rows)
    return Cells(cells, tuple(result.column(name) for name in told))


def _cell(truth: str, weight: float, fixed: bool, sums: Sequence[float | None]) -> Cell:
    return Cell(tuple(TRUTH[letter] for letter in truth), weight, fixed, tuple(float(value or 0) for value in sums))


def _order(cell: Cell) -> tuple[bool, tuple[int, ...]]:
    """TRUE before FALSE before NULL, fixed cells last: the same plan for the same query."""
    return cell.fixed, tuple({True: 0, False: 1, None: 2}[truth] for truth in cell.truth)


@dataclass(frozen=True)
class _Points:
    """A relation of values of the domain with their weights `ppdm_w`, and SQL for what each adds to every value."""

    relation: str
    numbers: tuple[str, ...]


def _points(run: Run, asked: Asked) -> _Points:
    column, terms, values, labels = asked
    name = quote_name(column.name)
    numbers = tuple(f"COALESCE({value.sql(dialect=ANALYST)}, 0e0)" for value in values)
    grid = column.domain
    if isinstance(column, SelfReplacedColumn):
        known = f"FROM {column.source} WHERE {name} IS NOT NULL"
        nothing = f"SELECT NULL, 0 WHERE NOT EXISTS (SELECT 1 {known})"  # so that no rows have a cell too
        return _Points(f"SELECT {name}, count(*) AS ppdm_w {known} GROUP BY {name} UNION ALL {nothing}", numbers)
    if isinstance(column, ExactColumn):  # of an empty table there is at least one cell, which nobody is in
        nobody = f"SELECT NULL, 1 WHERE NOT EXISTS ({column.relation})"
        return _Points(f"SELECT {name}, 1 AS ppdm_w FROM ({column.relation}) UNION ALL {nobody}", numbers)
    if not isinstance(grid, Grid):
        return _Points(f"SELECT ppdm_value AS {name}, ppdm_w FROM ({listed(column)})", numbers)
    constants = [compared_constants(told) for told in (*terms, *labels)]
    powers = [degree(value) if column.type.family in NUMERIC else None for value in values]
    stretches = all(c is not None for c in constants) and all(power is not None for power in powers)
    if grid.size > SMALL and stretches and column.weights is None:
        ends = cuts(run, column, [value for c in constants for value in c or ()])
        return _stretches(column, grid, ends, [power or 0 for power in powers])
    if grid.size > MAX_ENUMERATED:
        odd = [told for told, c in zip((*terms, *labels), constants, strict=True) if c is None]
        odd += [v for v, power in zip(values, powers, strict=True) if power is None] + [*labels, *terms]
        raise Unsupported(
            f"Unsupported: {odd[0].sql(dialect=ANALYST)}: the domain of {column.name} has {grid.size:,} values, and "
            f"an expression other than a comparison with constants is evaluated on at most {MAX_ENUMERATED:,}. "
            "Write it as a range (BETWEEN, <, >=)."
        )
    return _Points(f"SELECT {point(column, 'ppdm_i')} AS {name}, ppdm_w FROM ({places(column)})", numbers)


def _stretches(column: RetainedColumn, grid: Grid, ends: Sequence[int], powers: Sequence[int]) -> _Points:
    """One point of each stretch between two ends stands for all of it."""
    rows = ", ".join(
        f"({a}, {b - a}{''.join(f', {power_sum(grid, a, b, power)!r}::DOUBLE' for power in powers)})"
        for a, b in itertools.pairwise(ends)
    )
    names = "".join(f", ppdm_s{i}" for i in range(len(powers)))
    value = f"{point(column, 'ppdm_i')} AS {quote_name(column.name)}"
    relation = f"SELECT {value}, ppdm_w{names} FROM (VALUES {rows}) AS t(ppdm_i, ppdm_w{names})"
    return _Points(relation, tuple(f"ppdm_s{i} / ppdm_w" for i in range(len(powers))))


def _cells_statement(axis: int, asked: Asked, points: _Points, width: int) -> str:
    column, terms, _, labels = asked
    name = quote_name(column.name)
    null = f"SELECT NULL AS {name}, "
    relation = f"SELECT *, FALSE AS ppdm_fixed FROM ({points.relation})"
    if column.nulls == "value" and isinstance(column, SelfReplacedColumn):
        missing = f"FROM {column.source} WHERE {name} IS NULL"
        relation += f" UNION ALL BY NAME {null} count(*) AS ppdm_w, FALSE AS ppdm_fixed {missing}"
    elif column.nulls == "value":
        weight = column.weight(column.size - 1, column.size)
        relation += f" UNION ALL BY NAME {null} {weight!r} AS ppdm_w, FALSE AS ppdm_fixed"
    elif column.nulls == "keep":
        relation += f" UNION ALL BY NAME {null} 0 AS ppdm_w, TRUE AS ppdm_fixed"
    truths = ", ".join(f"COALESCE(CAST(({term.sql(dialect=ANALYST)}) AS UTINYINT), 2)" for term in terms)
    numbers = [f"ppdm_w * {number}" for number in points.numbers] + ["0e0"] * (width - len(points.numbers))
    inner = "".join(f", {number} AS ppdm_v{i}" for i, number in enumerate(numbers))
    inner += "".join(f", ({label.sql(dialect=ANALYST)}) AS ppdm_l{i}" for i, label in enumerate(labels))
    truth = f"concat({truths})" if terms else "''"
    return f"SELECT {axis} AS ppdm_axis, {truth} AS ppdm_truth, ppdm_w, ppdm_fixed{inner} FROM ({relation})"
