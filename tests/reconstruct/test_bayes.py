import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.channels.axis import Axis
from ppdm_sql.errors import NotConverged
from ppdm_sql.reconstruct import bayes_step, forward, gap, invert, iterate, replicate, solve
from ppdm_sql.reconstruct.interior import interior
from ppdm_sql.reconstruct.likelihood import uniform
from ppdm_sql.reconstruct.newton import newton
from ppdm_sql.reconstruct.quasi import quasi_newton
from ppdm_sql.reconstruct.squarem import squarem


def skewed(cells, rows, seed, concentration=0.3):
    generator = np.random.default_rng(seed)
    states = int(np.prod(cells))
    return generator.multinomial(rows, generator.dirichlet(np.full(states, concentration))).reshape(cells)


def log_likelihood(x, y, axes):
    m = forward(x, axes)
    return float((y[y > 0] * np.log(m[y > 0])).sum())


@st.composite
def small_problems(draw):
    axes = []
    for _ in range(draw(st.integers(1, 3))):
        m = draw(st.integers(1, 4))
        fixed = tuple(draw(st.sets(st.integers(0, m - 1), max_size=1))) if m > 1 else ()
        raw = np.array([0.0 if cell in fixed else draw(st.integers(0, 5)) for cell in range(m)])
        if not raw.any():
            raw[[cell for cell in range(m) if cell not in fixed][:1]] = 1.0
        axes.append(Axis(draw(st.floats(0.1, 1.0)), tuple((raw / raw.sum()).tolist()), fixed))
    size = (draw(st.integers(1, 3)), *(axis.cells for axis in axes))
    top = draw(st.sampled_from([1, 3, 100, 10**6]))
    counts = draw(st.lists(st.integers(0, top), min_size=int(np.prod(size)), max_size=int(np.prod(size))))
    return axes, np.array(counts, dtype=float).reshape(size)


@settings(deadline=None, max_examples=200)
@given(small_problems())
def test_never_negative_total_kept_and_certified_or_warned(problem):
    axes, y = problem
    over = tuple(range(1, y.ndim))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = solve(y, axes)
    assert fit.x.shape == y.shape
    assert fit.gap.shape == fit.steps.shape == fit.converged.shape == y.shape[:1]
    assert (fit.x >= 0).all()
    assert np.allclose(fit.x.sum(axis=over), y.sum(axis=over), rtol=1e-12)
    assert np.allclose(fit.gap, gap(fit.x, y, axes), rtol=1e-6, atol=1e-6)
    assert (fit.converged == (fit.gap <= 1e-3)).all()
    assert [w.category for w in caught] == ([] if fit.converged.all() else [NotConverged])


@settings(deadline=None, max_examples=60)
@given(small_problems(), st.integers(0, 2**32 - 1))
def test_a_bayes_step_never_lowers_the_likelihood(problem, seed):
    axes, y = problem
    y = y[0]
    x = np.random.default_rng(seed).dirichlet(np.ones(y.size)).reshape(y.shape) * y.sum()
    after = bayes_step(x, y, axes)
    assert np.isclose(after.sum(), y.sum())
    if y.sum():
        assert log_likelihood(after, y, axes) >= log_likelihood(x, y, axes) - 1e-9 * y.sum()


@pytest.mark.parametrize("seed", range(4))
def test_solve_agrees_with_a_long_plain_iteration(seed):
    axes = [Axis(0.6, (0.3, 0.7)), Axis(0.7, (0.2, 0.3, 0.5))]
    y = replicate(skewed((2, 3), 2000, seed), axes, 1, np.random.default_rng(seed))[0].astype(float)
    plain = iterate(y, axes, 20_000)
    fit = solve(y, axes, tolerance=1e-7)
    assert gap(plain, y, axes) < 0.01
    assert np.abs(plain - fit.x).max() < 0.5
    assert log_likelihood(fit.x, y, axes) >= log_likelihood(plain, y, axes) - 1e-7


def test_inversion_without_negative_states_is_the_maximum():
    axes = [Axis(0.5, (0.4, 0.6)), Axis(0.8, (0.5, 0.5))]
    y = np.array([[300.0, 260.0], [280.0, 310.0]])
    fit = solve(y, axes)
    assert (fit.steps == 0).all()
    assert np.allclose(fit.x, invert(y, axes))
    assert fit.gap < 1e-9


def realistic(seed=0, retain=0.2):
    axes = [Axis(retain, (r, 1 - r)) for r in (0.28, 0.6, 0.31, 0.38)]
    return axes, replicate(skewed((2,) * 4, 30_000, seed), axes, 1, np.random.default_rng(seed))[0].astype(float)


@pytest.mark.parametrize("seed", range(5))
def test_newton_reaches_the_certificate_where_plain_iteration_does_not(seed):
    axes, y = realistic(seed)
    fit = newton(y, axes, uniform(y, axes), tolerance=1e-3, max_steps=20)
    assert fit.converged
    assert fit.steps <= 20
    assert gap(fit.x, y, axes) <= 1e-3
    assert gap(iterate(y, axes, 2_000), y, axes) > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_all_methods_find_the_same_maximum(seed):
    axes, y = realistic(seed, retain=0.3)
    start = uniform(y, axes) + 0.0
    fits = {
        "newton": newton(y, axes, start, tolerance=1e-3, max_steps=50).x,
        "interior": interior(y[None], axes, start[None], tolerance=1e-3, max_steps=50).x[0],
        "quasi": quasi_newton(y, axes, start, tolerance=1e-3, max_steps=5000).x,
        "squarem": squarem(y[None], axes, start[None], tolerance=1e-3, max_steps=20_000).x[0],
    }
    best = max(log_likelihood(x, y, axes) for x in fits.values())
    for name, x in fits.items():
        assert gap(x, y, axes) <= 1e-3, name
        assert log_likelihood(x, y, axes) > best - 1e-3, name


