"""Every stated guarantee against every property, over thousands of priors: none is broken, and each is tight."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import beliefs, priors, properties, some_channels

from ppdm_sql.privacy import (
    MatrixChannel,
    epsilon_of_row,
    excludes_breach,
    gamma_for_growth,
    gamma_of_row,
    highest_posterior,
    information_of_breach,
    inverse_worst_case_information,
    largest_growth,
    lowest_posterior,
    output_distribution,
    posterior,
    prior_that_grows_most,
    property_posterior,
    worst_case_information,
)

ROUNDING = 1e-9


def extremes(channel) -> tuple[int, int, int]:
    """The output whose ratio gamma is, and the two inputs that it is the ratio of."""
    matrix = channel.matrix()
    output = int(np.argmax(matrix.max(axis=0) / matrix.min(axis=0)))
    return output, int(np.argmax(matrix[:, output])), int(np.argmin(matrix[:, output]))


def just_out_of_reach(gamma: float) -> list[tuple[float, float]]:
    """Breaches that are barely excluded, and barely not."""
    pairs = [(rho1, float(highest_posterior(gamma, rho1))) for rho1 in (0.02, 0.2, 0.5)]
    return [(rho1, rho2 + shift * (1 - rho2)) for rho1, rho2 in pairs for shift in (1e-5, -1e-5, 1e-9)]


def two_point(size: int, first: int, second: int, share: float) -> np.ndarray:
    prior = np.zeros(size)
    prior[first], prior[second] = share, 1 - share
    return prior


@pytest.mark.parametrize("size", [2, 3, 4, 6])
def test_no_posterior_leaves_its_curves(size):
    rng = np.random.default_rng(size)
    sets, prior = properties(size), priors(rng, size, 2000)
    for channel in some_channels(rng, size):
        before, after = beliefs(prior, channel.matrix(), sets)
        assert (after <= highest_posterior(channel.gamma, before)[..., None] + ROUNDING).all()
        assert (after >= lowest_posterior(channel.gamma, before)[..., None] - ROUNDING).all()
        assert (after - before[..., None] <= largest_growth(channel.gamma) + ROUNDING).all()
        assert (before[..., None] - after <= largest_growth(channel.gamma) + ROUNDING).all()


@pytest.mark.parametrize("size", [2, 5])
def test_both_curves_and_the_growth_are_attained(size):
    rng = np.random.default_rng(10 + size)
    for channel in some_channels(rng, size):
        output, likeliest, rarest = extremes(channel)
        has_it = np.arange(size) == likeliest
        for share in (0.01, 0.2, 0.7, prior_that_grows_most(channel.gamma)):
            prior = two_point(size, likeliest, rarest, share)
            assert property_posterior(channel, prior, has_it, output) == pytest.approx(
                float(highest_posterior(channel.gamma, share))
            )
            assert property_posterior(channel, prior, ~has_it, output) == pytest.approx(
                float(lowest_posterior(channel.gamma, 1 - share))
            )
        # the last share was the one that grows most
        growth = property_posterior(channel, prior, has_it, output) - share
        assert growth == pytest.approx(largest_growth(channel.gamma))
        assert gamma_for_growth(growth) == pytest.approx(channel.gamma)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_statement_1_excludes_breaches_both_ways(size):
    rng = np.random.default_rng(20 + size)
    sets, prior = properties(size), priors(rng, size, 1000)
    excluded = 0
    for channel in some_channels(rng, size):
        before, after = beliefs(prior, channel.matrix(), sets)
        highest, lowest = after.max(axis=2), after.min(axis=2)
        output, likeliest, rarest = extremes(channel)
        for rho1, rho2 in [*np.sort(rng.uniform(0.01, 0.99, (40, 2)), axis=1), *just_out_of_reach(channel.gamma)]:
            worst = posterior(channel, two_point(size, likeliest, rarest, rho1), output)
            best = posterior(channel, two_point(size, likeliest, rarest, 1 - rho2), output)
            if excludes_breach(channel.gamma, rho1, rho2):
                excluded += 1
                assert worst[likeliest] < rho2
                assert best[rarest] > rho1
                assert not ((before <= rho1) & (highest >= rho2)).any()
                assert not ((before >= rho2) & (lowest <= rho1)).any()
            else:
                # and the condition is no stricter than it must be: there is a prior with both breaches
                assert worst[likeliest] >= rho2 - ROUNDING
                assert best[rarest] <= rho1 + ROUNDING
    assert excluded > 10


def test_a_row_of_columns_amplifies_as_their_product_and_no_less():
    rng = np.random.default_rng(31)
    for _ in range(20):
        columns = [*some_channels(rng, 2)[:3], *some_channels(rng, 3)[:3]]
        chosen = [columns[i] for i in rng.choice(len(columns), 3, replace=False)]
        joint = np.ones((1, 1))
        for channel in chosen:
            joint = np.kron(joint, channel.matrix())
        assert MatrixChannel(joint).gamma == pytest.approx(gamma_of_row(chosen))
        assert np.log(MatrixChannel(joint).gamma) == pytest.approx(epsilon_of_row(chosen))


FUNCTIONS = {
    "logarithm": np.log2,
    "chi squared": lambda t: t - 1,
    "power": np.sqrt,
    "hellinger": lambda t: -1 / np.sqrt(t),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", [2, 4])
def test_statements_6_and_7_bound_breaches(name, size):
    rng = np.random.default_rng(40 + size)
    f, sets = FUNCTIONS[name], properties(size)
    gaps = []
    for channel in some_channels(rng, size):
        for prior in priors(rng, size, 100):
            before, after = (a[0] for a in beliefs(prior[None], channel.matrix(), sets))
            worst, inverse = (
                worst_case_information(channel, prior, f),
                inverse_worst_case_information(channel, prior, f),
            )
            pairs = np.stack(np.broadcast_arrays(before[:, None], after), axis=-1).reshape(-1, 2)
            up = pairs[pairs[:, 1] > pairs[:, 0] + 1e-6]
            down = pairs[pairs[:, 1] < pairs[:, 0] - 1e-6]
            needed = [information_of_breach(rho1, rho2, f) for rho1, rho2 in up]
            assert max(needed, default=-1) <= worst + ROUNDING * max(1, abs(worst))
            inverted = [information_of_breach(rho1, rho2, f) for rho2, rho1 in down]
            assert max(inverted, default=-1) <= inverse + ROUNDING * max(1, abs(inverse))
            if needed and inverted:
                gaps.append((worst - max(needed), inverse - max(inverted)))
    if size == 2:  # a property of one bit tells all there is to tell, so the bounds are attained
        assert np.max(gaps) < 1e-6
    print(f"{name}, {size} values: slack at most {np.max(gaps):.3g} above the bound of the worst property")


@pytest.mark.parametrize("size", [2, 5])
def test_closed_forms_are_those_of_the_matrix(size):
    rng = np.random.default_rng(50 + size)
    for channel in some_channels(rng, size)[:2]:
        dense = MatrixChannel(channel.matrix())
        assert dense.gamma == pytest.approx(channel.gamma)
        for prior in [*priors(rng, size, 40), np.eye(size)[0]]:
            assert np.allclose(output_distribution(channel, prior), output_distribution(dense, prior))
            for output in range(size):
                assert np.allclose(posterior(channel, prior, output), posterior(dense, prior, output))
            for f in FUNCTIONS.values():
                assert worst_case_information(channel, prior, f) == pytest.approx(
                    worst_case_information(dense, prior, f)
                )
                assert inverse_worst_case_information(channel, prior, f) == pytest.approx(
                    inverse_worst_case_information(dense, prior, f)
                )
