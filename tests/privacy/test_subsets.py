"""(s, rho1, rho2) guarantees against every set, over thousands of priors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute_force import beliefs, priors, properties, retaining_channels

from ppdm_sql.privacy import (
    RetentionChannel,
    UniformChannel,
    excludes_subset_breach,
    identity_posterior,
    identity_safe_prior,
    property_posterior,
    safe_prior,
    safe_relative_prior,
    safe_relative_prior_of_row,
    safe_retention,
    safe_retention_of_row,
    seen_posterior,
)

ROUNDING = 1e-9


def seen_in(prior: np.ndarray, matrix: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """P[X in S | Y in S] by summing the joint distribution; shape (priors, sets)."""
    both = np.einsum("bx,xy,qx,qy->bq", prior, matrix, sets, sets)
    return both / np.einsum("bx,xy,qy->bq", prior, matrix, sets)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_the_posterior_of_a_set_that_is_seen(size):
    rng = np.random.default_rng(size)
    sets, prior = properties(size), priors(rng, size, 2000)
    for channel in retaining_channels(rng, size):
        before, share = prior @ sets.T, channel.shares @ sets.T
        after = seen_in(prior, channel.matrix(), sets)
        assert np.allclose(after, seen_posterior(channel.retain, before / share, before))


@pytest.mark.parametrize("size", [2, 3, 5])
def test_theorem_4_is_never_broken(size):
    rng = np.random.default_rng(10 + size)
    sets, prior = properties(size), priors(rng, size, 1000)
    threatened = 0
    for channel in retaining_channels(rng, size):
        before = prior @ sets.T
        relative = before / (channel.shares @ sets.T)
        after = seen_in(prior, channel.matrix(), sets)
        for rho1, rho2 in np.sort(rng.uniform(0.01, 0.99, (40, 2)), axis=1):
            bound = safe_relative_prior(channel.retain, rho1, rho2)
            assert excludes_subset_breach(channel.retain, bound, rho1, rho2)
            safe = (relative < bound) & (before <= rho1)
            assert not (safe & (after >= rho2)).any()
            threatened += int(((before <= rho1) & (after >= rho2)).sum())
            assert safe_retention(bound, rho1, rho2) == pytest.approx(channel.retain)
    assert threatened > 1000  # without the condition on the relative prior there are breaches


@pytest.mark.parametrize("size", [3, 5])
def test_the_same_bound_holds_for_every_property_where_no_single_value_is_common(size):
    """The relative prior of single values bounds what any output tells of any property."""
    rng = np.random.default_rng(20 + size)
    sets, prior = properties(size), priors(rng, size, 2000)
    for channel in retaining_channels(rng, size):
        before, after = beliefs(prior, channel.matrix(), sets)
        relative = prior / channel.shares
        # what one value tells of any property depends on how common that value is, and on nothing else
        assert (after <= seen_posterior(channel.retain, relative[:, None, :], before[..., None]) + ROUNDING).all()
        most = relative.max(axis=1)
        bound = seen_posterior(channel.retain, most[:, None], before)
        assert (after.max(axis=2) <= bound + ROUNDING).all()
        # attained: by the sets that hold the value of the largest relative prior
        assert np.allclose(np.max(after.max(axis=2) - bound, axis=1), 0, atol=1e-9)


def test_theorem_4_is_tight():
    """A set whose relative prior is just below the bound comes just below rho2; at the bound it reaches it."""
    slack = []
    for retain, rho1, rho2 in itertools.product((0.05, 0.2, 0.5, 0.8), (0.05, 0.1, 0.3), (0.5, 0.95)):
        bound = safe_relative_prior(retain, rho1, rho2)
        share = min(rho1 / bound, 0.5)  # then a prior of rho1 has just that relative prior
        channel = RetentionChannel(retain, [share, 1 - share])
        if rho1 / bound <= 0.5:
            after = property_posterior(channel, [rho1, 1 - rho1], [True, False], 0)
            assert after == pytest.approx(rho2)
            slack.append(rho2 - after)
    assert len(slack) > 10
    print(f"largest slack of theorem 4 where prior and relative prior are at their bounds: {np.max(slack):.2g}")


def test_the_posterior_at_the_ends():
    """Nothing kept tells nothing; a value that is never drawn is true; what cannot be seen changes nothing."""
    retain, relative = [0, 0.5, 0.5, 1, 1], [np.inf, np.inf, 0, 0, 1]
    assert seen_posterior(retain, relative, 0.3).tolist() == [0.3, 1, 0.3, 0.3, 1]


def test_lemma_1_for_draws_from_the_data_itself():
    rng = np.random.default_rng(5)
    sets = properties(4)
    for prior in priors(rng, 4, 1000):
        retain = rng.uniform(0.05, 0.9)
        channel = RetentionChannel(retain, prior)
        before = prior @ sets.T
        after = seen_in(prior[None], channel.matrix(), sets)[0]
        assert np.allclose(after, identity_posterior(retain, before))
        rho2 = rng.uniform(0.05, 0.99)
        below = before < identity_safe_prior(retain, rho2) - ROUNDING
        assert (after[below] < rho2).all()
        above = before > identity_safe_prior(retain, rho2) + ROUNDING
        assert (after[above] > rho2).all()  # so the lemma is tight
        assert identity_safe_prior(retain, rho2) == safe_prior(retain, 1, rho2)


def joint_matrix(retains, sizes) -> np.ndarray:
    joint = np.ones((1, 1))
    for retain, size in zip(retains, sizes, strict=True):
        joint = np.kron(joint, UniformChannel(retain, size).matrix())
    return joint


def product_set(parts) -> np.ndarray:
    members = np.ones(1)
    for part in parts:
        members = np.kron(members, part)
    return members


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (3, 4)])
def test_theorem_5_is_never_broken_and_tight(sizes):
    rng = np.random.default_rng(sum(sizes))
    retains = rng.uniform(0.1, 0.8, len(sizes))
    matrix = joint_matrix(retains, sizes)
    prior = priors(rng, matrix.shape[0], 400)
    slack = []
    for parts in itertools.product(*(properties(size) for size in sizes)):
        members = product_set(parts)
        shares = [float(part.mean()) for part in parts]
        before, after = prior @ members, seen_in(prior, matrix, members[None])[:, 0]
        relative = before / np.prod(shares)
        for rho1, rho2 in np.sort(rng.uniform(0.01, 0.99, (10, 2)), axis=1):
            bound = safe_relative_prior_of_row(retains, rho1, rho2, shares)
            assert not ((relative < bound) & (before <= rho1) & (after >= rho2)).any()
            assert bound < safe_relative_prior_of_row(retains, rho1, rho2)
        # The worst there is: all of the rest of the prior differs from the set in every column.
        rho1 = float(rng.uniform(0.02, 0.3))
        far = product_set([1 - part for part in parts])
        worst = rho1 * members / members.sum() + (1 - rho1) * far / far.sum()
        reached = float(seen_in(worst[None], matrix, members[None])[0, 0])
        if rho1 < reached < 1:
            bound = safe_relative_prior_of_row(retains, rho1, reached, shares)
            slack.append(abs(rho1 / np.prod(shares) / bound - 1))
    assert np.max(slack) < 1e-9


def test_the_retention_for_a_row_is_the_one_whose_bound_it_is():
    rng = np.random.default_rng(9)
    for _ in range(200):
        retain, share, columns = float(rng.uniform(0.05, 0.95)), float(rng.uniform(0, 0.5)), int(rng.integers(1, 5))
        rho1, rho2 = np.sort(rng.uniform(0.01, 0.99, 2))
        bound = safe_relative_prior_of_row([retain] * columns, rho1, rho2, [share] * columns)
        assert safe_retention_of_row(columns, bound, rho1, rho2, share) == pytest.approx(retain)
    assert safe_retention_of_row(2, 1e9, 0.1, 0.5, 0.5) == 0
