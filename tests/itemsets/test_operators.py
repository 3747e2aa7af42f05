"""Operators: transition, closed-form weights, Statement 2 against a linear program, amplification by enumeration."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ppdm_sql.itemsets import Operator, best_operator, extremal, lowest_discoverable, lowest_discoverable_of_sizes
from ppdm_sql.itemsets.choosing import RHOS
from ppdm_sql.itemsets.operator import default_probabilities

GAMMAS = (1.5, 3.0, 9.0, 19.0, 99.0, 1e4)

operators = st.integers(1, 8).flatmap(
    lambda size: st.tuples(
        st.floats(0.02, 0.9), st.lists(st.floats(0.01, 1.0), min_size=size + 1, max_size=size + 1)
    ).map(lambda drawn: Operator(drawn[0], tuple(np.array(drawn[1]) / np.sum(drawn[1]))))
)


@given(operators, st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_rows_of_the_transition_sum_to_one(operator, items):
    P = operator.transition(items)
    assert P.shape == (min(items, operator.size) + 1, items + 1)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)


@given(operators, st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_the_weights_are_the_last_column_of_the_inverse(operator, items):
    if items > operator.size:
        assert not operator.weights(items).any()
    elif abs(operator.contrast(items)) > 1e-4:
        expected = np.zeros(items + 1)
        expected[items] = 1
        weights = operator.weights(items)
        np.testing.assert_allclose(operator.transition(items) @ weights, expected, atol=1e-9 * np.abs(weights).max())
        if np.linalg.cond(operator.transition(items)) < 1e8:
            np.testing.assert_allclose(weights, np.linalg.inv(operator.transition(items))[:, items], rtol=1e-5)


def test_the_transition_is_that_of_the_three_steps():
    """Against the definition itself: every j, every choice of items, every coin, one by one."""
    operator, held, items = Operator(0.3, (0.1, 0.2, 0.3, 0.4)), 2, 3
    basket, itemset = {0, 1, 2}, [0, 1, 7]
    found = np.zeros(items + 1)
    for j, probability in enumerate(operator.keep):
        for kept in combinations(sorted(basket), j):
            for coin in (0, 1):
                seen = sum(item in kept for item in itemset[:held]) + coin
                found[seen] += probability / math.comb(3, j) * (0.3 if coin else 0.7)
    np.testing.assert_allclose(operator.transition(items)[held], found, rtol=1e-12)


@pytest.mark.parametrize("size", range(1, 11))
@pytest.mark.parametrize("gamma", [2.0, 19.0])
def test_statement_2_against_a_linear_program(size, gamma):
    for rho in (0.05, 0.3, 0.6):
        default = default_probabilities(size, np.array([rho]))[0]
        j = np.arange(size + 1)
        for value in (j.astype(float), np.array([math.comb(i, 2) for i in j], float), np.sqrt(j)):
            if not value.any():
                continue
            ratios = [
                (np.eye(size + 1)[one] / default[one] - gamma * np.eye(size + 1)[other] / default[other])
                * default[other]
                for one in j
                for other in j
                if one != other
            ]
            best = linprog(-value, A_ub=ratios, b_ub=np.zeros(len(ratios)), A_eq=[np.ones(size + 1)], b_eq=[1])
            assert best.status == 0
            ours = max(np.array(extremal(size, gamma, rho, jump).keep) @ value for jump in range(size))
            assert ours == pytest.approx(-best.fun, rel=1e-6)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_every_chosen_operator_meets_condition_5(gamma):
    for size in range(41):
        operator = best_operator(size, gamma)
        assert operator.amplification <= gamma * (1 + 1e-12)
        if size:
            balanced = operator.balanced
            jump = int((balanced < balanced.max() * 0.999).sum()) - 1
            np.testing.assert_allclose(balanced[: jump + 1], balanced[0], rtol=1e-9)
            np.testing.assert_allclose(balanced[jump + 1 :], gamma * balanced[0], rtol=1e-9)


@pytest.mark.parametrize(("size", "items"), [(1, 4), (2, 5), (3, 6)])
def test_amplification_of_the_whole_operator_by_enumeration(size, items):
    operator = best_operator(size, 9.0)
    baskets = list(combinations(range(items), size))
    largest = 0.0
    for number in range(1 << items):
        output = {i for i in range(items) if number >> i & 1}
        chances = []
        for basket in baskets:
            kept = len(output & set(basket))
            extra = len(output) - kept
            chances.append(
                operator.keep[kept]
                / math.comb(size, kept)
                * operator.rho**extra
                * (1 - operator.rho) ** (items - size - extra)
            )
        largest = max(largest, max(chances) / min(chances))
    assert largest == pytest.approx(9.0, rel=1e-9)
    assert largest == pytest.approx(operator.amplification, rel=1e-9)


def test_a_choice_is_the_best_among_all_that_are_tried():
    size, gamma = 5, 19.0
    chosen = best_operator(size, gamma)
    least = max(lowest_discoverable(chosen, k, 5e6) for k in (1, 2, 3))
    for rho in RHOS[::25]:
        for jump in range(size):
            other = extremal(size, gamma, rho, jump)
            assert max(lowest_discoverable(other, k, 5e6) for k in (1, 2, 3)) > least * 0.995


def test_the_paper_s_lowest_discoverable_support():
    """About 0.5 % for a breach level of 5 % to 50 %, size 5, five million baskets; falling as 1 / sqrt(N)."""
    gamma = 0.5 / 0.05 * 0.95 / 0.5
    operator = best_operator(5, gamma)
    worst = max(lowest_discoverable(operator, k, 5e6) for k in (1, 2, 3))
    assert 0.0045 < worst < 0.0055
    assert max(lowest_discoverable(operator, k, 20e6) for k in (1, 2, 3)) == pytest.approx(worst / 2, rel=0.02)


def test_what_is_discoverable_is_what_an_estimate_can_tell_from_zero():
    operator, baskets = best_operator(5, 19.0), 1e6
    support = lowest_discoverable(operator, 2, baskets)
    P, weights = operator.transition(2), operator.weights(2)
    variance = (1 - support) * (P[0] @ weights**2) + support * (P[2] @ weights**2 - 1)
    assert support == pytest.approx(4 * math.sqrt(variance / baskets), rel=1e-9)


def test_baskets_that_are_too_small_for_an_itemset_do_not_hide_it():
    large = best_operator(5, 19.0)
    alone = lowest_discoverable_of_sizes({5: (large, 1e6)}, 3)
    mixed = lowest_discoverable_of_sizes({5: (large, 1e6), 1: (best_operator(1, 19.0), 1e6)}, 3)
    assert mixed == pytest.approx(alone / 2, rel=0.02)
    assert lowest_discoverable(best_operator(2, 19.0), 3, 1e9) == math.inf
    assert lowest_discoverable(large, 3, 10.0) == math.inf


@pytest.mark.parametrize(
    ("rho", "keep", "message"),
    [(1.0, (0.5, 0.5), "rho"), (0.5, (0.5, 0.6), "sum to 1"), (0.5, (), "probability"), (0.5, (2.0, -1.0), "probab")],
)
def test_parameters_that_cannot_be_meant(rho, keep, message):
    with pytest.raises(ValueError, match=message):
        Operator(rho, keep)
