"""How the line falls into stretches under the terms of a query on a column with Gaussian noise.

Such a column has no domain. Its terms are evaluated on points that lie close together against the noise, from the
smallest to the largest number of the release and somewhat beyond; where they change, a stretch ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.cells import Cell, Cells, Runs
from ppdm_sql.engines.measure import TRUTH
from ppdm_sql.engines.quoting import quote_name
from ppdm_sql.errors import Unsupported
from ppdm_sql.policy.noise import NoisyColumn

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
    point = f"(i + {first}) * {units!r}::DOUBLE / {10.0**scale!r}::DOUBLE"
    told = _told(terms, labels)
    names = ", ".join(["ppdm_truth", *(f"ppdm_l{i}" for i in range(len(labels)))])
    runs = table(
        f"WITH ppdm_points AS (SELECT i AS ppdm_i, {point} AS {name} FROM range({count}) AS t(i)), "
        f"ppdm_told AS (SELECT ppdm_i, {told} FROM ppdm_points) "
        f"SELECT * FROM (SELECT *, ROW({names}) IS DISTINCT FROM lag(ROW({names})) OVER (ORDER BY ppdm_i) AS ppdm_new "
        f"FROM ppdm_told) WHERE ppdm_new OR ppdm_i = 0 ORDER BY ppdm_i LIMIT {MAX_RUNS + 1}"
    )
    if runs.num_rows > MAX_RUNS:
        text = [*labels, *terms][0].sql(dialect="duckdb")
        raise Unsupported(
            f"Unsupported: {text}: it cuts {column.name}, which has Gaussian noise, into more than {MAX_RUNS:,} "
            "stretches. Use coarser ranges."
        )
    parts = [runs.drop_columns(["ppdm_i", "ppdm_new"])]
    if column.nulls == "keep":
        parts.append(table(f"SELECT {told} FROM (SELECT CAST(NULL AS DOUBLE) AS {name})"))
    spacing = units / 10.0**scale
    bounds = tuple((first + i - 0.5) * spacing for i in runs.column("ppdm_i").to_pylist()[1:])
    return _cells(pa.concat_tables(parts, promote_options="permissive"), runs.num_rows, bounds, (low, high))


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
    letters = [f"COALESCE(CAST(({term.sql(dialect='duckdb')}) AS UTINYINT), 2)" for term in terms]
    truth = f"concat({', '.join(letters)})" if letters else "''"
    named = [f"({label.sql(dialect='duckdb')}) AS ppdm_l{i}" for i, label in enumerate(labels)]
    return ", ".join([f"{truth} AS ppdm_truth", *named])


def _cells(told: pa.Table, runs: int, bounds: tuple[float, ...], seen: tuple[float, float]) -> Cells:
    rows = list(zip(*(column.to_pylist() for column in told.columns), strict=True))
    numbers: dict[str, int] = {}  # by text, for a label may be a list or a struct
    cell = [numbers.setdefault(repr((row, place >= runs)), len(numbers)) for place, row in enumerate(rows)]
    firsts = [cell.index(number) for number in range(len(numbers))]
    cells = tuple(Cell(tuple(TRUTH[letter] for letter in rows[i][0]), 0.0, i >= runs) for i in firsts)
    labels = told.drop_columns(["ppdm_truth"]).take(pa.array(firsts, pa.int64()))
    return Cells(cells, tuple(labels.columns), Runs(bounds, tuple(cell[:runs]), *seen))
