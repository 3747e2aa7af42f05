import numpy as np
import pytest

from ppdm_sql.channels.axis import Axis
from ppdm_sql.reconstruct import invert, invert_adjoint, linear_variance, replicate

AXES = [Axis(0.4, (0.3, 0.7)), Axis(0.6, (0.5, 0.2, 0.0, 0.3), fixed=(2,))]
ORIGINAL = np.array([[400, 150, 80, 70], [60, 200, 30, 10]])
# A count of one state, a count of a line, and a sum with unequal values.
TARGETS = np.zeros((3, 2, 4))
TARGETS[0, 0, 0] = 1
TARGETS[1, 1, :] = 1
TARGETS[2] = [[1, 2, 0, -1], [0.5, 0, 3, 0]]


def simulate(draws, seed):
    y = replicate(ORIGINAL, AXES, draws, np.random.default_rng(seed))
    flat = TARGETS.reshape(3, -1)
    estimates = invert(y, AXES).reshape(draws, -1) @ flat.T
    covariances = linear_variance(y, invert_adjoint(TARGETS, AXES), TARGETS, AXES)
    return estimates, covariances, flat @ ORIGINAL.reshape(-1)


def test_estimates_are_unbiased_and_their_covariance_is_estimated_without_bias():
    draws = 40_000
    estimates, covariances, truth = simulate(draws, 1)
    spread = estimates.std(axis=0)
    assert (np.abs(estimates.mean(axis=0) - truth) < 4 * spread / np.sqrt(draws)).all()
    empirical = np.cov(estimates.T)
    # An empirical variance of 40,000 draws has a relative error of 0.7 %; the estimates' mean has far less.
    scale = np.sqrt(np.outer(np.diag(empirical), np.diag(empirical)))
    assert np.abs(covariances.mean(axis=0) - empirical).max() / scale.max() < 0.03
    assert (np.abs(covariances.mean(axis=0) - empirical) / scale < 0.03).all()
    # What a formula without "- x" would say lies well outside that band, so this test can tell.
    naive = np.einsum("s,fs->f", ORIGINAL.reshape(-1).astype(float), TARGETS.reshape(3, -1) ** 2)
    assert (naive / np.diag(empirical) > 0.06).all()


def test_z_scores_are_standard():
    draws = 40_000
    estimates, covariances, truth = simulate(draws, 2)
    z = (estimates - truth) / np.sqrt(np.einsum("gff->gf", covariances))
    assert np.abs(z.mean(axis=0)).max() < 0.06
    assert np.abs(z.var(axis=0) - 1).max() < 0.04
    assert np.abs((np.abs(z) < 1.96).mean(axis=0) - 0.95).max() < 0.01


def test_an_exact_column_has_no_error():
    axes = [Axis(1.0, (0.3, 0.7)), Axis(1.0, (0.25,) * 4)]
    cov = linear_variance(ORIGINAL, invert_adjoint(TARGETS, axes), TARGETS, axes)
    assert (cov == 0).all()


def test_the_total_has_no_error():
    ones = np.ones((1, 2, 4))
    cov = linear_variance(ORIGINAL, invert_adjoint(ones, AXES), ones, AXES)
    assert cov == pytest.approx(0, abs=1e-9)
    assert cov >= 0


def test_variances_are_never_negative():
    y = np.zeros((2, 2, 4))
    y[0, 0, 0] = 1
    cov = linear_variance(y, invert_adjoint(TARGETS, AXES), TARGETS, AXES)
    assert cov.shape == (2, 3, 3)
    assert (np.einsum("gff->gf", cov) >= 0).all()
    assert (cov[1] == 0).all()


def test_groups_are_independent_of_each_other():
    y = replicate(ORIGINAL, AXES, 6, np.random.default_rng(3)).reshape(2, 3, 2, 4)
    weights = invert_adjoint(TARGETS, AXES)
    together = linear_variance(y, weights, TARGETS, AXES)
    assert together.shape == (2, 3, 3, 3)
    assert np.allclose(together[1, 2], linear_variance(y[1, 2], weights, TARGETS, AXES))


def test_weights_and_targets_must_pair_up():
    with pytest.raises(ValueError, match="2 weight tensors do not fit 3 targets"):
        linear_variance(ORIGINAL, TARGETS[:2], TARGETS, AXES)
