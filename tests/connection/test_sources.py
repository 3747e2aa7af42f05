"""Joins and unions keep the promise of their error bars: many releases of small tables, compared with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.publishing.release import publish

KEYS = 36
TABLES = {
    "folk": "SELECT range AS id, 20 + range * 7 % 50 AS age, 10 + (range * 13 + range // 50) % 40 AS hours, "
    "'t' || range % 4 AS team FROM range(1200)",
    "work": "SELECT range AS id, 1 + (range * 3 + range // 7) % 10 AS skill FROM range(0, 1200, 2)",
    "west": "SELECT 'w' || range % 3 AS place, 40 + range * 11 % 30 AS years, range AS id FROM range(900)",
}
POLICIES = {
    "folk": {"age": (20, 69, 0.4), "hours": (10, 49, 0.6)},
    "work": {"skill": (1, 10, 0.5)},
    "west": {"years": (30, 80, 0.3)},
}
EXACT = """
CREATE TEMP TABLE teams AS SELECT 't' || range AS team, range % 2 AS half, range * 1.5 AS factor FROM range(4);
CREATE TEMP TABLE calls AS SELECT id, n, (id * 5 + n) % 9 AS cost
    FROM range(1300) AS t(id), range(8) AS c(n) WHERE n < id % 7;
"""


@dataclass(frozen=True)
class World:
    """The originals, and for each key the releases of all of them."""

    source: duckdb.DuckDBPyConnection
    releases: list[dict[str, Path]]

    def scores(self, queries: list[tuple[str, str]], keys: int = KEYS) -> np.ndarray:
        """z of every query on every release, shape (releases, queries); a query is its aggregate and the rest."""
        asked = [f"SELECT {value}, ppdm_error({value}) FROM {rest}" for value, rest in queries]
        truths = [self.source.sql(f"SELECT {value} FROM {rest}").fetchall()[0][0] for value, rest in queries]
        found = []
        with ppdm_sql.connect() as con:
            con.execute(EXACT)
            for paths in self.releases[:keys]:
                for name, path in paths.items():
                    con._con.execute(f"ATTACH OR REPLACE '{path}' AS {name} (READ_ONLY)")
                con.begin().commit()  # the catalog is read again
                found.append([con.execute(query).fetchone() for query in asked])
        estimates, errors = np.moveaxis(np.array(found, dtype=float), 2, 0)
        assert (errors > 0).all()
        return (estimates - np.array(truths, dtype=float)) / errors


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
    means = z.mean(axis=1)  # queries on one release share its coins, releases are independent
    assert abs(means.mean()) < 3.5 * means.std(ddof=1) / np.sqrt(len(means))
    assert np.abs(z.mean(axis=0)).max() * np.sqrt(len(z)) < 4
    assert 0.8 < (z**2).mean() < 1.2
    assert 0.92 < (np.abs(z) < 1.959964).mean() < 0.98


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
    ("count(*) FILTER (WHERE hours > 20)", f"{CALLS} WHERE team = 't1'"),
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


def test_joins_that_repeat_no_row(world):
    assert_calibrated(world.scores(ONCE))


def test_joins_that_repeat_rows(world):
    assert_calibrated(world.scores(REPEATED))


def test_joins_of_two_releases(world):
    assert_calibrated(world.scores(TWO))


def test_errors_of_repeated_rows_would_be_too_small_without_looking(world, monkeypatch):
    """The sum over the rows of the join, as if each had coins of its own."""
    monkeypatch.setattr("ppdm_sql.joined.occurs_once", lambda *_: True)
    z = world.scores(REPEATED[:4], keys=20)
    assert (z**2).mean() > 2
