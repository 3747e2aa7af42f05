import time
import warnings

import numpy as np
import pytest

from ppdm_sql.channels.axis import Axis
from ppdm_sql.errors import NotConverged
from ppdm_sql.reconstruct import Fit, bayes_errors, forward, replicate, solve
from ppdm_sql.reconstruct import replicates as module
from ppdm_sql.reconstruct.replicates import whole_rows


def test_draws_have_the_mean_and_the_variance_of_the_channel():
    axes = [Axis(0.4, (0.3, 0.7)), Axis(0.6, (0.5, 0.0, 0.5), fixed=(1,))]
    x = np.array([[100, 20, 50], [0, 30, 200]])
    y = replicate(x, axes, 50_000, np.random.default_rng(0))
    matrix = np.kron(axes[0].transition(), axes[1].transition())
    mean, flat = x.reshape(-1) @ matrix, y.reshape(len(y), -1)
    variance = x.reshape(-1) @ (matrix * (1 - matrix))
    assert (np.abs(flat.mean(axis=0) - mean) < 5 * np.sqrt(variance / len(y))).all()
    assert np.allclose(flat.var(axis=0), variance, rtol=0.04)
    assert np.allclose(mean, forward(x, axes).reshape(-1))
    assert (flat.sum(axis=1) == x.sum()).all()
    assert (y[:, :, 1].sum(axis=1) == 50).all(), "fixed cells keep their rows"


def test_exact_columns_are_drawn_as_they_are():
    x = np.array([3, 4, 5])
    assert (replicate(x, [Axis(1.0, (0.2, 0.3, 0.5))], 7, np.random.default_rng(0)) == x).all()
    assert (replicate([6], [Axis(0.5, (0.0,), fixed=(0,))], 2, np.random.default_rng(0)) == 6).all()


def test_rounding_keeps_totals():
    x = np.random.default_rng(1).dirichlet(np.ones(12), size=(5, 4)).reshape(5, 4, 3, 4) * 1000
    rows = whole_rows(x, 2)
    assert (rows.sum(axis=(2, 3)) == 1000).all()
    assert np.abs(rows - x).max() < 1


CASES = {
    "inside": ([[3000, 2000], [2500, 2500]], 0.5, (0.4, 0.6)),
    "boundary": ([[9900, 50], [50, 0]], 0.3, (0.4, 0.6)),
    "near the boundary": ([[900, 20], [70, 10]], 0.3, (0.3, 0.7)),
    "four columns": (None, 0.3, (0.3, 0.7)),
}
FOUR_COLUMNS = pytest.param(
    "four columns",
    marks=pytest.mark.xfail(reason="states often fitted as nearly 0 are covered too rarely: see bayes_errors, Notes"),
)


def coverage(name, releases=400):
    """Simulate releases; per answer, how often its interval held the truth, and error over true error."""
    counts, retain, shares = CASES[name]
    if counts is None:
        generator = np.random.default_rng(3)
        counts = generator.multinomial(30_000, generator.dirichlet(np.full(16, 0.3))).reshape((2,) * 4)
    x = np.array(counts)
    axes = [Axis(retain, shares)] * x.ndim
    y = replicate(x, axes, releases, np.random.default_rng(11))
    targets = np.concatenate([np.eye(x.size), np.tril(np.ones((x.size, x.size)))[1:-1]]).reshape(-1, *x.shape)
    flat = targets.reshape(len(targets), -1)
    fit = solve(y, axes)
    error, bias = bayes_errors(fit, y, axes, targets)
    assert error.shape == bias.shape == (releases, len(targets))
    away = fit.x.reshape(releases, -1) @ flat.T - flat @ x.reshape(-1)
    covered = (np.abs(away) <= 1.96 * error).mean(axis=0)
    return covered, np.sqrt((error**2).mean(axis=0) / (away**2).mean(axis=0))


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_the_truth_over_all_answers(name):
    covered, ratio = coverage(name)
    assert covered.mean() > 0.93
    assert ratio.min() > 0.85
    assert np.median(ratio) < (1.15 if name == "inside" else 1.5)


@pytest.mark.parametrize("name", ["inside", "boundary", "near the boundary", FOUR_COLUMNS])
def test_intervals_cover_the_truth_for_every_answer(name):
    # 400 releases know a coverage of 0.93 to within 0.013: three of those below.
    assert coverage(name)[0].min() > 0.93 - 0.039


def test_the_same_release_gives_the_same_error():
    axes = [Axis(0.3, (0.4, 0.6))] * 2
    y = np.array([[500.0, 10.0], [20.0, 100.0]])
    fit = solve(y, axes)
    targets = np.eye(4).reshape(4, 2, 2)
    assert (bayes_errors(fit, y, axes, targets)[0] == bayes_errors(fit, y, axes, targets)[0]).all()
    assert bayes_errors(fit, y, axes, targets)[0].shape == (4,)


def test_exact_columns_have_no_error():
    axes = [Axis(1.0, (0.5, 0.5))]
    error, bias = bayes_errors(solve([3.0, 9.0], axes), [3.0, 9.0], axes, np.eye(2))
    assert (error == 0).all()
    assert (bias == 0).all()


def test_a_hundred_replicates_are_quick():
    generator = np.random.default_rng(3)
    x = generator.multinomial(30_000, generator.dirichlet(np.full(16, 0.3))).reshape((2,) * 4)
    axes = [Axis(0.2, (0.3, 0.7))] * 4
    y = replicate(x, axes, 1, generator)[0]
    fit = solve(y, axes)
    best = np.inf
    for _ in range(5):
        begin = time.perf_counter()
        bayes_errors(fit, y, axes, np.eye(16).reshape(16, 2, 2, 2, 2))
        best = min(best, time.perf_counter() - begin)
    assert best < 0.2


def test_replicates_that_stop_early_warn_once(monkeypatch):
    def early(y, axes, *, start, tolerance):
        groups = np.shape(y)[:-1]
        return Fit(
            np.broadcast_to(start, np.shape(y)), np.ones(groups), np.zeros(groups, dtype=int), np.zeros(groups, bool)
        )

    axes = [Axis(0.3, (0.4, 0.6))]
    fit = solve([10.0, 20.0], axes)
    monkeypatch.setattr(module, "attempt", early)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bayes_errors(fit, [10.0, 20.0], axes, np.eye(2))
    assert [w.category for w in caught] == [NotConverged]
