"""Error bars keep their promise: many random queries on many releases of one table, compared with the truth."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from compiled import ask_each
from keys import write_key
from people import people, policy
from random_queries import random_aggregate, random_count

import ppdm_sql
from ppdm_sql.channels.axis import Axis
from ppdm_sql.mechanisms.retained import observe as planning
from ppdm_sql.publishing.release import publish

RELEASES = 20
QUERIES = 200
ROWS = 5_000


@dataclass(frozen=True)
class Answers:
    """Truths (queries,), estimates and standard errors (releases, queries)."""

    truths: np.ndarray
    estimates: np.ndarray
    errors: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """z of every query whose answer is uncertain, shape (releases, queries)."""
        uncertain = (self.errors > 0).all(axis=0)
        assert uncertain.mean() > 0.85
        return (self.estimates[:, uncertain] - self.truths[uncertain]) / self.errors[:, uncertain]


@dataclass(frozen=True)
class World:
    """A table, its releases under different keys, and questions."""

    source: duckdb.DuckDBPyConnection
    releases: list[Path]
    queries: list[str]

    def answers(self, method: str = "auto") -> Answers:
        truths = np.array([self.source.execute(query).fetchall()[0][0] for query in self.queries], dtype=float)
        asked = [re.sub(r"SELECT (.*?) FROM people", r"SELECT \1, ppdm_error(\1) FROM people", q) for q in self.queries]
        found = ask_each(self.releases, asked, method)
        estimates, errors = np.moveaxis(np.array(found, dtype=float), 2, 0)
        return Answers(truths, estimates, errors)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    rng = np.random.default_rng(20261118)
    queries = [random_count(rng) for _ in range(QUERIES)]
    with duckdb.connect() as source:
        source.register("generated", people(ROWS, seed=99))
        source.execute(
            "CREATE TABLE people AS SELECT * REPLACE (grade::ENUM('low', 'middle', 'high') AS grade) FROM generated"
        )
        releases = [folder / f"{number}.duckdb" for number in range(RELEASES)]
        for number, path in enumerate(releases):
            publish(source.table("people"), policy(0.5), to=path, key=write_key(folder, number))
        yield World(source, releases, queries)


@pytest.fixture(scope="module")
def answers(world) -> Answers:
    return world.answers()


def bias(z: np.ndarray) -> float:
    """The mean of z in its own standard errors; queries on one release share its coins, releases are independent."""
    means = z.mean(axis=1)
    return float(abs(means.mean()) / (means.std(ddof=1) / np.sqrt(len(means))))


def off(answers: Answers) -> np.ndarray:
    """How far the mean estimate of each query is from the truth, in its own standard errors, Student's t each.

    By how estimates scatter, not by the errors that they come with: of a few rows, estimate and error rise together, so
    that the mean of z is no measure of bias.
    """
    uncertain = (answers.errors > 0).all(axis=0)
    misses = answers.estimates[:, uncertain] - answers.truths[uncertain]
    return np.asarray(misses.mean(axis=0) / (misses.std(axis=0, ddof=1) / np.sqrt(len(misses))))


def spread(z: np.ndarray) -> float:
    return float((z**2).mean())


def test_certain_answers_are_the_truth(answers):
    certain = answers.errors == 0
    truths = np.broadcast_to(answers.truths, certain.shape)
    np.testing.assert_allclose(answers.estimates[certain], truths[certain], atol=1e-6)


def test_estimates_are_unbiased(answers):
    assert bias(answers.scores) < 3.5
    assert np.abs(off(answers)).max() < 5.0


def test_errors_are_as_large_as_they_say(answers):
    assert 0.92 < spread(answers.scores) < 1.08


def test_intervals_cover_as_often_as_they_promise(answers):
    z = np.abs(answers.scores)
    assert 0.93 < (z < 1.959964).mean() < 0.97
    assert 0.47 < (z < 0.674490).mean() < 0.53


@pytest.fixture(scope="module")
def numbers(world) -> Answers:
    rng = np.random.default_rng(5)
    return replace(world, queries=sorted({random_aggregate(rng) for _ in range(60)})).answers()


def test_sums_means_and_spreads_are_unbiased(numbers):
    assert bias(numbers.scores) < 3.5
    assert np.abs(off(numbers)).max() < 5.0


def test_errors_of_sums_means_and_spreads_are_as_large_as_they_say(numbers):
    assert 0.88 < spread(numbers.scores) < 1.12
    assert 0.93 < (np.abs(numbers.scores) < 1.959964).mean() < 0.97


SPANNING = [
    "SELECT count(*) FROM people WHERE age < hours",
    "SELECT count(*) FROM people WHERE age > 30 AND age < hours AND married",
    'SELECT count(*) FROM people WHERE "Order" * 10 + 40 > age',
    "SELECT count(*) FROM people WHERE education * 4 < hours OR sex = 'F'",
    "SELECT count(*) FROM people WHERE length(occupation) > education",
    "SELECT sum(greatest(age, hours)) FROM people WHERE sex = 'F'",
    "SELECT avg(age % hours) FROM people",
    "SELECT sum(CASE WHEN age > hours THEN age - hours ELSE 0 END) FROM people",
    "SELECT sum(age * hours) / sum(age) FROM people WHERE age < hours",
    "SELECT avg(weight) FROM people WHERE hours > age - 5",
]


def test_answers_that_span_two_columns_are_unbiased_and_their_errors_right(world):
    z = replace(world, queries=SPANNING).answers().scores
    assert bias(z) < 3.5
    assert np.abs(z.mean(axis=0) * np.sqrt(RELEASES)).max() < 4.0
    assert 0.8 < spread(z) < 1.2
    assert 0.92 < (np.abs(z) < 1.959964).mean() < 0.98


def test_bayes_answers_that_span_two_columns_are_covered(world):
    few = replace(world, queries=SPANNING[4:5], releases=world.releases[:8])
    answers = few.answers("bayes")
    assert (np.abs(answers.estimates - answers.truths) < 2.5 * answers.errors).mean() >= 7 / 8


QUANTILES = [
    ("median(wage)", "TRUE"),
    ("quantile_disc(wage, 0.9)", "hours > 35"),
    ("quantile_cont(wage, 0.25)", "sex = 'F' AND age > 30"),
    ("median(wage)", "wage > 120 AND (age > 40 OR married)"),
    ("median(salary)", "education > 4"),
    ("median(weight)", "age > 40"),
    ("quantile_disc(weight, 0.8)", "married AND hours < 50"),
    ("median(round(wage))", "grade <> 'low'"),
    ("quantile_disc(date_diff('day', DATE '1930-01-01', birth), 0.3)", "TRUE"),
    ("median(age)", "hours > 30"),
    ("quantile_disc(education, 0.75)", "TRUE"),
]


def quantile_answers(world: World) -> tuple[np.ndarray, np.ndarray]:
    """Truths (queries,), and estimate, low, high and error (releases, queries, 4)."""
    truths, found = [], []
    for value, condition in QUANTILES:
        truths.append(world.source.execute(f"SELECT {value} FROM people WHERE {condition}").fetchall()[0][0])
    for path in world.releases:
        with ppdm_sql.connect(path, read_only=True) as con:
            asked = [
                f"SELECT {q}, ppdm_low({q}), ppdm_high({q}), ppdm_error({q}) FROM people WHERE {c}"
                for q, c in QUANTILES
            ]
            found.append([con.execute(sql).fetchall()[0] for sql in asked])
    return np.array(truths, dtype=float), np.array(found, dtype=float)


def test_intervals_of_quantiles_cover_as_often_as_they_promise(world):
    truths, found = quantile_answers(replace(world, releases=world.releases[:12]))
    estimates, low, high, errors = np.moveaxis(found, 2, 0)
    assert (low <= estimates).all()
    assert (estimates <= high).all()
    covered = (low <= truths) & (truths <= high)
    fine = np.array([i for i, (value, _) in enumerate(QUANTILES) if "(age" not in value and "(educ" not in value])
    assert covered[:, fine].mean() > 0.92
    assert covered.mean() > 0.92
    scores = (estimates - truths)[:, fine] / errors[:, fine]
    assert 0.6 < spread(scores) < 1.3
    assert bias(scores) < 4  # consistent, not unbiased


def test_a_wrong_share_would_be_seen(world, monkeypatch):
    def papers_measure(column, cells) -> Axis:
        """The paper's (high - low) / (max - min), which is right for reals only."""
        axis = planning_column_axis(column, cells)
        first = max(axis.shares[0] - 1 / column.size, 0.0) if len(axis.shares) > 1 else axis.shares[0]
        return replace(axis, shares=(first, *axis.shares[1:-1], axis.shares[-1] + axis.shares[0] - first))

    planning_column_axis = planning.column_axis
    monkeypatch.setattr(planning, "column_axis", papers_measure)
    few = replace(world, queries=["SELECT count(*) FROM people WHERE hours BETWEEN 30 AND 45"])
    broken = few.answers()
    assert bias(broken.scores) > 2
    assert abs(broken.scores.mean()) > 0.3


