"""Shares are exact: the cells of a domain against counting its values one by one in Python."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.channels.cells import Cell
from ppdm_sql.domain.domain import Grid
from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.measuring import measure as measuring
from ppdm_sql.measuring.powers import power_sum
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.policy import bind, load_policy
from ppdm_sql.syntax.parse import parse


def column(domain: str, sql_type: str, nulls: str = "error") -> RetainedColumn:
    text = f'table = "t"\n[columns."x"]\nmechanism = "uniform"\nretain = 0.5\nnulls = "{nulls}"\ndomain = {domain}\n'
    return bind(load_policy(text).columns[0], sql_type)


@pytest.fixture(scope="module")
def engine():
    with duckdb.connect() as con:
        yield EmbeddedEngine(con)


def by_engine_alone(monkeypatch) -> None:
    """No short cut: every cell is found by asking DuckDB."""
    monkeypatch.setattr(measuring, "cells_by_arithmetic", lambda column, terms: None)


@pytest.mark.parametrize(
    ("bound", "terms"),
    [
        ("AGE", ['"x" > 30 AND NOT "x" = 40', '"x" IN (1, 20, 30)', '"x" IS NULL', '40 >= "x" OR "x" <> 41']),
        ("BIRTH", ["\"x\" BETWEEN DATE '1950-01-01' AND '1960-01-01'", "\"x\" > '1955-05-05'"]),
        ("NULLABLE", ['"x" > 2', 'NOT ("x" > 2 AND "x" < 4)', '"x" IS NULL OR "x" = 1']),
        ("TRUTHS", ['"x"', 'NOT "x"', '"x" = TRUE', '"x" <> FALSE', '"x" IS NULL']),
    ],
)
def test_arithmetic_and_the_engine_agree(engine, monkeypatch, bound, terms):
    columns = {
        "AGE": AGE,
        "BIRTH": BIRTH,
        "NULLABLE": column("{ min = 1, max = 5 }", "TINYINT", "keep"),
        "TRUTHS": column("{ values = [true, false] }", "BOOLEAN", "value"),
    }
    asked = [(columns[bound], [parse(term) for term in terms], [], [])]
    short = engine.measure(asked)
    by_engine_alone(monkeypatch)
    assert engine.measure(asked) == short


def points(engine: EmbeddedEngine, bound: RetainedColumn, *terms: str) -> dict[tuple[bool | None, ...], int]:
    cells = engine.measure([(bound, [parse(term) for term in terms], [], [])])[0].cells
    assert len({(cell.truth, cell.fixed) for cell in cells}) == len(cells)
    return {cell.truth: cell.weight for cell in cells}


AGE = column("{ min = 17, max = 90 }", "SMALLINT")
WAGE = column("{ min = 0, max = 1000000, step = 0.01 }", "DOUBLE")
SMALL_WAGE = column("{ min = 0.05, max = 7.05, step = 0.1 }", "FLOAT")
SALARY = column("{ min = -5, max = 99999.99 }", "DECIMAL(10,2)")
BIRTH = column("{ min = 1930-01-01, max = 2009-12-31 }", "DATE")
SEEN = column('{ min = 2000-01-01T00:00:00, max = 2030-01-01T00:00:00, step = "1 second" }', "TIMESTAMP")
HUGE = column(
    "{ min = 170141183460469231731687303715884105000, max = 170141183460469231731687303715884105700 }", "HUGEINT"
)
UBIG = column("{ min = 18446744073709550000, max = 18446744073709551615 }", "UBIGINT")


def test_integer_ends_are_counted_exactly(engine):
    assert points(engine, AGE, '"x" BETWEEN 25 AND 45') == {(True,): 21, (False,): 53}


@pytest.mark.parametrize(
    ("bound", "term", "count"),
    [
        (AGE, '"x" > 89.5', 1),
        (AGE, '"x" % 2 = 0', 37),
        (WAGE, '"x" <= 0.3', 31),
        (WAGE, '"x" < 0.3', 30),
        (WAGE, '"x" < 0.305', 31),
        (WAGE, '"x" = 123456.78', 1),
        (WAGE, '"x" > 1e5', 90_000_000),
        (WAGE, '"x" >= 10 + 5', 99_998_501),
        (WAGE, '"x" IN (1, 2, 2.5, 2.505)', 3),
        (SMALL_WAGE, '"x" < 0.35', 3),
        (SALARY, '"x" < 0', 500),
        (SALARY, '"x" > 99999.985', 1),
        (BIRTH, 'extract(year FROM "x") = 1976', 366),
        (BIRTH, "\"x\" >= DATE '2009-12-01'", 31),
        (BIRTH, "\"x\" < '1930-02-01'", 31),
        (BIRTH, "\"x\" > TIMESTAMP '2009-12-30 12:00:00'", 1),
        (SEEN, "\"x\" < TIMESTAMP '2000-01-02'", 86_400),
        (SEEN, "\"x\" < DATE '2000-01-02'", 86_400),
        (SEEN, "\"x\" <= '2000-01-01 00:00:10.5'", 11),
        (SEEN, "\"x\" < TIMESTAMP '2000-01-01' + INTERVAL 1 MINUTE", 60),
        (HUGE, '"x" > 170141183460469231731687303715884105690', 10),
        (UBIG, '"x" > 18446744073709551600', 15),
    ],
)
def test_shares_of_many_kinds(engine, bound, term, count):
    assert points(engine, bound, term)[(True,)] == count


def test_null_is_one_more_value_or_a_cell_of_its_own(engine):
    value = column('{ values = ["a", "b"] }', "VARCHAR", "value")
    assert points(engine, value, "\"x\" = 'a'", '"x" IS NULL') == {
        (True, False): 1,
        (False, False): 1,
        (None, True): 1,
    }
    found = engine.measure([(column("{ min = 1, max = 4 }", "TINYINT", "keep"), [parse('"x" > 1')], [], [])])
    assert set(found[0].cells) == {Cell((True,), 3), Cell((False,), 1), Cell((None,), 0, fixed=True)}


def test_many_columns_are_measured_at_once(engine):
    found = engine.measure([(AGE, [parse('"x" < 18')], [], []), (WAGE, [parse('"x" < 18'), parse('"x" > 1')], [], [])])
    assert [len(one.cells) for one in found] == [2, 3]


def test_a_large_grid_is_refused_for_what_is_not_a_comparison(engine):
    with pytest.raises(Unsupported, match=r"has 946,771,201 values, .*Write it as a range"):
        fine = column('{ min = 2000-01-01T00:00:00, max = 2030-01-01T00:00:00, step = "1 second" }', "TIMESTAMP")
        points(engine, fine, 'extract(hour FROM "x") = 3')


def test_a_term_that_duckdb_rejects_is_the_querys_fault(engine):
    with pytest.raises(QueryError, match="Conversion Error"):
        points(engine, AGE, "\"x\" > 'old'")


SIGNS = st.sampled_from(["<", "<=", ">", ">=", "=", "<>"])


@settings(max_examples=150, deadline=None)
@given(
    low=st.integers(-2000, 2000),
    step=st.integers(1, 37),
    size=st.integers(1, 30_000),
    scale=st.integers(0, 3),
    family=st.sampled_from(["DOUBLE", "DECIMAL(12,3)", "FLOAT"]),
    tests=st.lists(st.tuples(SIGNS, st.integers(-5000, 400_000), st.integers(0, 4)), min_size=1, max_size=3),
)
def test_comparisons_on_any_grid(engine, low, step, size, scale, family, tests):
    size = min(size, 2000) if family == "FLOAT" else size
    least, stride = Decimal(low).scaleb(-scale), Decimal(step).scaleb(-scale)
    bound = column(f"{{ min = {least:f}, max = {least + (size - 1) * stride:f}, step = {stride:f} }}", family)
    constants = [Decimal(units).scaleb(-places) for _, units, places in tests]
    terms = [f'"x" {sign} {value:f}' for (sign, _, _), value in zip(tests, constants, strict=True)]
    compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__", "=": "__eq__", "<>": "__ne__"}
    expected = Counter(
        tuple(
            getattr(least + i * stride, compare[sign])(value)
            for (sign, _, _), value in zip(tests, constants, strict=True)
        )
        for i in range(size)
    )
    assert points(engine, bound, *terms) == expected


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 40_000),
    hours=st.integers(1, 30),
    cut=st.datetimes(datetime(1999, 12, 1), datetime(2010, 1, 1)),
    sign=SIGNS,
)
def test_comparisons_of_times(engine, size, hours, cut, sign):
    low = datetime(2000, 1, 1)
    high = low + (size - 1) * timedelta(hours=hours)
    bound = column(f'{{ min = {low.isoformat()}, max = {high.isoformat()}, step = "{hours} hours" }}', "TIMESTAMP")
    compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__", "=": "__eq__", "<>": "__ne__"}[sign]
    expected = Counter((getattr(low + i * timedelta(hours=hours), compare)(cut),) for i in range(size))
    assert points(engine, bound, f"\"x\" {sign} TIMESTAMP '{cut.isoformat(sep=' ')}'") == expected


def test_searching_and_counting_agree(engine, monkeypatch):
    terms = ['"x" >= 12.345', '"x" BETWEEN 3 AND 70000.015', '"x" = 1.25']
    grid = "{ min = 0, max = 100000, step = 0.01 }"
    searched = points(engine, column(grid, "DOUBLE"), *[term.replace('"x"', '("x")') for term in terms])
    monkeypatch.setattr(measuring, "SMALL", 10**9)
    assert points(engine, column(grid, "DECIMAL(12,2)"), *terms) == searched


def test_dates_before_1970(engine):
    bound = column("{ min = 1900-01-01, max = 1950-12-25, step = 7 }", "DATE")
    days = [date(1900, 1, 1) + timedelta(days=7 * i) for i in range(bound.size)]
    assert points(engine, bound, "\"x\" < DATE '1925-06-01'")[(True,)] == sum(d < date(1925, 6, 1) for d in days)


def test_values_are_summed_in_every_cell(engine):
    value = parse('CAST("x" * 2 AS DOUBLE)')
    small, large = (
        found.cells
        for found in engine.measure(
            [(AGE, [parse('"x" < 18')], [value], []), (AGE, [], [value, parse("CAST(1 AS DOUBLE)")], [])]
        )
    )
    assert [cell.sums for cell in small] == [(34.0,), (float(2 * sum(range(18, 91))),)]
    assert [cell.sums for cell in large] == [(float(2 * sum(range(17, 91))), 74.0)]


def test_means_of_large_grids_are_exact(engine):
    terms = [parse('"x" < 250.005')]
    values = [parse('CAST("x" AS DOUBLE)'), parse('CAST("x" AS DOUBLE) * CAST("x" AS DOUBLE)')]
    below, above = engine.measure(
        [(column("{ min = -3.5, max = 90000, step = 0.01 }", "DECIMAL(12,2)"), terms, values, [])]
    )[0].cells
    units = range(-350, 25001)
    assert below.sums == pytest.approx((sum(units) / 100, sum(u * u for u in units) / 10_000), rel=1e-12)
    assert below.weight + above.weight == 9_000_351


@given(
    low=st.integers(-50, 50),
    step=st.integers(1, 9),
    first=st.integers(0, 40),
    length=st.integers(0, 40),
    power=st.integers(0, 4),
    scale=st.integers(0, 3),
)
def test_power_sums_against_adding_up(low, step, first, length, power, scale):
    expected = sum(Fraction(low + i * step, 10**scale) ** power for i in range(first, first + length))
    assert power_sum(Grid(low, step, 100, scale), first, first + length, power) == pytest.approx(
        float(expected), rel=1e-12
    )
