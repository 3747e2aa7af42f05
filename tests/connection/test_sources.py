"""Joins and unions keep the promise of their error bars: many releases of small tables, compared with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.connection.connection import Connection
from ppdm_sql.publishing.release import publish

KEYS = 8
GROUPS = 24
"""Every query is asked by groups, whose rows and coins differ: each gives so many independent answers."""

TABLES = {
    "folk": "SELECT range AS id, range % 24 AS part, 20 + range * 7 % 50 AS age, "
    "10 + (range * 13 + range // 50) % 40 AS hours, 't' || range % 5 AS team FROM range(7200)",
    "work": "SELECT range AS id, 1 + (range * 3 + range // 7) % 10 AS skill FROM range(7200) WHERE range % 5 > 0",
    "west": "SELECT 'w' || range % 3 AS place, 40 + range * 11 % 30 AS years, range AS id FROM range(6000)",
}
POLICIES = {
    "folk": {"age": (20, 69, 0.4), "hours": (10, 49, 0.6)},
    "work": {"skill": (1, 10, 0.5)},
    "west": {"years": (30, 80, 0.3)},
}
EXACT = """
CREATE TEMP TABLE teams AS SELECT 't' || range AS team, range % 2 AS half, range * 1.5 AS factor FROM range(5);
CREATE TEMP TABLE calls AS SELECT id, n, (id * 5 + n) % 9 AS cost
    FROM range(7300) AS t(id), range(8) AS c(n) WHERE n < id % 7;
