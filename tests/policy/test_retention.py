"""From a promise to a retention and back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import (
    Retention,
    check_breach,
    gamma_for_breach,
    gamma_of_retention,
    retention_for_gamma,
)


@given(st.floats(1.0001, 1e6), st.integers(1, 10**9))
def test_gamma_comes_back(gamma, size):
    assert gamma_of_retention(retention_for_gamma(gamma, size), size) == pytest.approx(gamma, rel=1e-6)


@given(st.floats(0.001, 0.999), st.integers(2, 10**6))
def test_gamma_is_the_largest_ratio_of_chances(retain, size):
    kept = retain + (1 - retain) / size
    drawn = (1 - retain) / size
    assert gamma_of_retention(retain, size) == pytest.approx(kept / drawn)


def test_all_ways_to_ask():
    assert Retention("retain", 0.3).probability(10) == 0.3
    assert Retention("epsilon", math.log(5)).probability(50) == pytest.approx(retention_for_gamma(5, 50))
    promised = Retention("privacy", 0.1, 0.5).probability(50)
    assert gamma_of_retention(promised, 50) < gamma_for_breach(0.1, 0.5)
    assert promised == pytest.approx(retention_for_gamma(9, 50))


def test_a_promise_never_keeps_every_value():
    assert Retention("epsilon", 700).probability(2) < 1
    assert Retention("gamma", 1e300).probability(2) < 1
    assert gamma_of_retention(1.0, 5) == math.inf


def test_a_small_epsilon_keeps_little_and_not_nothing():
    assert Retention("epsilon", 1e-17).probability(50) == pytest.approx(2e-19)


@pytest.mark.parametrize(("rho1", "rho2"), [(1e-320, 0.5), (1e-300, math.nextafter(1, 0))])
def test_a_pair_without_a_finite_gamma_is_refused(rho1, rho2):
    with pytest.raises(PolicyError, match="too close to 0 and 1"):
        check_breach("column 'x'", rho1, rho2)
