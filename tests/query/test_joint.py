"""Weights of conditions and numbers that span two columns: over every draw, their mean is the truth of each pair."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import duckdb
import numpy as np
import pytest

from ppdm_sql.channels.joint import positions
from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.types import parse_type
from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine
from ppdm_sql.errors import Unsupported
from ppdm_sql.measuring.domains import constant, point
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.observe import JointAxis
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.query.plan.plan import Plan, make_plan
from ppdm_sql.query.sql.weights import RowWeights
from ppdm_sql.query.understand.passes import AGGREGATE, UNDERSTAND, run
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.settings import Settings
from ppdm_sql.syntax.parse import parse


def column(name: str, kind: str, domain: Grid | Values, retain: float, nulls: str = "error") -> RetainedColumn:
    return RetainedColumn(name, parse_type(kind), domain, retain, nulls, "error")


INTEGER = column("a", "SMALLINT", Grid(-7, 3, 25), 0.4)
KEPT = column("b", "INTEGER", Grid(1, 1, 20), 0.6, "keep")
ALSO_KEPT = column("a", "TINYINT", Grid(-3, 1, 9), 0.3, "keep")
VALUE = column("b", "VARCHAR", Values(("x", "O'Brien", "Zoë", "yy")), 0.7, "value")
REAL = column("b", "DOUBLE", Grid(-15, 5, 40, 2), 0.5)
FLOAT = column("b", "FLOAT", Grid(-10, 1, 30, 1), 0.5, "value")
DECIMAL = column("b", "DECIMAL(6,2)", Grid(-250, 25, 30, 2), 0.35)
DATE = column("b", "DATE", Grid(-3, 1, 30), 0.45, "keep")
MOMENT = column("b", "TIMESTAMP", Grid(-3_600_000_000, 3_600_000_000, 30), 0.8)
UNEVEN = replace(KEPT, weights=tuple(float(1 + i % 5) for i in range(20)))
UNEVEN_VALUE = replace(VALUE, weights=(1.0, 5.0, 2.0, 1.0, 4.0))
SURE = column("b", "INTEGER", Grid(0, 2, 10), 1.0)
CASES = [
    (INTEGER, KEPT, "count(*)", "a < b"),
    (INTEGER, KEPT, "count(*)", "a + coalesce(b, 5) > 20 AND a <> 2"),
    (ALSO_KEPT, KEPT, "count(*)", "a * 2 < b OR a IS NULL"),
    (ALSO_KEPT, KEPT, "sum(coalesce(a, 1) % coalesce(b, 3))", "a < b OR (a IS NULL AND b IS NULL)"),
    (ALSO_KEPT, VALUE, "count(*)", "length(b) > a OR b IS NULL"),
    (INTEGER, REAL, "sum(greatest(a, b))", "a > 3 OR b < 0.5"),
    (INTEGER, FLOAT, "sum(a * b - b // 1)", "a <> b"),
    (INTEGER, DECIMAL, "count(*)", "a * 0.25 < b"),
    (INTEGER, DATE, "count(*)", "b + a > DATE '1970-01-10'"),
    (INTEGER, MOMENT, "sum(extract(hour FROM b) % (abs(a) + 2))", "extract(hour FROM b) > a"),
    (INTEGER, UNEVEN, "sum(a % b)", "a < b"),
    (ALSO_KEPT, UNEVEN_VALUE, "count(*)", "length(b) > a OR b IS NULL"),
    (INTEGER, SURE, "count(*)", "a < b"),
]


def planned(con: duckdb.DuckDBPyConnection, columns: tuple[RetainedColumn, ...], sql: str, portable: bool) -> Plan:
    manifest = Manifest("t", 1000, tuple(ReleasedColumn(c.name, c.type, c) for c in columns))
    tree = parse(sql)
    query = Query(sql, tree, tree.args["from_"].this, manifest, Settings(method="inversion", portable=portable))
    return make_plan(run(AGGREGATE, run(UNDERSTAND, query)), EmbeddedEngine(con))


def shown(bound: RetainedColumn) -> list[str]:
    """SQL of every value that a column may show, NULL last."""
    grid = bound.domain
    if isinstance(grid, Grid):
        found = [point(bound, str(i)) for i in range(grid.size)]
    else:
        found = [f"CAST({constant(value)} AS {bound.type.name})" for value in grid.values]
    return found + [f"CAST(NULL AS {bound.type.name})"] * (positions(bound) - len(found))


def drawn(bound: RetainedColumn) -> np.ndarray:
    weights = np.ones(bound.size) if bound.weights is None else np.array(bound.weights)
    return weights / weights.sum()


def channel(bound: RetainedColumn) -> np.ndarray:
    """The probability of each shown value given each true one."""
    size, every = bound.size, positions(bound)
    matrix = np.eye(every)
    matrix[:size, :size] = bound.retain * np.eye(size) + (1 - bound.retain) * drawn(bound)
    return matrix


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("a", "b", "aggregate", "condition"), CASES, ids=lambda part: getattr(part, "name", str(part)))
def test_the_mean_weight_over_all_draws_is_the_truth_of_every_pair(a, b, aggregate, condition, portable):
    number = "1" if aggregate == "count(*)" else aggregate.removeprefix("sum(").removesuffix(")")
    with duckdb.connect() as con:
        plan = planned(con, (a, b), f"SELECT {aggregate} FROM t WHERE {condition}", portable)
        assert isinstance(plan.axes[0], JointAxis)
        total = plan.totals[min(plan.query.answered)]
        weight = RowWeights(plan).of_total(total)
        rows = [f"({i}, {x}, {y})" for i, (x, y) in enumerate(itertools.product(shown(a), shown(b)))]
        con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {', '.join(rows)}) AS v(place, a, b)")
        truth = f"CASE WHEN {condition} THEN coalesce({number}, 0) ELSE 0 END"
        found = con.sql(f"SELECT {weight.body.sql('duckdb')}, {truth} FROM t ORDER BY place").fetchall()
    weights, truths = np.array(found, dtype=float).T.reshape(2, positions(a), positions(b))
    mean = channel(a) @ (weight.scale * weights) @ channel(b).T
    np.testing.assert_allclose(mean, truths, atol=2e-4 * max(1.0, np.abs(truths).max()))
    assert np.ptp(truths) > 0


def test_a_long_list_and_many_steps_say_the_same():
    a, b = column("a", "INTEGER", Grid(-40, 2, 900), 0.5), column("b", "BIGINT", Grid(3, 1, 40), 0.5)
    found = []
    with duckdb.connect() as con:
        rows = ", ".join(f"({x}, {y})" for x in range(-40, 1760, 14) for y in range(3, 43, 3))
        con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS v(a, b)")
        for portable in (False, True):
            plan = planned(con, (a, b), "SELECT sum(a % b) FROM t", portable)
            body = RowWeights(plan).of_total(plan.totals[0]).body.sql("duckdb")
            assert ("list_extract" in body.lower()) is not portable
            found.append(con.sql(f"SELECT {body} FROM t ORDER BY a, b").fetchall())
    np.testing.assert_allclose(np.array(found[0]), np.array(found[1]), rtol=1e-9)


def test_limits_are_named():
    wide = column("a", "INTEGER", Grid(0, 1, 100_000), 0.5)
    with duckdb.connect() as con:
        with pytest.raises(Unsupported, match=r"100,000 values of a, and a statement holds at most 1,024 steps"):
            plan = planned(con, (wide, KEPT), "SELECT sum(a % b) FROM t", False)
            RowWeights(plan).of_total(plan.totals[0])
        with pytest.raises(Unsupported, match=r"a and b together have 10,000,100,000 pairs of values"):
            other = column("b", "INTEGER", Grid(0, 1, 100_001), 0.5)
            planned(con, (wide, other), "SELECT count(*) FROM t WHERE a < b", False)


def test_cells_of_pairs_have_the_number_of_their_pairs():
    with duckdb.connect() as con:
        plan = planned(con, (INTEGER, KEPT), "SELECT count(*) FROM t WHERE a < b AND a > 0", False)
    axis = plan.axes[0]
    assert isinstance(axis, JointAxis)
    assert sum(cell.weight for cell in axis.cells) == INTEGER.size * KEPT.size
    both = next(cell for cell in axis.cells if cell.truth == (True, True))
    assert both.weight == sum(1 for i in range(25) for j in range(1, 21) if 0 < -7 + 3 * i < j)
    assert math.prod(axis.joint.pairs.shape) == 25 * 21