def test_a_wrong_retention_would_be_seen(world, monkeypatch):
    original = planning.column_axis
    monkeypatch.setattr(planning, "column_axis", lambda c, cells: replace(original(c, cells), retain=c.retain * 1.05))
    broken = replace(world, queries=world.queries[:20]).answers()
    per_query = broken.scores.mean(axis=0) * np.sqrt(RELEASES)
    assert np.abs(per_query).max() > 4.5 or spread(broken.scores) > 1.08


def test_bayes_agrees_with_inversion_where_every_state_is_positive(world):
    few = replace(world, queries=["SELECT count(*) FROM people WHERE age > 40 AND hours > 40"])
    inversion, bayes = few.answers("inversion"), few.answers("bayes")
    np.testing.assert_allclose(bayes.estimates, inversion.estimates, rtol=1e-4)
    np.testing.assert_allclose(bayes.errors, inversion.errors, rtol=0.3)


GROUPED = [
    ("grade", "count(*)", "TRUE"),
    ("married", "count(*)", "age > 35 AND hours < 50"),
    ("age // 10", "count(*)", "sex = 'F'"),
    ("occupation", "count(*)", "education > 5"),
    ("education", "count(*)", "TRUE"),
    ("coalesce(education, 3)", "count(*) FILTER (WHERE age > 40)", "TRUE"),
    ("grade", "avg(wage)", "TRUE"),
    ("married", "sum(weight)", "grade <> 'low'"),
    ("age // 15", "sum(age)", "TRUE"),
    ("grade", "count(*)", "(grade = 'low' AND age > 30) OR (grade = 'high' AND hours > 40)"),
]


