"""Error bars keep their promise: many random queries on many releases of one table, compared with the truth."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest
from people import people, policy
from random_queries import random_count

import ppdm_sql
from ppdm_sql.publish.release import publish

RELEASES = 20
QUERIES = 200
ROWS = 5_000


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truths (queries,), estimates and standard errors (releases, queries)."""
    folder = tmp_path_factory.mktemp("calibration")
    rng = np.random.default_rng(20261118)
    queries = [random_count(rng) for _ in range(QUERIES)]
    with duckdb.connect() as source:
        source.register("generated", people(ROWS, seed=99))
        source.execute(
            "CREATE TABLE people AS SELECT * REPLACE (grade::ENUM('low', 'middle', 'high') AS grade) FROM generated"
        )
        truths = np.array([source.execute(query).fetchall()[0][0] for query in queries], dtype=float)
        asked = [query.replace("count(*)", "count(*), ppdm_error(count(*))") for query in queries]
        found = []
        for number in range(RELEASES):
            path = folder / f"{number}.duckdb"
            publish(source.table("people"), policy(0.5), to=path, key=folder / f"{number}.key")
            with ppdm_sql.connect(path, read_only=True) as con:
                found.append([con.execute(query).fetchone() for query in asked])
    estimates, errors = np.moveaxis(np.array(found, dtype=float), 2, 0)
    return truths, estimates, errors


def scores(answers: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
    """z of every query whose answer is uncertain, shape (releases, queries)."""
    truths, estimates, errors = answers
    uncertain = (errors > 0).all(axis=0)
    assert uncertain.sum() > 0.9 * QUERIES
    return (estimates[:, uncertain] - truths[uncertain]) / errors[:, uncertain]


def test_certain_answers_are_the_truth(answers):
    truths, estimates, errors = answers
    certain = errors == 0
    np.testing.assert_allclose(estimates[certain], np.broadcast_to(truths, certain.shape)[certain], atol=1e-6)


def test_estimates_are_unbiased(answers):
    z = scores(answers)
    means = z.mean(axis=1)  # queries on one release share its coins, releases are independent
    assert abs(means.mean()) < 3.5 * means.std(ddof=1) / np.sqrt(RELEASES)
    per_query = z.mean(axis=0) * np.sqrt(RELEASES)  # each is standard normal
    assert np.abs(per_query).max() < 4.5
    assert 0.8 < per_query.var() < 1.2


def test_errors_are_as_large_as_they_say(answers):
    z = scores(answers)
    spread = (z**2).mean(axis=1)
    assert abs(spread.mean() - 1) < 3.5 * spread.std(ddof=1) / np.sqrt(RELEASES)
    assert abs(spread.mean() - 1) < 0.06


def test_intervals_cover_as_often_as_they_promise(answers):
    z = np.abs(scores(answers))
    assert 0.93 < (z < 1.959964).mean() < 0.97
    assert 0.47 < (z < 0.674490).mean() < 0.53
