"""Queries on baskets: right on average and with honest errors over many releases, from lists and from seeds."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pytest
from scipy.stats import chi2, t

import ppdm_sql
from ppdm_sql.errors import Unsupported

RELEASES = 20
CONDITIONS = (
    "list_contains(items, 'milk')",
    "'it''s' = ANY(items)",
    "'ünï' IN items",
    "ppdm_has(items, 'tea')",
    "list_has_all(items, ['milk', 'bread'])",
    "items @> ['bread', 'milk', 'eggs']",
    "list_has_any(items, ['beer', 'tea'])",
    "array_contains(items, 'milk') AND array_has(items, 'beer') AND till = 'south'",
    "list_contains(items, 'milk') AND NOT list_contains(items, 'bread')",
    "NOT list_has_all(items, ['milk', 'bread'])",
    "list_contains(items, 'milk') OR till = 'north'",
    "'milk' <> ALL(items)",
    "NOT 'milk' = ANY(items) AND till = 'north'",
    "list_contains(items, 'eggs') AND age >= 24",
    "(list_contains(items, 'milk') OR list_contains(items, 'beer')) AND price > 20",
)
SUMS = (
    "sum(price) FILTER (WHERE list_contains(items, 'milk'))",
    "avg(price) FILTER (WHERE list_has_any(items, ['milk', 'beer']))",
    "count_if(list_has_all(items, ['milk', 'bread'])) / count_if(list_contains(items, 'milk'))",
    "sum(CASE WHEN list_contains(items, 'bread') THEN price ELSE 1 END)",
    "sum(age) FILTER (WHERE list_contains(items, 'milk'))",
)
BY_ITEM = (
    "SELECT item, count(*) AS n FROM shop, unnest(items) AS t(item) GROUP BY item ORDER BY item",
    "SELECT unnest(items) AS item, sum(price) AS n FROM shop WHERE till = 'north' GROUP BY item ORDER BY item",
    "SELECT t.item, count(*) AS n FROM shop s, LATERAL unnest(s.items) t(item) WHERE age < 23 GROUP BY 1 ORDER BY 1",
)


def _asked(expressions):
    return "SELECT " + ", ".join(f"{e}, ppdm_error({e})" for e in expressions) + " FROM shop"


def plain(sql):
    return re.sub(r"ppdm_error\((.*?)\)(?=, (?:count|sum|avg)| FROM)", "0", sql.replace("ppdm_has", "list_has"))


@pytest.fixture(scope="module", params=["lists", "seeds"])
def answers(request, release, original):
    """Truths (queries,), estimates and errors (releases, queries)."""
    counts = [f"count(*) FILTER (WHERE {condition})" for condition in CONDITIONS]
    expressions = [*counts, *SUMS]
    truths = [original.sql(f"SELECT {plain(e)} FROM shop").fetchall()[0][0] for e in expressions]
    for query in BY_ITEM:
        truths += [row[1] for row in original.sql(query).fetchall()]
    with ppdm_sql.connect(release(request.param, 0)) as con:
        statement = con.compile(_asked(expressions))  # which is what runs, and takes its time to be made
    found = []
    for number in range(RELEASES):
        with duckdb.connect() as con:
            con.execute(f"CREATE VIEW shop AS FROM '{release(request.param, number)}'")
            rows = np.array(con.execute(statement).fetchone(), dtype=float).reshape(-1, 2)
        with ppdm_sql.connect(release(request.param, number)) as con:
            for query in BY_ITEM:
                asked = re.sub(r"(\w+\([*\w]+\)) AS n", r"\1 AS n, ppdm_error(\1)", query)
                rows = np.vstack([rows, [row[1:] for row in con.execute(asked).fetchall()]])
            found.append(rows)
    estimates, errors = np.moveaxis(np.array(found), 2, 0)
    return np.array(truths, dtype=float), estimates, errors


def test_right_on_average(answers):
    truths, estimates, _ = answers
    spread = estimates.std(axis=0) / np.sqrt(len(estimates))
    z = (estimates.mean(axis=0) - truths) / spread
    assert np.abs(z).max() < t.ppf(1 - 1e-3 / (2 * len(z)), len(estimates) - 1), np.round(z, 1)


def test_errors_are_those_of_the_estimates(answers):
    truths, estimates, errors = answers
    z = (estimates - truths) / errors
    squares = (z**2).mean(axis=0)
    low, high = (chi2.ppf(q, len(z)) / len(z) for q in (0.0002, 0.9998))
    assert ((squares > low) & (squares < high)).all(), np.round(squares, 2)
    assert 0.93 < (np.abs(z) < 1.96).mean() < 0.97


def test_groups_of_exact_columns(release, original):
    query = "SELECT till, count(*) AS n FROM shop WHERE list_contains(items, 'milk') GROUP BY till ORDER BY till"
    truth = original.sql(query).fetchall()
    with ppdm_sql.connect(release()) as con:
        found = con.execute(query.replace("AS n", "AS n, ppdm_error(count(*))")).fetchall()
        assert [row[0] for row in found] == [row[0] for row in truth]
        assert all(abs(a[1] - b[1]) < 4 * a[2] for a, b in zip(found, truth, strict=True))
        both = "SELECT till, item, count(*) FROM shop, unnest(items) t(item) GROUP BY ALL ORDER BY ALL"
        assert len(con.execute(both).fetchall()) == 3 * 7
        few = "SELECT unnest(items) AS i, count(*) FROM shop GROUP BY 1 HAVING count(*) > 300 ORDER BY 2 DESC LIMIT 2"
        first, second = con.execute(few).fetchall()
        assert {first[0], second[0]} == {"milk", "bread"} and first[1] > second[1] > 300


def test_columns_of_items_are_called_as_duckdb_calls_them(release, original):
    with ppdm_sql.connect(release()) as con:
        for sql in (
            "SELECT item, count(*) FROM shop, unnest(items) AS t(item) GROUP BY item",
            "SELECT t.item, count(*) AS n FROM shop, unnest(items) AS t(item) GROUP BY t.item",
            "SELECT unnest(items), count(*) AS n FROM shop GROUP BY 1",
        ):
            assert con.sql(sql).columns == original.sql(sql).columns


def test_one_rho_for_all_sizes(release, original):
    """Empty baskets add nothing, even where every other size has the same rho."""
    query = "SELECT count(*) FROM shop WHERE list_contains(items, 'milk')"
    truth = original.sql(query).fetchall()[0][0]
    z = []
    for number in range(12):
        with ppdm_sql.connect(release("one rho", number)) as con:
            estimate, error = con.execute(query.replace("*)", "*), ppdm_error(count(*))", 1)).fetchone()
            z.append((estimate - truth) / error)
    assert abs(np.mean(z)) < 4 / np.sqrt(12)


def test_null_baskets_are_known(release, original):
    with ppdm_sql.connect(release()) as con:
        for query in (
            "SELECT count(*) FROM shop WHERE items IS NULL",
            "SELECT count(items) FROM shop",
            "SELECT count(*) FROM shop WHERE items IS NOT NULL AND till = 'north'",
        ):
            assert con.execute(query).fetchone()[0] == pytest.approx(original.sql(query).fetchall()[0][0])
        held, not_held = (
            con.execute(f"SELECT count(*) FROM shop WHERE {negated} list_contains(items, 'milk')").fetchone()[0]
            for negated in ("", "NOT")
        )
        assert held + not_held == pytest.approx(con.execute("SELECT count(items) FROM shop").fetchone()[0])


def test_something_that_is_no_item_is_in_no_basket(release):
    with ppdm_sql.connect(release()) as con:
        assert con.execute("SELECT count(*) FROM shop WHERE list_contains(items, 'mlik')").fetchone() == (0.0,)
        query = "SELECT count(*) FROM shop WHERE NOT list_contains(items, 'mlik')"
        assert con.execute(query).fetchone()[0] == pytest.approx(
            con.execute("SELECT count(items) FROM shop").fetchone()[0]
        )


def test_parameters_views_and_settings(release):
    with ppdm_sql.connect(release()) as con:
        query = "SELECT count(*) AS n FROM shop WHERE list_contains(items, ?)"
        named = con.execute(query, ["milk"]).fetchone()
        assert named == con.execute("SELECT count(*) FROM shop WHERE list_contains(items, 'milk')").fetchone()
        con.execute("SET ppdm_errors = 'columns'")
        estimate, low, high = con.execute(query, ["milk"]).fetchone()
        assert low < estimate < high
        con.execute("SET ppdm_method = 'bayes'")
        with pytest.raises(Unsupported, match="reconstructed by inversion only"):
            con.execute(query, ["milk"])
