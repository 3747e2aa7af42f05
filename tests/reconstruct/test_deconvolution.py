"""Deconvolution over bins: the channel, what the iteration keeps, and intervals that cover on tables of many shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ppdm_sql.reconstruct import deconvolution
from ppdm_sql.reconstruct.deconvolution import chances, deconvolution_errors, deconvolve, make_bins

DRAWS = 14


@given(
    st.lists(st.floats(-50, 50), max_size=5, unique=True).map(sorted),
    st.floats(-60, 0),
    st.floats(0.5, 200),
    st.floats(0.1, 30),
)
def test_bins_end_at_every_bound_and_none_is_much_too_wide(bounds, low, width, deviation):
    bins = make_bins(bounds, low, low + width, deviation)
    assert (np.diff(bins.edges) > 0).all()
    point = deconvolution.POINT * deviation
    near = np.array([np.abs(bins.edges - bound).min() for bound in bounds])
    assert (near <= point).all()
    apart = np.diff([-np.inf, *bounds, np.inf])
    alone = [bound for i, bound in enumerate(bounds) if min(apart[i], apart[i + 1]) > point]
    assert set(alone) <= set(bins.edges.tolist())
    assert len(bins.run) == len(bins.edges) - 1
    assert bins.run.tolist() == sorted(bins.run.tolist())
    wide = {0, len(bounds), *(i for i in range(1, len(bounds)) if bounds[i] - bounds[i - 1] > point)}
    assert wide <= set(bins.run.tolist())
    assert bins.edges[0] <= low and bins.edges[-1] >= low + width
    reach = bins.edges[-1] - bins.edges[0]
    assert np.diff(bins.edges).max() <= 2 * max(deconvolution.BIN * deviation, reach / deconvolution.MAX_BINS)


def test_chances_are_those_of_a_number_spread_evenly_over_its_bin():
    edges, seen, deviation = np.array([-2.0, -1.0, 0.5, 4.0]), np.array([-3.0, -0.5, 0.1, 2.0, 6.0]), 0.7
    matrix = chances(edges, seen, deviation)
    assert matrix.sum(axis=1) == pytest.approx(np.ones(3))
    for i in range(3):
        points = np.linspace(edges[i], edges[i + 1], 20_001)
        below = stats.norm.cdf((seen[:, None] - points) / deviation).mean(axis=1)
        assert matrix[i] == pytest.approx(np.diff([0, *below, 1]), abs=1e-5)
    far = chances(np.array([0.0, 1e-3]), np.array([1e6]), 1e-3)
    assert far.tolist() == [[1.0, 0.0]]


def test_counts_stay_whole_and_never_fall_below_zero():
    matrix = chances(np.linspace(-3, 3, 25), np.linspace(-4, 4, 30), 1.0)
    observed = np.random.default_rng(1).poisson(3, (4, 31)).astype(float)
    observed[2] = 0
    fit = deconvolve(observed, matrix)
    assert fit.x.sum(axis=1) == pytest.approx(observed.sum(axis=1))
    assert (fit.x >= 0).all() and (fit.x[2] == 0).all()
    assert deconvolve(np.zeros((0, 31)), matrix).x.shape == (0, 24)


def test_the_same_question_has_the_same_error():
    matrix = chances(np.linspace(-3, 3, 25), np.linspace(-4, 4, 30), 1.0)
    fit = deconvolve(np.random.default_rng(1).poisson(30, (1, 31)), matrix)
    target = (np.arange(24) > 12).astype(float)[None]
    one, other = (deconvolution_errors(fit, matrix, target, np.linspace(-3, 3, 25), 1.0) for _ in range(2))
    assert np.array_equal(one, other)


def shapes(rows):
    rng = np.random.default_rng(7)
    return {
        "normal": rng.normal(50, 10, rows),
        "lognormal": np.round(np.exp(rng.normal(10, 0.5, rows)), 2),
        "two hills": np.where(rng.random(rows) < 0.6, rng.normal(0, 1, rows), rng.normal(5, 0.7, rows)),
        "ages": rng.integers(17, 91, rows).astype(float),
        "exponential": rng.exponential(1, rows),
    }


def scores(x, noise, bounds, seed):
    """Truth, estimates and errors of the rows between two bounds (or beyond one), for many draws of the noise."""
    deviation, rng = noise**0.5 * x.std(), np.random.default_rng(seed)
    low, high = x.min() - 3 * deviation, x.max() + 3 * deviation
    width = deconvolution.SEEN * deviation
    seen = np.arange(np.floor(low / width) + 1, np.ceil(high / width)) * width
    bins = make_bins(bounds, low, high, deviation)
    matrix = chances(bins.edges, seen, deviation)
    noisy = x + deviation * rng.normal(size=(DRAWS, len(x)))
    observed = np.stack([np.bincount(np.searchsorted(seen, y, "right"), minlength=len(seen) + 1) for y in noisy])
    fit = deconvolve(observed, matrix)
    target = (bins.run == 1).astype(float)[None]
    errors = np.sqrt(deconvolution_errors(fit, matrix, target, bins.edges, deviation, 16)[:, 0, 0])
    inside = (x >= bounds[0]) & (x < (bounds[1] if len(bounds) > 1 else np.inf))
    return inside.sum(), (fit.x @ target.T)[:, 0], errors


@pytest.mark.parametrize("rows", [1_000, 20_000])
def test_intervals_cover_ranges_of_tables_of_many_shapes(rows):
    """A bias is there, and the intervals make room for it: over all cases 95 %, in each 80 % at least."""
    covered, ratios = {}, []
    for seed, (name, x) in enumerate(shapes(rows).items()):
        noise = 0.5 if seed % 2 else 0.2
        low, middle, high = np.quantile(x, [0.15, 0.5, 0.85])
        for bounds in ([middle], [low, high]):
            truth, estimates, errors = scores(x, noise, bounds, seed)
            covered[name, tuple(bounds)] = (np.abs(estimates - truth) < 1.96 * errors).mean()
            ratios.append(np.sqrt(((estimates - truth) ** 2).mean()) / np.sqrt((errors**2).mean()))
    assert np.mean(list(covered.values())) >= 0.95, covered
    assert min(covered.values()) >= 0.8, covered  # near the cliff of the exponential
    assert 0.4 < np.mean(ratios) < 1  # wide, and not so wide that they say nothing


def test_without_room_for_the_bias_they_would_not(monkeypatch):
    x = shapes(50_000)["exponential"]
    bounds = list(np.quantile(x, [0.15, 0.85]))
    monkeypatch.setattr(deconvolution, "SLACK", 0.0)
    monkeypatch.setattr(deconvolution, "EARLY", deconvolution.STEPS)
    truth, estimates, errors = scores(x, 0.2, bounds, 3)
    assert (np.abs(estimates - truth) < 1.96 * errors).mean() < 0.7
