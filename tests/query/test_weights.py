"""Weights, counts and the tensor say the same: random formulas on random cells, every state looked at."""

from __future__ import annotations

import itertools

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.channels.cells import Cell
from ppdm_sql.domain.domain import Grid
from ppdm_sql.domain.types import parse_type
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.observe import RetainedAxis
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.plan.formula import FALSE, TRUE, All, Atom, Formula, Some, simplify, target_tensor
from ppdm_sql.query.plan.plan import Plan, PlannedProduct, PlannedTotal
from ppdm_sql.query.plan.planned_axis import ExactAxis, PlannedAxis
from ppdm_sql.query.sql.counts import conjunction_counts, counts_to_states, covariance_by_counts, estimate_by_counts
from ppdm_sql.query.sql.weights import covariance_by_weights, estimate_by_weights
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import Scan
from ppdm_sql.reconstruct.inversion import invert_adjoint
from ppdm_sql.syntax.parse import parse

CELLS = 3


def column_axis(number: int, retain: float, shares: tuple[int, int, int], keeps_null: bool) -> PlannedAxis:
    """A column with the values 0, 1 and 2, each a cell told apart by two terms, and perhaps NULL."""
    name = f"c{number}"
    size = sum(shares)
    terms = tuple(parse(f'"{name}" = {value}') for value in (0, 1))
    cells = [Cell((True, False), shares[0]), Cell((False, True), shares[1]), Cell((False, False), shares[2])]
    if keeps_null:
        cells.append(Cell((None, None), 0, fixed=True))
    nulls = "keep" if keeps_null else "error"
    column = RetainedColumn(name, parse_type("INTEGER"), Grid(0, 1, size), retain, nulls, "error")
    axis = Axis(retain, tuple(cell.weight / size for cell in cells), (3,) if keeps_null else ())
    return RetainedAxis(tuple(cells), terms, axis, column)


def exact_axis(number: int) -> PlannedAxis:
    """An exact predicate that is TRUE, FALSE or NULL: 1, 0, NULL."""
    return ExactAxis(terms=(parse(f'"c{number}" = 1'),))


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, Formula]:
    kinds = draw(st.lists(st.sampled_from(["plain", "null", "exact"]), min_size=1, max_size=4))
    axes = []
    for number, kind in enumerate(kinds):
        if kind == "exact":
            axes.append(exact_axis(number))
        else:
            retain = draw(st.sampled_from([0.2, 0.5, 0.9, 1.0]))
            shares = draw(st.tuples(*[st.integers(1, 9)] * 3))
            axes.append(column_axis(number, retain, shares, kind == "null"))
    counts = [len(axis.cells) for axis in axes]

    def atom(axis: int) -> st.SearchStrategy[Formula]:
        subsets = st.frozensets(st.integers(0, counts[axis] - 1))
        return subsets.map(lambda inside: Atom(axis, inside))

    atoms = st.integers(0, len(axes) - 1).flatmap(atom)
    formulas = st.recursive(
        atoms | st.sampled_from([TRUE, FALSE]),
        lambda inner: st.lists(inner, max_size=3).flatmap(
            lambda parts: st.sampled_from([All, Some]).map(lambda kind: kind(tuple(parts)))
        ),
        max_leaves=8,
    )
    formula = simplify(draw(formulas), counts)
    query = Query("", exp.Select(), exp.to_table("states"), Manifest("states", 1000, ()))
    return Plan(query, tuple(axes), (PlannedTotal((PlannedProduct(formula),)),), "inversion"), formula


def values_of(axis: PlannedAxis) -> list[str]:
    return ["1", "0"] if not axis.columns else ["0", "1", "2", "NULL"][: len(axis.cells)]


def states_table(con: duckdb.DuckDBPyConnection, plan: Plan) -> list[tuple[int, ...]]:
    """One table row for each state, numbered; the cells of each."""
    choices = [list(enumerate(values_of(axis))) for axis in plan.axes]
    rows, cells = [], []
    for number, state in enumerate(itertools.product(*choices)):
        rows.append(f"({number}, {', '.join(value for _, value in state)})")
        cells.append(tuple(cell for cell, _ in state))
    names = ", ".join(f"c{i}" for i in range(len(plan.axes)))
    con.execute(f"CREATE OR REPLACE TABLE states AS SELECT * FROM (VALUES {', '.join(rows)}) AS t(number, {names})")
    return cells


@pytest.mark.parametrize("by", [estimate_by_weights, estimate_by_counts])
@settings(max_examples=120, deadline=None)
@given(case=plans())
def test_each_state_gets_the_weight_of_the_tensor_inverse(by, case):
    plan, formula = case
    everything = tuple(range(len(plan.axes)))
    target = target_tensor(formula, everything, plan.cell_counts).astype(float)
    weights = invert_adjoint(target, [axis.channel for axis in plan.axes])
    with duckdb.connect() as con:
        cells = states_table(con, plan)
        scan = Scan(plan.query)
        (total,) = plan.totals
        estimate = by(scan, plan, total)
        if by is estimate_by_counts:
            variance = covariance_by_counts(scan, plan, total, total, total)
        else:
            variance = covariance_by_weights(scan, plan, total, total, estimate.copy())
        inner = scan.select()
        inner.set("group", exp.Group(expressions=[exp.column("number")]))
        inner.set("expressions", [exp.column("number"), *inner.expressions])
        found = con.sql(
            f"SELECT number, {estimate.sql('duckdb')}, {variance.sql('duckdb')} "
            f"FROM ({inner.sql('duckdb')}) ORDER BY number"
        ).fetchall()
    for (_, estimate_of_row, variance_of_row), state in zip(found, cells, strict=True):
        assert estimate_of_row == pytest.approx(weights[state], rel=1e-4, abs=1e-4)
        assert variance_of_row == pytest.approx(weights[state] ** 2 - weights[state], rel=1e-3, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(case=plans(), seed=st.integers(0, 2**32 - 1))
def test_conjunction_counts_give_the_state_counts_back(case, seed):
    plan, _ = case
    shape = tuple(plan.cell_counts)
    counts = np.random.default_rng(seed).integers(0, 50, shape)
    with duckdb.connect() as con:
        states_table(con, plan)
        con.execute("CREATE OR REPLACE TABLE sizes AS SELECT unnest(?::INT[]) AS size", [counts.ravel().tolist()])
        con.execute(
            "CREATE OR REPLACE TABLE people AS SELECT states.* "
            "FROM (SELECT *, row_number() OVER () - 1 AS n FROM sizes) JOIN states ON n = number, range(size)"
        )
        asked = ", ".join(count.sql("duckdb") for count in conjunction_counts(plan.axes))
        found = np.array(con.sql(f"SELECT {asked} FROM people").fetchall()[0], dtype=float)
    np.testing.assert_array_equal(counts_to_states(found, plan.axes), counts)


def test_a_row_with_null_in_an_exact_predicate_is_in_the_rest():
    axis = exact_axis(0)
    with duckdb.connect() as con:
        test = axis.test(frozenset({1})).sql("duckdb")
        rows = con.sql(f"SELECT {test} FROM (VALUES (1), (0), (NULL)) AS t(c0)").fetchall()
    assert rows == [(False,), (True,), (True,)]
