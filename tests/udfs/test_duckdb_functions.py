"""The DuckDB functions give the very values that publishing gives."""

from datetime import date, datetime
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import Grid, Uniform, Values, perturb, register, row_blocks

KEY = bytes(range(100, 132))
COUNT = 5_000

SOURCE = """
CREATE TABLE people AS
SELECT i * 3 AS id, 'name ' || i AS name,
  CASE WHEN i % 10 <> 0 THEN (17 + i % 74)::BIGINT END AS age,
  (10::HUGEINT ** 20)::HUGEINT + i % 9 AS huge,
  (i % 50) / 10.0::DOUBLE AS wage,
  ((i % 50) / 4.0)::DECIMAL(9, 2) AS price,
  DATE '1999-12-28' + (i % 9)::INTEGER AS born,
  TIMESTAMP '2020-01-01' + INTERVAL 1 HOUR * (i % 24) AS seen,
  ['Sales', 'Tech', 'ü'][1 + i % 3] AS job,
  i % 2 = 0 AS flag
FROM range(5000) r(i)
"""


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as connection:
        connection.execute(SOURCE)
        register(connection, KEY)
        yield connection


def column(con, query):
    return con.sql(query).to_arrow_table().column(0).combine_chunks()


DAY = 86_400_000_000
CASES = {
    "bigint": ("age", "17, 90", Grid(17, 1, 74), None),
    "hugeint": ("huge", "100000000000000000000, 100000000000000000008", Grid(10**20, 1, 9), None),
    "double": ("wage", "0, 4.9, 0.1", Grid(0, 1, 50, scale=1), None),
    "decimal": ("price", "0, 12.25, 0.25", Grid(0, 25, 50, scale=2), pa.decimal128(38, 10)),
    "date": ("born", "DATE '1999-12-28', DATE '2000-01-05'",
             Grid((date(1999, 12, 28) - date(1970, 1, 1)).days, 1, 9), None),
    "timestamp": ("seen", "TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-01 23:00:00', INTERVAL 1 HOUR",
                  Grid((datetime(2020, 1, 1) - datetime(1970, 1, 1)).days * DAY, DAY // 24, 24), None),
    "varchar": ("job", "['ü', 'Sales', 'Tech']", Values(pa.array(["ü", "Sales", "Tech"])), None),
    "boolean": ("flag", "", Values(pa.array([False, True])), None),
}  # fmt: skip


@pytest.mark.parametrize("family", CASES)
def test_a_function_equals_perturb(con, family):
    name, parameters, domain, kind = CASES[family]
    call = f"ppdm_uniform_{family}({name}, id, 'people', '{name}', 0.3{', ' if parameters else ''}{parameters})"
    got = column(con, f"SELECT {call} FROM people ORDER BY id")
    array = column(con, f"SELECT {name} FROM people ORDER BY id")
    rows = row_blocks([column(con, "SELECT id FROM people ORDER BY id")], KEY, "people")
    mechanism = Uniform(domain, 0.3, nulls="keep")
    expected = perturb(array, mechanism, key=KEY, table="people", column=name, rows=rows)
    assert got.equals(expected if kind is None else expected.cast(kind))
    assert not got.equals(array)
    assert got.null_count == array.null_count


def test_a_text_id_gives_the_coins_of_publishing_under_that_text(con):
    query = """SELECT ppdm_uniform_bigint(age, ppdm_identity(name, 'people'), 'people', 'age', 0.3, 17, 90)
               FROM people ORDER BY id"""
    rows = row_blocks([column(con, "SELECT name FROM people ORDER BY id")], KEY, "people")
    array = column(con, "SELECT age FROM people ORDER BY id")
    mechanism = Uniform(Grid(17, 1, 74), 0.3, nulls="keep")
    expected = perturb(array, mechanism, key=KEY, table="people", column="age", rows=rows)
    assert column(con, query).equals(expected)


def test_parameters_may_differ_from_row_to_row(con):
    both = con.sql("""
        SELECT ppdm_uniform_varchar(job, id, 'people', 'job', CASE WHEN flag THEN 0.3 ELSE 0.6 END,
                                    CASE WHEN id % 5 = 0 THEN ['ü', 'Sales', 'Tech'] ELSE ['Tech', 'ü', 'Sales'] END),
          ppdm_uniform_varchar(job, id, 'people', 'job', 0.3, ['ü', 'Sales', 'Tech']),
          ppdm_uniform_varchar(job, id, 'people', 'job', 0.6, ['ü', 'Sales', 'Tech']),
          ppdm_uniform_varchar(job, id, 'people', 'job', 0.3, ['Tech', 'ü', 'Sales']),
          ppdm_uniform_varchar(job, id, 'people', 'job', 0.6, ['Tech', 'ü', 'Sales']), flag, id % 5 = 0
        FROM people""").fetchall()
    assert len(both) == COUNT
    for got, *choices, flag, first in both:
        assert got == choices[(0 if first else 2) + (0 if flag else 1)]


def test_a_constant_and_an_empty_call(con):
    call = "ppdm_uniform_bigint(30, 7, 't', 'c', 0.3, 17, 90)"
    rows = row_blocks([pa.array([7])], KEY, "t")
    expected = perturb(pa.array([30]), Uniform(Grid(17, 1, 74), 0.3), key=KEY, table="t", column="c", rows=rows)
    assert con.sql(f"SELECT {call}").fetchall() == [(expected[0].as_py(),)]
    assert con.sql(f"SELECT {call} FROM people WHERE id < 0").fetchall() == []
    assert con.sql("SELECT ppdm_uniform_bigint(NULL, 7, 't', 'c', 0.3, 17, 90)").fetchall() == [(None,)]


def test_decimals_come_back_on_the_grid(con):
    values = column(
        con, "SELECT ppdm_uniform_decimal(price, id, 'p', 'c', 0.1, 0, 12.25, 0.25)::DECIMAL(9, 2) FROM people"
    )
    found = {value % Decimal("0.25") for value in values.to_pylist()}
    assert found == {Decimal(0)}
    assert len(np.unique(values.to_pylist())) == 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("ppdm_uniform_bigint(age, id, 't', 'c', 0.3, 18, 40)", "value outside the domain"),
        ("ppdm_uniform_bigint(age, id, 't', 'c', 0.3, 40, 18)", "2\\*\\*53"),
        ("ppdm_uniform_bigint(age, id, 't', 'c', 1.5, 17, 90)", "retention"),
        ("ppdm_uniform_bigint(age, id, 't', 'c', NULL, 17, 90)", "parameter is NULL"),
        ("ppdm_uniform_bigint(age, NULL, 't', 'c', 0.3, 17, 90)", "NULL"),
        ("ppdm_uniform_double(wage, id, 't', 'c', 0.3, 0, 4.9, 0.2)", "step"),
        ("ppdm_uniform_double(wage, id, 't', 'c', 0.3, 0, 'inf'::DOUBLE, 0.1)", "finite"),
        ("ppdm_uniform_timestamp(seen, id, 't', 'c', 0.3, '2020-01-01', '2021-01-01', INTERVAL 1 MONTH)", "months"),
        ("ppdm_uniform_varchar(job, id, 't', 'c', 0.3, ['Sales', NULL])", "NULL"),
        ("ppdm_identity(NULL, 't')", "NULL"),
    ],
)
def test_errors_are_told_without_key_or_value(con, call, message):
    with pytest.raises(duckdb.Error, match=message) as caught:
        con.sql(f"SELECT {call} FROM people").fetchall()
    text = str(caught.value)
    assert "ppdm_" in text
    assert KEY.hex() not in text
    assert repr(KEY) not in text


def test_the_catalog_does_not_show_the_key(con):
    shown = str(con.sql("SELECT * FROM duckdb_functions() WHERE function_name LIKE 'ppdm%'").fetchall())
    assert "ppdm_uniform_bigint" in shown
    assert KEY.hex() not in shown
    assert repr(KEY) not in shown