def test_squarem_never_lowers_the_likelihood():
    axes, y = realistic(7)
    x, last = uniform(y, axes)[None], -np.inf
    for _ in range(60):
        x = squarem(y[None], axes, x, tolerance=0.0, max_steps=1).x
        now = log_likelihood(x[0], y, axes)
        assert now >= last - 1e-8
        last = now


def test_newton_hands_over_where_least_squares_gives_up(monkeypatch):
    import scipy.optimize

    def gives_up(*_):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", gives_up)
    axes = [Axis(0.6, tuple([0.1] * 10)), Axis(0.6, tuple([0.125] * 8))]
    y = replicate(skewed((10, 8), 2_000, 3), axes, 1, np.random.default_rng(3))[0]
    fit = solve(y, axes)
    assert fit.converged
    assert fit.steps > 0


def test_many_groups_at_once():
    axes, _ = realistic(0)
    y = np.stack([replicate(skewed((2,) * 4, 500, s), axes, 100, np.random.default_rng(s)) for s in range(20)])
    fit = solve(y, axes)
    assert fit.converged.shape == (20, 100)
    assert fit.converged.all()
    assert fit.steps.max() <= 30
    alone = solve(y[3, 4], axes)
    assert np.allclose(alone.x, fit.x[3, 4], atol=0.5)


@pytest.mark.parametrize("cells", [(4,) * 6, (3000,), (30, 40)])
def test_thousands_of_states(cells):
    axes = [Axis(0.4, tuple([1 / m] * m)) for m in cells]
    y = replicate(skewed(cells, 50_000, 1), axes, 1, np.random.default_rng(1))[0]
    fit = solve(y, axes)
    assert fit.converged
    assert (fit.x >= 0).all()
    assert fit.x.sum() == pytest.approx(50_000)


def test_hundreds_of_states_by_newton():
    axes = [Axis(0.2, (0.25,) * 4)] * 4
    y = replicate(skewed((4,) * 4, 30_000, 2), axes, 1, np.random.default_rng(2))[0]
    fit = solve(y, axes)
    assert fit.converged
    assert fit.steps <= 20


BOUNDARY = [
    ("zeros in y", [[5.0, 0.0], [0.0, 7.0]]),
    ("one row", [[1.0, 0.0], [0.0, 0.0]]),
    ("all in one state", [[0.0, 1e6], [0.0, 0.0]]),
    ("no rows", [[0.0, 0.0], [0.0, 0.0]]),
    ("fractions", [[0.25, 0.0], [0.5, 1e-3]]),
]


@pytest.mark.parametrize(("name", "counts"), BOUNDARY, ids=[name for name, _ in BOUNDARY])
@pytest.mark.parametrize("retain", [0.05, 0.5, 1.0])
def test_at_the_boundary(name, counts, retain):
    axes = [Axis(retain, (0.3, 0.7)), Axis(retain, (1.0, 0.0))]
    fit = solve(counts, axes)
    assert fit.converged
    assert (fit.x >= 0).all()
    assert fit.x.sum() == pytest.approx(np.sum(counts))
    if retain == 1.0:
        assert (fit.x == counts).all()


def test_groups_without_rows_give_zeros_beside_others():
    axes = [Axis(0.2, (0.3, 0.7))] * 2
    y = np.zeros((3, 2, 2))
    y[1] = [[40, 0], [3, 0]]
    fit = solve(y, axes)
    assert (fit.x[[0, 2]] == 0).all()
    assert fit.x[1].sum() == pytest.approx(43)
    assert fit.converged.all()


def test_one_cell():
    assert solve([7.0], [Axis(0.3, (1.0,))]).x.tolist() == [7.0]


def test_a_group_that_stops_early_is_named_once():
    axes = [Axis(0.3, tuple([1 / 30] * 30)), Axis(0.3, tuple([1 / 20] * 20))]
    y = replicate(skewed((30, 20), 5_000, 5), axes, 3, np.random.default_rng(5))
    with pytest.warns(NotConverged, match=r"of 3 of 3 groups stopped early.*allow more steps") as caught:
        fit = solve(y, axes, max_steps=2)
    assert len(caught) == 1
    assert f"{fit.gap.max():.3g}" in str(caught[0].message)
    assert not fit.converged.any()
    assert (fit.x >= 0).all()


@pytest.mark.parametrize("bad", [[-1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="at least 0"):
        solve(bad, [Axis(0.5, (0.5, 0.5))])


def test_a_start_helps_and_a_bad_one_does_no_harm():
    axes, y = realistic(1)
    fit = solve(y, axes)
    assert (solve(y, axes, start=fit.x).steps == 0).all()
    corner = np.zeros_like(y)
    corner[0, 0, 0, 0] = 1
    assert np.allclose(solve(y, axes, start=corner).x, fit.x, atol=30)
    assert solve(y, axes, start=np.zeros_like(y)).converged