"""


@dataclass(frozen=True)
class World:
    """The originals, and for each key the releases of all of them."""

    source: duckdb.DuckDBPyConnection
    releases: list[dict[str, Path]]

    def opened(self, paths: dict[str, Path]) -> Connection:
        """A connection that sees the releases of one key, and the exact tables."""
        con = ppdm_sql.connect()
        con.execute(EXACT)
        for name, path in paths.items():
            con.execute(f"ATTACH '{path}' AS {name} (READ_ONLY)")
        return con

    def scores(self, queries: list[tuple[str, str]], keys: int = KEYS) -> np.ndarray:
        """z of every group of every query on every release, shape (releases * groups, queries).

        A query is its aggregate and the rest, without the grouping.
        """
        asked = [f"SELECT part, {value}, {{}} FROM {rest} GROUP BY part ORDER BY part" for value, rest in queries]
        truths = [[row[1] for row in self.source.sql(query.format("0")).fetchall()] for query in asked]
        found = []
        for paths in self.releases[:keys]:
            with self.opened(paths) as con:
                for query, (value, _) in zip(asked, queries, strict=True):
                    rows = con.execute(query.format(f"ppdm_error({value})")).fetchall()
                    assert [row[0] for row in rows] == list(range(GROUPS))
                    found.append([row[1:] for row in rows])
        answers = np.array(found, dtype=float).reshape(keys, len(queries), GROUPS, 2)
        assert (answers[..., 1] > 0).all()
        z = (answers[..., 0] - np.array(truths, dtype=float)) / answers[..., 1]
        return np.swapaxes(z, 1, 2).reshape(keys * GROUPS, len(queries))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    with duckdb.connect() as source:
        source.execute(EXACT)
        for name, query in TABLES.items():
            source.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.{name} AS {query}")
        releases = []
        for number in range(KEYS):
            paths = {name: folder / f"{name}{number}.duckdb" for name in TABLES}
            for name, path in paths.items():
                columns = {
                    column: {"mechanism": "uniform", "retain": p, "domain": {"min": low, "max": high}}
                    for column, (low, high, p) in POLICIES[name].items()
                }
                policy = {"table": name, "identity": ["id"], "columns": columns}
                publish(source.table(f"{name}.{name}"), policy, to=path, key=write_key(folder, number))
            releases.append(paths)
        yield World(source, releases)


def assert_calibrated(z: np.ndarray) -> None:
    means = z.mean(axis=1)  # queries on one group share its coins, groups and releases are independent
    assert abs(means.mean()) < 3.5 * means.std(ddof=1) / np.sqrt(len(means))
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(len(z)) < 4
    squares = (z**2).mean(axis=1)
    assert abs(squares.mean() - 1) < 3.5 * squares.std(ddof=1) / np.sqrt(len(squares))
    assert 0.85 < squares.mean() < 1.15
    assert 0.93 < (np.abs(z) < 1.959964).mean() < 0.97


STAR = "folk.folk JOIN teams USING (team)"
ONCE = [
    ("count(*)", f"{STAR} WHERE half = 1 AND age > 40"),
    ("sum(factor * age)", f"{STAR} WHERE hours < 30"),
    ("avg(age)", f"{STAR} WHERE factor > 1"),
    ("count(*)", f"{STAR} WHERE age > 50 OR half = 0 AND hours > 20"),
    ("sum(CASE WHEN half = 1 THEN hours ELSE age END)", STAR),
    ("count(*)", "folk.folk f LEFT JOIN teams t ON f.team = t.team AND t.half = 1 WHERE age < 35 AND factor IS NULL"),
    ("count(*)", "folk.folk SEMI JOIN calls USING (id) WHERE age > 33"),
]
CALLS = "folk.folk JOIN calls USING (id)"
REPEATED = [
    ("count(*)", f"{CALLS} WHERE age > 40"),
    ("sum(cost)", f"{CALLS} WHERE age > 40 AND hours < 30"),
    ("avg(age)", CALLS),
    ("sum(age * cost)", f"{CALLS} WHERE n < 3"),
    ("count(*)", f"{CALLS} WHERE age > 40 OR cost > 6"),
    ("count(*) FILTER (WHERE hours > 20)", f"{CALLS} WHERE team <> 't1'"),
    ("sum(cost) / count(*)", f"{CALLS} JOIN teams USING (team) WHERE age > 40 AND half = 0"),
    ("avg(CASE WHEN cost > 3 THEN hours ELSE age END)", CALLS),
    ("count(*)", "folk.folk, range(5) AS r(i) WHERE age < 40"),
]
WORK = "folk.folk JOIN work.work USING (id)"
TWO = [
    ("count(*)", f"{WORK} WHERE age > 40 AND skill > 5"),
    ("sum(age * skill)", WORK),
    ("avg(skill)", f"{WORK} WHERE hours > 30"),
    ("count(*)", f"{WORK} WHERE age > 50 OR skill < 3"),
    ("corr(age, skill)", f"{WORK} WHERE team <> 't1'"),
    ("sum(skill * factor)", f"{WORK} JOIN teams USING (team) WHERE age BETWEEN 30 AND 55"),
]
BOTH = "(SELECT part, team, age, hours, id FROM folk.folk "
BOTH += "UNION ALL SELECT id % 24, place, years, 20, id FROM west.west) AS u"
THREE = "(SELECT part, age FROM folk.folk UNION ALL SELECT id % 24, years FROM west.west "
THREE += "UNION ALL SELECT id % 24, 20 + n FROM calls) AS u"
UNIONS = [
    ("count(*)", f"{BOTH} WHERE age > 45"),
    ("sum(age)", f"{BOTH} WHERE team <> 't1'"),
    ("avg(age)", f"{BOTH} WHERE hours < 30"),
    ("count(*)", f"{BOTH} WHERE age < 30 OR hours > 40"),
    ("stddev(age)", THREE),
    ("count(*)", f"{THREE} WHERE age BETWEEN 40 AND 60"),
    ("sum(cost)", f"{BOTH} JOIN calls USING (id) WHERE age > 50"),
]


def test_joins_that_repeat_no_row(world):
    assert_calibrated(world.scores(ONCE))


def test_joins_that_repeat_rows(world):
    assert_calibrated(world.scores(REPEATED))


def test_joins_of_two_releases(world):
    assert_calibrated(world.scores(TWO))


def test_unions(world):
    assert_calibrated(world.scores(UNIONS))


def test_groups_of_perturbed_columns_of_unions(world):
    """Every group of the two domains, by inversion and by Bayes."""
    sql = f"SELECT age // 10 AS k, count(*) AS n{{}} FROM {BOTH} GROUP BY k ORDER BY k"
    truths = dict(world.source.sql(sql.format("")).fetchall())
    found: dict[str, list[tuple[float, float, float]]] = {"inversion": [], "bayes": []}
    for paths in world.releases:
        with world.opened(paths) as con:
            for method, scores in found.items():
                con.execute(f"SET ppdm_method = '{method}'")
                rows = con.execute(sql.format(", ppdm_error(count(*))")).fetchall()
                assert [row[0] for row in rows] == list(range(2, 9))  # 20 to 69, and 30 to 80
                scores += [(truths.get(k, 0), n, error) for k, n, error in rows]
    truth, estimate, error = np.array(found["inversion"]).T
    assert 0.6 < (((estimate - truth) / error) ** 2).mean() < 1.5
    truth, estimate, error = np.array(found["bayes"]).T
    assert (estimate >= 0).all()
    assert (np.abs(estimate - truth) <= 1.96 * error + 1).mean() > 0.85


def test_errors_of_repeated_rows_would_be_too_small_without_looking(world, monkeypatch):
    """The sum over the rows of the join, as if each had coins of its own."""
    monkeypatch.setattr("ppdm_sql.query.plan.joined.occurs_once", lambda *_: True)
    z = world.scores(REPEATED[:4], keys=2)
    assert (z**2).mean() > 2
