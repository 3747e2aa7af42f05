"""GROUP BY an exact column of very many values: another plan, and room for the groups, with the same answers."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.publishing.release import publish
from ppdm_sql.query.execute import answer

GROUPS = 30_000
ROWS = 3 * GROUPS
POLICY = """
table = "visits"
[columns.age]
mechanism = "uniform"
domain = { min = 0, max = 99 }
retain = %s
[columns.hours]
mechanism = "uniform"
domain = { min = 1, max = 50 }
retain = %s
"""
SETTING = "SELECT current_setting('perfect_ht_threshold')"
COUNTED = "SELECT house, count(*) AS n FROM visits WHERE age < 40 AND hours > 10 GROUP BY house"


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(11)
    return pa.table(
        {
            "house": rng.integers(0, GROUPS, ROWS),
            "name": [f"h{number}" for number in rng.integers(0, GROUPS, ROWS)],
            "part": rng.integers(0, 7, ROWS),
            "age": rng.integers(0, 60, ROWS),
            "hours": rng.integers(1, 51, ROWS),
        }
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory, visits):
    folder = tmp_path_factory.mktemp("visits")
    key = write_key(folder, 3)
    for retain in (0.6, 1):
        publish(visits, POLICY % (retain, retain), to=folder / f"{retain}.duckdb", key=key)
    return folder


@pytest.fixture
def con(releases):
    with ppdm_sql.connect(releases / "0.6.duckdb", read_only=True) as con:
        yield con


def numbers(con, sql):
    """The estimates of a query as an array."""
    table = con.sql(sql).to_arrow_table()
    return np.array([table.column(f"e{i}").to_numpy() for i in range(2)], dtype=float)


@pytest.mark.parametrize("key", ["house", "name", "house % 25000, part"])
@pytest.mark.parametrize("items", ["count(*) AS e0, ppdm_error(count(*)) AS e1", "sum(hours) AS e0, avg(age) AS e1"])
def test_the_plan_for_many_groups_gives_the_same_numbers(con, monkeypatch, key, items):
    sql = f"SELECT {key}, {items} FROM visits WHERE age < 40 AND hours > 10 GROUP BY {key} ORDER BY {key}"
    found = numbers(con, sql)
    monkeypatch.setattr(answer, "MANY_GROUPS", 10**9)
    np.testing.assert_allclose(found, numbers(con, sql), rtol=1e-4, atol=1e-4)


def test_one_sum_of_weights_stands_for_four_counts(con, monkeypatch):
    assert "COUNT_IF" not in con.explain(COUNTED)
    assert "COUNT_IF" in con.explain(COUNTED.replace("house", "part"))
    monkeypatch.setattr(answer, "MANY_GROUPS", 10**9)
    assert "COUNT_IF" in con.explain(COUNTED)


def test_counts_are_kept_where_there_would_be_more_sums(con):
    items = "count_if(age < 40), count_if(hours > 10), count_if(age < 40 OR hours > 10), ppdm_error(count_if(age < 40))"
    assert "COUNT_IF" in con.explain(f"SELECT house, {items} FROM visits GROUP BY house")


def test_with_retention_one_the_groups_are_the_true_ones(releases, visits):
    with ppdm_sql.connect(releases / "1.duckdb", read_only=True) as con, duckdb.connect() as plain:
        plain.register("visits", visits)
        counts = {house: n for house, n in con.sql(COUNTED).fetchall() if n}
        assert counts == dict(plain.sql(COUNTED).fetchall())


def test_the_setting_is_given_back(con):
    before = con.execute(SETTING).fetchall()
    con.execute(COUNTED)
    assert len(con.fetchall()) > 0.8 * GROUPS
    assert con.execute(SETTING).fetchall() == before
    assert len(con.sql(COUNTED).fetchall()) > 0.8 * GROUPS
    assert con.sql(SETTING).fetchall() == before
    con.execute("SET perfect_ht_threshold = 5")
    con.execute(COUNTED)
    assert con.sql("SELECT 1").fetchall() == [(1,)] if con.fetchall() else False
    assert con.sql(SETTING).fetchall() == [(5,)]


def test_a_result_is_whole_though_others_are_asked_for(con):
    relation = con.sql(COUNTED)
    other = con.sql("SELECT part, count(*) FROM visits WHERE age < 40 GROUP BY part")
    assert len(other.fetchall()) == 7
    assert relation.fetchall() == relation.fetchall()


def test_a_failed_transaction_can_still_be_rolled_back(con):
    con.execute("BEGIN")
    con.execute(COUNTED)
    with pytest.raises(duckdb.Error):
        con.execute("SELECT 1 / 'x'")
    con.execute("ROLLBACK")
    assert con.execute(SETTING).fetchall() == [(12,)]
