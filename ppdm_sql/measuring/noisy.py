"""How the line falls into stretches under the terms of a query on a column with Gaussian noise.

Such a column has no domain. Its terms are evaluated on points that lie close together against the noise, from the
smallest to the largest number of the release and somewhat beyond; where they change, a stretch ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell, Cells, Runs
from ppdm_sql.errors import Unsupported
from ppdm_sql.measuring.measure import TRUTH
from ppdm_sql.measuring.noisy_comparisons import Comparisons, meetings
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name

FINENESS = 200
"""Points in a standard deviation of the noise: a bound is out by a quarter of a percent of it at most."""

MAX_POINTS = 2**18
MAX_RUNS = 1_024
BEYOND = 3.0
"""Standard deviations by which conditions are looked at beyond the numbers of the release."""

Expressions = Sequence[exp.Expr]


def measure_noisy(
    table: Callable[[str], pa.Table], column: NoisyColumn, terms: Expressions, labels: Expressions, release: str
) -> Cells:
    """The stretches of a column, those with the same terms and labels as one cell; NULL is a cell of its own."""
    name = quote_name(column.name)
    found = table(f"SELECT min({name}) AS low, max({name}) AS high FROM {release}").to_pylist()[0]
    low, high = found["low"] or 0.0, found["high"] or 0.0
    beyond = 0.0 if labels else BEYOND * column.deviation
    first, count, units, scale = _points(column, low - beyond, high + beyond)
    spacing = units / 10.0**scale

    def point(place: str) -> str:
        return f"({place} + {first}) * {units!r}::DOUBLE / {10.0**scale!r}::DOUBLE"

    line = f"SELECT i AS ppdm_i, {point('i')} AS {name} FROM range({count}) AS t(i)"
    comparisons = Comparisons(column.narrowest)
    for term in (*terms, *labels):
        comparisons.read(term)
    told = _told(comparisons.terms[: len(terms)], comparisons.terms[len(terms) :])
    blurred = _blurred(table, line, comparisons) if spacing < column.narrowest else None
    met = "" if column.unit is not None and spacing <= float(column.unit) else _met(table, line, comparisons, point)
    names = ", ".join(["ppdm_truth", *(f"ppdm_l{i}" for i in range(len(labels)))])
    runs = table(
        f"WITH ppdm_points AS (SELECT *, NULL AS ppdm_which, NULL::DOUBLE AS ppdm_met FROM ({line}){met}), "
        f"ppdm_told AS (SELECT ppdm_i, {told} FROM ({_compared('ppdm_points', comparisons)})) "
        f"SELECT * FROM (SELECT *, lag(ppdm_i) OVER near AS ppdm_before, "
        f"ROW({names}) IS DISTINCT FROM lag(ROW({names})) OVER near AS ppdm_new "
        f"FROM ppdm_told WINDOW near AS (ORDER BY ppdm_i)) "
        f"WHERE ppdm_new OR ppdm_before IS NULL ORDER BY ppdm_i LIMIT {MAX_RUNS + 1}"
    )
    if runs.num_rows > MAX_RUNS:
        text = [*labels, *terms][0].sql(dialect=ANALYST)
        raise Unsupported(
            f"Unsupported: {text}: it cuts {column.name}, which has Gaussian noise, into more than {MAX_RUNS:,} "
            "stretches. Use coarser ranges."
        )
    starts, ends = (runs.column(name).to_pylist()[1:] for name in ("ppdm_i", "ppdm_before"))
    parts = [runs.drop_columns(["ppdm_i", "ppdm_before", "ppdm_new"])]
    if column.nulls == "keep":
        null = f"SELECT CAST(NULL AS DOUBLE) AS {name}, NULL AS ppdm_which, NULL::DOUBLE AS ppdm_met"
        parts.append(table(f"SELECT {told} FROM ({_compared(f'({null})', comparisons)})"))
    bounds = tuple((first + (a + b) / 2) * spacing for a, b in zip(starts, ends, strict=True))
    cells = _cells(pa.concat_tables(parts, promote_options="permissive"), runs.num_rows, bounds, (low, high))
    return replace(cells, blurred=blurred)


def _compared(points: str, comparisons: Comparisons) -> str:
    """The points with every expression that is compared, which at some points is what it is compared with."""
    columns = "".join(
        f", CASE WHEN ppdm_which = {i} THEN ppdm_met ELSE {text} END AS {name}"
        for i, (text, name) in enumerate(comparisons.names())
    )
    return f"SELECT *{columns} FROM {points}"


def _blurred(table: Callable[[str], pa.Table], line: str, comparisons: Comparisons) -> exp.Expr | None:
    """A condition that tells values apart which differ between all neighbours somewhere on the line."""
    for operand, condition in comparisons.identified:
        shown = f"SELECT ppdm_i, ({operand.sql(dialect=ANALYST)}) AS x FROM ({line})"
        near = "lag(x) OVER (ORDER BY ppdm_i) AS a, lead(x) OVER (ORDER BY ppdm_i) AS b"
        differs = "x IS DISTINCT FROM a AND x IS DISTINCT FROM b"
        single = f"SELECT 1 FROM (SELECT x, {near} FROM ({shown})) WHERE {differs} LIMIT 1"
        if table(single).num_rows:
            return condition
    return None


def _met(table: Callable[[str], pa.Table], line: str, comparisons: Comparisons, point: Callable[[str], str]) -> str:
    """Further points: where an expression is exactly what it is compared with."""
    rows: list[str] = []
    shown = ", ".join(f"TRY_CAST({text} AS DOUBLE) AS {name}" for text, name in comparisons.names())
    if not shown:
        return ""
    values = table(f"SELECT {shown} FROM ({line}) ORDER BY ppdm_i")
    for number, constants in enumerate(comparisons.compared.values()):
        listed = ", ".join(f"(TRY_CAST({text} AS DOUBLE))" for text in dict.fromkeys(constants))
        known = table(f"SELECT x FROM (VALUES {listed}) AS t(x)").column("x")
        places, met = meetings(*(array.to_numpy().astype(float) for array in (values.column(number), known)))
        rows += [
            f"({place!r}::DOUBLE, {number}, {value!r}::DOUBLE)"
            for place, value in zip(places.tolist(), met.tolist(), strict=True)
        ]
    if not rows:
        return ""
    return f" UNION ALL SELECT i, {point('i')}, which, met FROM (VALUES {', '.join(rows)}) AS t(i, which, met)"


def _points(column: NoisyColumn, low: float, high: float) -> tuple[int, int, float, int]:
    """The first point, how many, and the distance between two: points where originals can lie, if these are known."""
    wanted = max(column.deviation / FINENESS, (high - low) / MAX_POINTS)
    if column.unit is None:
        units, scale = wanted, 0
    else:
        exponent = column.unit.as_tuple().exponent
        scale = max(0, -exponent) if isinstance(exponent, int) else 0
        unit = float(column.unit) * 10.0**scale
        units = unit * max(1, math.floor(wanted / float(column.unit)))
    spacing = units / 10.0**scale
    first = math.floor(low / spacing)
    return first, math.ceil(high / spacing) - first + 1, units, scale


def _told(terms: Expressions, labels: Expressions) -> str:
    """The truth of all terms as one text, and the labels."""
    letters = [f"COALESCE(CAST(({term.sql(dialect=ANALYST)}) AS UTINYINT), 2)" for term in terms]
    truth = f"concat({', '.join(letters)})" if letters else "''"
    named = [f"({label.sql(dialect=ANALYST)}) AS ppdm_l{i}" for i, label in enumerate(labels)]
    return ", ".join([f"{truth} AS ppdm_truth", *named])


def _cells(told: pa.Table, runs: int, bounds: tuple[float, ...], seen: tuple[float, float]) -> Cells:
    rows = list(zip(*(column.to_pylist() for column in told.columns), strict=True))
    numbers: dict[str, int] = {}  # by text, for a label may be a list or a struct
    cell = [numbers.setdefault(repr((row, place >= runs)), len(numbers)) for place, row in enumerate(rows)]
    firsts = [cell.index(number) for number in range(len(numbers))]
    cells = tuple(Cell(tuple(TRUTH[letter] for letter in rows[i][0]), 0.0, i >= runs) for i in firsts)
    labels = told.drop_columns(["ppdm_truth"]).take(pa.array(firsts, pa.int64()))
    return Cells(cells, tuple(labels.columns), Runs(bounds, tuple(cell[:runs]), *seen))
