"""What may be said of expressions over estimates: intervals that hold, and refusals to count groups of a domain."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import Unsupported
from ppdm_sql.publishing.release import publish

POLICY = """
table = "people"
identity = ["id"]

[columns.age]
mechanism = "uniform"
domain = {{ min = 0, max = 19 }}
retain = {p}
"""
GROUPS = "(SELECT age, count(*) AS n FROM people WHERE id < 5 GROUP BY age)"
KEYS = 300
ROWS = 60


def release(folder: Path, p: float, rows: int = 1_000, copies: int = 1) -> Path:
    """People; `copies` of them, told apart by `copy`, are as good as releases under as many keys."""
    (folder / "policy.toml").write_text(POLICY.format(p=p))
    number = np.arange(rows * copies)
    inside = number % rows
    table = pa.table({"id": number, "copy": number // rows, "age": inside % 20, "k": inside % 4})
    pq.write_table(table, folder / "people.parquet")
    path = folder / "release.duckdb"
    publish(folder / "people.parquet", folder / "policy.toml", to=path, key=write_key(folder, 5))
    return path


@pytest.fixture(scope="module")
def con(tmp_path_factory) -> Connection:
    with ppdm_sql.connect(release(tmp_path_factory.mktemp("one"), 0.4)) as con:
        yield con


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Connection:
    with ppdm_sql.connect(release(tmp_path_factory.mktemp("many"), 0.4, ROWS, KEYS)) as con:
        yield con


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM (SELECT age FROM people WHERE id < 5 GROUP BY age)",
        f"WITH g AS {GROUPS} SELECT count(*) FROM g",
        f"WITH g AS {GROUPS}, h AS (SELECT * FROM g) SELECT count(age), sum(n) FROM h",
        f"SELECT count(DISTINCT age) FROM {GROUPS}",
        f"SELECT sum(1) FROM {GROUPS}",
        f"SELECT sum(CASE WHEN n > 1 THEN 1 END) FROM {GROUPS}",
        f"SELECT avg(n) FROM {GROUPS}",
        f"SELECT min(age) FROM {GROUPS}",
        f"SELECT max(age) FROM {GROUPS}",
        f"SELECT len(list(age)) FROM {GROUPS}",
        f"SELECT count(*) OVER () FROM {GROUPS}",
        "SELECT age, ntile(3) OVER (ORDER BY age) FROM people WHERE id < 5 GROUP BY age",
        f"SELECT EXISTS (SELECT * FROM {GROUPS})",
        f"SELECT 3 IN (SELECT age FROM {GROUPS})",
        f"SELECT count(*) FROM (SELECT DISTINCT age FROM {GROUPS})",
        f"SELECT count(*) FROM (SELECT age // 5 AS a, sum(n) FROM {GROUPS} GROUP BY 1)",
        f"SELECT count(*) FROM {GROUPS} AS a JOIN {GROUPS} AS b USING (age)",
        f"SELECT count(*) FROM (SELECT age FROM {GROUPS} UNION ALL SELECT 1)",
        "SELECT count(*) FROM (SELECT age FROM people GROUP BY age HAVING count(*) > 1)",
        "SELECT (SELECT count(*) FROM (SELECT age FROM people GROUP BY age))",
        "SELECT count(*) FROM (SELECT k, age FROM people GROUP BY ROLLUP (k, age))",
    ],
)
def test_groups_of_a_domain_are_not_counted(con, sql):
    with pytest.raises(Unsupported) as caught:
        con.sql(sql).fetchall()
    text = str(caught.value)
    assert "line 1, column" in text and "those of age" in text and "Sum what the groups count" in text
    assert "ppdm_" not in text


def test_what_does_not_depend_on_the_number_of_groups_is_answered(con):
    assert con.sql(f"SELECT sum(n), sum(greatest(n, 0)) FROM {GROUPS}").fetchall()[0][0] == pytest.approx(5)
    sums = f"SELECT sum(s) FROM (SELECT age // 5 AS a, sum(n) AS s FROM {GROUPS} GROUP BY 1)"
    assert con.sql(sums).fetchall()[0][0] == pytest.approx(5)
    assert con.sql(f"SELECT arg_max(age, n) FROM {GROUPS}").fetchall()[0][0] in range(20)
    ranked = "SELECT age, rank() OVER (ORDER BY count(*)), sum(count(*)) OVER () FROM people GROUP BY age"
    assert len(con.sql(ranked).fetchall()) == 20


def test_with_everything_kept_groups_are_counted(tmp_path):
    with ppdm_sql.connect(release(tmp_path, 1.0)) as exact:
        assert exact.sql(f"SELECT count(*), min(age), avg(n) FROM {GROUPS}").fetchall()[0] == (5, 0, 1.0)


@pytest.mark.parametrize(
    "mean", ["avg(age)", "var_pop(age)", "stddev_samp(age)", "sum(age) / count(*)", "avg(age) + 1"]
)
def test_nothing_is_known_of_an_average_over_almost_nobody(con, mean):
    bounds = (
        f"SELECT {mean}, ppdm_error({mean}), ppdm_low({mean}), ppdm_high({mean}) FROM people WHERE id < 3 AND age > 18"
    )
    _, error, low, high = con.sql(bounds).fetchall()[0]
    assert (error, low, high) == (np.inf, -np.inf, np.inf)


def test_an_average_over_many_is_as_sure_as_before(con):
    low, high = con.sql("SELECT ppdm_low(avg(age)), ppdm_high(avg(age)) FROM people WHERE age > 9").fetchall()[0]
    assert 0 < high - low < 2


def test_averages_over_few_hold_in_their_intervals(many):
    asked = "SELECT ppdm_low(avg(age)), ppdm_high(avg(age)) FROM people WHERE age > 15 GROUP BY copy"
    low, high = np.array([row for row in many.sql(asked).fetchall() if None not in row]).T
    assert ((low <= 17.5) & (high >= 17.5)).mean() > 0.93


@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("greatest(count(*), 0)", 3),
        ("greatest(count(*), 4)", 4),
        ("least(count(*), 3)", 3),
        ("least(count(*), 2.5)", 2.5),
        ("greatest(count(*), count(*) FILTER (WHERE k = 3))", 3),
        ("abs(count(*) - 3)", 0),
        ("abs(count(*) - 4)", 1),
        ("round(count(*), -1)", 0),
        ("round(count(*))", 3),
        ("floor(count(*) / 2)", 1),
        ("coalesce(greatest(count(*), 0), 7)", 3),
        ("10 - 2 * greatest(count(*), 0)", 4),
        ("CASE WHEN count(*) > 2 THEN count(*) ELSE 0 END", 3),
        ("CASE WHEN count(*) < 0 THEN 0 ELSE count(*) END", 3),
        ("CASE copy % 2 WHEN 0 THEN count(*) ELSE 2 * count(*) / 2 END", 3),
        ("sqrt(greatest(count(*), 0))", 3**0.5),
        ("if(count(*) > 0, count(*), 0)", 3),
    ],
)
def test_intervals_of_expressions_with_a_kink_hold(many, expression, truth):
    bounds = f"ppdm_low({expression}), ppdm_high({expression})"
    asked = f"SELECT {bounds}, {expression} FROM people WHERE age = 19 GROUP BY copy"
    low, high, value = np.array(many.sql(asked).fetchall(), dtype=float).T
    assert len(low) == KEYS
    assert ((low <= truth) & (truth <= high)).mean() > 0.92
    assert ((low <= value) & (value <= high)).all()
    assert (low < high).mean() > 0.2  # where it is flat over the whole interval, it may be a point


def test_an_expression_whose_error_is_not_known_has_no_interval(con):
    ratio = "greatest(count(*), 0) / least(count(*), 3)"
    with pytest.raises(Unsupported, match="error of this expression is not known"):
        con.sql(f"SELECT ppdm_low({ratio}) FROM people WHERE age > 3")
    con.execute("SET ppdm_errors = 'columns'")
    assert con.sql(f"SELECT {ratio} AS r FROM people WHERE age > 3").columns == ["r"]
    con.execute("RESET ppdm_errors")


KEYS_WITH_KINKS = (
    "floor(age / 5)",
    "abs(age - 3)",
    "CASE WHEN age > 9 THEN 'a' END",
    "coalesce(age, 3)",
    "round(k / 2)",
)


@pytest.mark.parametrize("key", KEYS_WITH_KINKS)
def test_groups_by_what_has_a_kink_are_certain(con, key):
    cursor = con.cursor()
    cursor.execute("SET ppdm_errors = 'columns'")
    sql = f"SELECT {key} AS g, count(*) AS n, greatest(count(*), 0) AS m FROM people WHERE age < 19 GROUP BY {key}"
    answer = cursor.execute(sql)
    assert [column[0] for column in answer.description] == ["g", "n", "n_low", "n_high", "m", "m_low", "m_high"]
    assert all(row[2] < row[1] < row[3] for row in answer.fetchall())


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("sqrt(round(count(*)))", 0.0, math.sqrt),
        ("ln(round(count(*)))", -math.inf, math.log),
        ("round(count(*))::UTINYINT", -math.inf, float),
        ("round(count(*))::DECIMAL(3, 0)", float, float),
        ("CASE WHEN count(*) > 1000 THEN NULL ELSE round(count(*)) END", float, float),
        ("CASE WHEN count(*) < 1000 THEN round(count(*)) END", float, float),
    ],
)
def test_ends_where_the_expression_has_no_value(con, expression, low, high):
    """An interval of a count of few, which reaches below zero: no end is NaN, NULL or on the other side."""
    cursor = con.cursor()
    cursor.execute("SET ppdm_errors = 'columns'")
    where = "FROM people WHERE age = 3 AND k = 3 AND id < 100"
    plain = cursor.execute(f"SELECT round(count(*)) AS n {where}").fetchone()
    value, *ends = cursor.execute(f"SELECT {expression} AS e {where}").fetchone()
    assert plain[1] < 0 < plain[0] < plain[2]
    for end, expected, by_itself in zip(ends, (low, high), plain[1:], strict=True):
        assert end == pytest.approx(expected(by_itself) if callable(expected) else expected)
    assert ends[0] <= float(value) <= ends[1]
