"""Every mechanism keeps the same promises: the law of its kernel, its files, its answers and errors, its refusals."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pytest
from cases import AGES, secret, staff
from compiled import ask_each
from scipy.stats import chi2

import ppdm_sql
from ppdm_sql.errors import Unsupported
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.publishing.release import publish
from ppdm_sql.release.stored import stored_manifests

RELEASES = 16


def ages(path) -> np.ndarray:
    with duckdb.connect() as con:
        return con.sql(f"SELECT age FROM '{path}' ORDER BY id").fetchnumpy()["age"].astype(int) - AGES[0]


@pytest.mark.parametrize("retain", [0.5, 0.1])
def test_the_law_of_the_kernel(case, retain, tmp_path):
    """Each value becomes each other as often as the law says, by a chi-square over all pairs."""
    if case.law is None:
        pytest.skip("this mechanism's law is tested by itself")
    table = staff(60_000, seed=8)
    path = tmp_path / "r.parquet"
    publish(table, case.policy(retain), to=path, key=secret(1))
    before = table.column("age").to_numpy().astype(int) - AGES[0]
    observed = np.zeros((len(AGES), len(AGES)))
    np.add.at(observed, (before, ages(path)), 1)
    expected = observed.sum(axis=1, keepdims=True) * case.law(retain, observed.sum(axis=1) / observed.sum())
    score = ((observed - expected) ** 2 / expected).sum()
    assert score < chi2.ppf(0.9999, len(AGES) * (len(AGES) - 1))
    assert score > chi2.ppf(0.0001, (len(AGES) - 1) ** 2)


def test_files_of_both_kinds_hold_the_same(case, releases):
    one, other = releases(case, 0.5), releases(case, 0.5, ending="parquet")
    with duckdb.connect(str(one), read_only=True) as con:
        assert (
            con.sql("FROM perturbed.staff ORDER BY id").fetchall() == con.sql(f"FROM '{other}' ORDER BY id").fetchall()
        )
        [(_, text)] = stored_manifests(con)
    manifest = Manifest.from_json(text)
    assert {column.mechanism for column in manifest.perturbed} == {case.name}
    assert Manifest.from_json(manifest.to_json()) == manifest


@pytest.fixture(scope="module")
def answers(case, releases, original):
    """Truths, estimates and errors of all queries, (releases, queries)."""
    queries = case.queries
    truths = np.array([original.execute(query).fetchall()[0][0] for query in queries], dtype=float)
    asked = [re.sub(r"SELECT (.*?) FROM", r"SELECT \1, ppdm_error(\1) FROM", query) for query in queries]
    found = ask_each([releases(case, 0.4, number) for number in range(RELEASES)], asked)
    estimates, errors = np.moveaxis(np.array(found, dtype=float), 2, 0)
    return truths, estimates, errors


def test_answers_are_right_on_average(answers):
    """The mean over releases lies within four of its own standard errors of the truth."""
    truths, estimates, errors = answers
    spread = np.maximum(estimates.std(axis=0), 1e-9) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - truths) <= 4 * spread + 1e-6 * np.abs(truths)).all()
    assert (errors >= 0).all()


def test_intervals_are_calibrated(answers):
    """The errors are as large as the answers really scatter: the mean square of z is near one, query by query."""
    truths, estimates, errors = answers
    uncertain = errors.max(axis=0) > 0
    assert np.allclose(estimates[:, ~uncertain], truths[~uncertain])
    z = (estimates - truths)[:, uncertain] / errors[:, uncertain]
    squares = (z**2).mean(axis=0)
    low, high = (chi2.ppf(q, len(z)) / len(z) for q in (0.0005, 0.9995))
    assert ((squares > low) & (squares < high)).all(), np.round(squares, 2)
    assert 0.9 < (np.abs(z) < 1.96).mean() < 0.985


def test_groups(case, releases, original):
    truth = dict(original.execute(case.groups).fetchall())
    asked = re.sub(r"SELECT (\w+), (.*?) FROM", r"SELECT \1, \2, ppdm_error(\2) FROM", case.groups)
    with ppdm_sql.connect(releases(case, 0.4), read_only=True) as con:
        found = con.execute(asked).fetchall()
    assert [group for group, _, _ in found] == sorted(truth)
    assert all(abs(answer - truth[group]) < 5 * error for group, answer, error in found)


def test_with_everything_kept_answers_are_the_truth(case, releases, original):
    if not case.kept:
        pytest.skip("this mechanism has no setting that keeps everything")
    with ppdm_sql.connect(releases(case, 1.0), read_only=True) as con:
        for query in case.queries:
            assert con.execute(query).fetchone()[0] == pytest.approx(original.execute(query).fetchall()[0][0])


def test_refusals(case, releases):
    with ppdm_sql.connect(releases(case, 0.4), read_only=True) as con:
        for query in case.refused:
            with pytest.raises(Unsupported, match="line 1, column"):
                con.execute(query)


def test_it_is_described(case, releases):
    with ppdm_sql.connect(releases(case, 0.4), read_only=True) as con:
        rows = con.execute("DESCRIBE PERTURBED staff").fetchall()
    assert {row[0]: row[2] for row in rows}[case.column] == case.name
