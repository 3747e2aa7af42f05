from __future__ import annotations

import numpy as np
import pytest

from ppdm_sql.privacy.channel import RetentionChannel, UniformChannel
from ppdm_sql.privacy.coupling import Draws, agreement, chains, coupling


@pytest.mark.parametrize("size", [2, 5, 40])
@pytest.mark.parametrize(("high", "low"), [(0.9, 0.9), (0.6, 0.2), (1.0, 0.3), (0.05, 0.01)])
def test_both_laws_by_brute_force(high, low, size):
    first, second = UniformChannel(high, size).matrix(), UniformChannel(low, size).matrix()
    onward = UniformChannel(low / high, size).matrix()
    prior = np.random.default_rng(1).dirichlet(np.ones(size))
    coupled, independent = agreement(low, high, Draws.even(size))
    assert coupled == pytest.approx(float(prior @ (first * np.diag(onward)).sum(axis=1)))
    assert independent == pytest.approx(float(prior @ (first * second).sum(axis=1)))


def test_both_laws_where_values_are_drawn_unevenly():
    drawn, prior = np.array([0.1, 0.3, 0.6]), np.array([0.5, 0.3, 0.2])
    first, second, onward = (RetentionChannel(p, drawn).matrix() for p in (0.6, 0.2, 0.2 / 0.6))
    found = agreement(0.6, 0.2, Draws(float(prior @ drawn), float(drawn @ drawn)))
    assert found[0] == pytest.approx(float(prior @ (first * np.diag(onward)).sum(axis=1)))
    assert found[1] == pytest.approx(float(prior @ (first * second).sum(axis=1)))


def test_the_law_is_told_by_how_often_copies_agree():
    draws = Draws.even(10)
    coupled, independent = agreement(0.5, 0.3, draws)
    rows = 10_000
    one = coupling(round(coupled * rows), rows, 0.5, 0.3, draws)
    other = coupling(round(independent * rows), rows, 0.3, 0.5, draws)
    assert (one.coupled, one.told, one.fits) == (True, True, True)
    assert (other.coupled, other.told, other.fits) == (False, True, True)


def test_copies_of_one_retention_and_key_are_the_same():
    assert coupling(500, 500, 0.3, 0.3, Draws.even(10)).coupled
    assert not coupling(470, 500, 0.3, 0.3, Draws.even(10)).fits


def test_few_rows_tell_nothing():
    assert not coupling(1, 2, 0.3, 0.2, Draws.even(2)).told


def test_neither_law_fits_one_coin_against_two_thresholds():
    """With one coin and one draw for both retentions, copies agree more often than along a path."""
    size, high, low = 50, 0.5, 0.2
    agree = 1 - (high - low) * (size - 1) / size
    found = coupling(round(agree * 20_000), 20_000, high, low, Draws.even(size))
    assert not found.fits


def test_no_rows():
    found = coupling(0, 0, 0.3, 0.2, Draws.even(5))
    assert not found.told


def test_chains_join_what_is_coupled_through_others():
    assert chains(5, {(0, 1), (1, 3)}) == ((0, 1, 3), (2,), (4,))
    assert chains(4, {(2, 3), (0, 1), (1, 2)}) == ((0, 1, 2, 3),)
    assert chains(1, set()) == ((0,),)