SUMMED_IN_OWN_GROUPS = [
    ("wage > 200", "sum(wage)", "TRUE"),
    ("wage > 200", "avg(wage)", "wage BETWEEN 100 AND 300 AND age > 30"),
    ("CASE WHEN salary < 30000 THEN 'a' WHEN salary < 60000 THEN 'b' ELSE 'c' END", "sum(salary * hours)", "TRUE"),
    ("education > 8", "sum(coalesce(education, 2)) + count(*)", "education IS NULL OR education > 3"),
    ("wage > 100", "sum(wage * weight)", "married"),
]
"""Groups of few values of a large domain, with sums and conditions of the same column."""


def grouped(
    world: World, method: str, questions: list[tuple[str, str, str]] = GROUPED
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truths, estimates and errors of every group of every query, the last two with one row a release."""
    truths, found = [], []
    for key, value, condition in questions:
        if method == "bayes" and "count" not in value:
            continue
        sql = f"SELECT {key} AS k, {value}, {{}} FROM people WHERE {condition} GROUP BY k ORDER BY k"
        rows = world.source.execute(sql.format("0")).fetchall()
        truths += [row[1] for row in rows]
        keys = [row[0] for row in rows]
        for number, path in enumerate(world.releases):
            with ppdm_sql.connect(path, read_only=True) as con:
                con.execute(f"SET ppdm_method = '{method}'")
                answer = {row[0]: row[1:] for row in con.execute(sql.format(f"ppdm_error({value})")).fetchall()}
            assert set(keys) <= set(answer)
            found.append((number, [answer[key] for key in keys]))
    per_release = [np.concatenate([np.array(v, float) for n, v in found if n == i]) for i in range(len(world.releases))]
    stacked = np.stack(per_release)
    return np.array(truths, dtype=float), stacked[..., 0], stacked[..., 1]


def test_groups_of_perturbed_columns_are_unbiased_and_their_errors_right(world):
    truths, estimates, errors = grouped(world, "inversion")
    uncertain = (errors > 0).all(axis=0)
    assert uncertain.mean() > 0.9
    z = (estimates[:, uncertain] - truths[uncertain]) / errors[:, uncertain]
    assert bias(z) < 3.5
    assert 0.88 < spread(z) < 1.12
    assert 0.93 < (np.abs(z) < 1.959964).mean() < 0.97
    certain = errors == 0
    np.testing.assert_allclose(estimates[certain], np.broadcast_to(truths, certain.shape)[certain])


def test_sums_of_the_grouping_column_are_unbiased_and_their_errors_right(world):
    truths, estimates, errors = grouped(world, "inversion", SUMMED_IN_OWN_GROUPS)
    uncertain = (errors > 0).all(axis=0)
    assert uncertain.sum() == len(truths) - 1  # which rows have no education is known
    z = (estimates[:, uncertain] - truths[uncertain]) / errors[:, uncertain]
    assert np.abs(z.mean(axis=0) * np.sqrt(RELEASES)).max() < 3.5
    assert 0.8 < spread(z) < 1.2
    assert 0.92 < (np.abs(z) < 1.959964).mean() < 0.98


def test_bayes_groups_are_never_negative_and_covered(world):
    truths, estimates, errors = grouped(replace(world, releases=world.releases[:6]), "bayes")
    assert (estimates >= 0).all()
    covered = np.abs(estimates - truths) <= 1.959964 * errors + 1e-6
    assert covered.mean() > 0.92
