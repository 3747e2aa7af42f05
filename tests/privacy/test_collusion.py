from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.privacy.channel import RetentionChannel, UniformChannel
from ppdm_sql.privacy.collusion import (
    Prior,
    coupled_reconstruction,
    independent_reconstruction,
    judge,
    likeliest_prior,
    log_odds,
    reconstruction_probability,
)

# A salary-like distribution on 50 values: common in the lower middle, a long tail.
SALARY = Prior.from_counts(np.arange(50), np.exp(-((np.log(np.arange(50) + 1) - 2.6) ** 2) / 0.9))


@st.composite
def rows(draw):
    size = draw(st.integers(2, 6))
    weights = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any))
    retentions = draw(st.lists(st.sampled_from([0.05, 0.2, 0.5, 0.9, 1.0]), min_size=1, max_size=4))
    occurring = [v for v in range(size) if weights[v]]
    truth = draw(st.sampled_from(occurring))
    seen = [truth if p == 1 else draw(st.integers(0, size - 1)) for p in retentions]
    return np.array(weights) / sum(weights), retentions, truth, seen


@settings(max_examples=400, deadline=None)
@given(rows())
def test_the_guess_is_bayes_rule_by_brute_force(row):
    shares, retentions, truth, seen = row
    size = len(shares)
    likelihood = shares.copy()
    for p, y in zip(retentions, seen, strict=True):
        likelihood *= UniformChannel(p, size).into(y)
    posterior = likelihood / likelihood.sum()
    prior = Prior(np.arange(size), shares)
    shown = np.array(seen)[:, None]
    found = judge(prior, shown, [[log_odds(p, 1 / size)] for p in retentions], np.array([truth]))
    assert posterior[found.value[0]] == pytest.approx(posterior.max(), abs=1e-9)
    assert found.confidence[0] == pytest.approx(posterior.max(), abs=1e-9)
    assert found.truth[0] == pytest.approx(posterior[truth], abs=1e-9)


def test_values_that_are_drawn_unevenly():
    shares, drawn = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    for seen in itertools.product(range(3), repeat=2):
        likelihood = shares * np.prod(
            [RetentionChannel(p, drawn).into(y) for p, y in zip((0.3, 0.6), seen, strict=True)], 0
        )
        odds = [log_odds(p, drawn[[y]]) for p, y in zip((0.3, 0.6), seen, strict=True)]
        found = judge(Prior(np.arange(3), shares), np.array(seen)[:, None], odds)
        assert found.value[0] == likelihood.argmax()
        assert found.confidence[0] == pytest.approx(likelihood.max() / likelihood.sum())


def test_rows_are_judged_by_themselves():
    rng = np.random.default_rng(3)
    seen = rng.integers(50, size=(5, 200))
    weights = [[log_odds(p, 1 / 50)] for p in (0.1, 0.2, 0.3, 0.4, 0.5)]
    whole = judge(SALARY, seen, weights)
    single = [judge(SALARY, seen[:, [i]], weights) for i in range(200)]
    assert whole.value.tolist() == [one.value[0] for one in single]
    assert whole.confidence == pytest.approx([one.confidence[0] for one in single])


def test_the_order_of_copies_plays_no_part():
    rng = np.random.default_rng(4)
    truth = rng.integers(10, size=300)
    retentions = np.array([0.1, 0.3, 0.6])
    seen = np.where(rng.random((3, 300)) < retentions[:, None], truth, rng.integers(10, size=(3, 300)))
    prior = Prior.from_counts(np.arange(10), np.arange(1, 11))
    weights = np.array([[log_odds(p, 1 / 10)] for p in retentions])
    found = [judge(prior, seen[list(o)], weights[list(o)], truth).truth for o in itertools.permutations(range(3))]
    for other in found[1:]:
        assert other == pytest.approx(found[0])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(0, 3), st.sampled_from([0.05, 0.4, 0.9, 1.0]))
def test_the_mean_of_one_copy_is_exact(weights, unused, retain):
    size = len(weights) + unused
    shares = np.concatenate([np.array(weights) / sum(weights), np.zeros(unused)])
    matrix = UniformChannel(retain, size).matrix()
    joint = shares[:, None] * matrix
    shown = joint.sum(axis=0)
    expected = (joint**2 / np.where(shown > 0, shown, 1)).sum()
    prior = Prior(np.arange(len(weights)), shares[: len(weights)])
    assert reconstruction_probability(prior, retain, size) == pytest.approx(expected)


class TestFigure7:
    """Retentions drawn evenly from [0.001, 0.5], 50 values: independent copies give all away, coupled ones do not."""

    retentions = tuple(np.random.default_rng(9).uniform(0.001, 0.5, 40).tolist())

    def test_thirty_independent_copies_reveal_nearly_every_row(self):
        found = independent_reconstruction(SALARY, self.retentions, 50)
        assert found[29] > 0.97
        assert found[0] < 0.3
        assert (np.diff(found) > -0.01).all()

    def test_coupled_copies_stay_at_the_best_copy(self):
        found = coupled_reconstruction(SALARY, self.retentions, 50)
        assert found[-1] == reconstruction_probability(SALARY, max(self.retentions), 50)
        assert 0.25 < found[-1] < 0.35
        assert (np.diff(found) >= 0).all()

    def test_the_first_copy_is_the_same_under_both(self):
        found = independent_reconstruction(SALARY, [0.4], 50, rows=60_000)
        assert found[0] == pytest.approx(reconstruction_probability(SALARY, 0.4, 50), abs=0.005)


def test_a_chain_tells_no_more_than_its_most_retained_copy():
    """The posterior given both copies of a Markov chain, by brute force, is that given the first."""
    size, high, low = 5, 0.6, 0.25
    prior = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
    first, onward = UniformChannel(high, size).matrix(), UniformChannel(low / high, size).matrix()
    both = prior[:, None, None] * first[:, :, None] * onward[None]
    given_both = both / both.sum(axis=0)
    given_first = prior[:, None] * first / (prior @ first)
    assert given_both == pytest.approx(np.broadcast_to(given_first[:, :, None], both.shape))
    assert (first @ onward) == pytest.approx(UniformChannel(low, size).matrix())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=2, max_size=7), st.integers(0, 20), st.sampled_from([0.1, 0.4, 0.8, 1]))
def test_the_likeliest_prior_is_the_maximum(counts, unused, retain):
    """The certificate of a concave maximum: no direction of the simplex goes uphill."""
    size = len(counts) + unused
    observed = np.concatenate([np.array(counts) / sum(counts), np.zeros(unused)])
    for drawn in (np.full(size, 1 / size), np.arange(1, size + 1) / (size * (size + 1) / 2)):
        found = likeliest_prior(np.arange(len(counts)), counts, retain, drawn[: len(counts)])
        shares = found.of(np.arange(size))
        shown = retain * shares + (1 - retain) * drawn
        gradient = retain * observed / np.where(shown > 0, shown, 1)
        assert gradient.max() <= gradient @ shares + 1e-9


def test_what_is_no_prior_is_refused():
    for values, shares, message in [
        ([], [], "at least one value"),
        ([1, 0], [0.5, 0.5], "ascending"),
        ([0, 1], [0.5, 0.6], "sum to 1"),
        ([0, 1], [-0.5, 1.5], "at least 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            Prior(np.array(values, dtype=np.int64), np.array(shares))


def test_nothing_is_read_beyond_the_prior():
    prior = Prior.from_counts([3, 2**52], [1, 1])
    assert prior.of(np.array([0, 3, 4, 2**52, 2**53])).tolist() == [0, 0.5, 0, 0.5, 0]
