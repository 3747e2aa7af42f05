"""Errors that are predicted before a release, against the spread of simulated releases."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ppdm_udfs import perturb_indices, position_blocks

from ppdm_sql.channels.axis import Axis
from ppdm_sql.privacy import (
    UniformChannel,
    bound_error,
    bound_rows,
    condition_number,
    count_error,
    likely_error,
    retention_for_error,
    row_variance,
    rows_for_error,
    states_error,
)
from ppdm_sql.reconstruct.inversion import invert

RELEASES = 1000
CASES = {
    "one condition": ([0.3], [0.4], [0.4]),
    "a narrow one": ([0.5], [0.01], [0.2]),
    "a wide one": ([0.2], [0.9], [0.05]),
    "two": ([0.3, 0.6], [0.5, 0.1], [0.3, 0.5]),
    "three": ([0.4, 0.4, 0.8], [0.25, 0.5, 0.5], [0.5, 0.2, 0.9]),
    "four": ([0.5, 0.5, 0.5, 0.5], [0.3, 0.3, 0.3, 0.3], [0.6, 0.6, 0.6, 0.6]),
}


def axes_of(retains, shares) -> list[Axis]:
    return [Axis(p, (1 - b, b)) for p, b in zip(retains, shares, strict=True)]


def independent_counts(rows: int, selectivities) -> np.ndarray:
    """Rows by the conditions they meet, met independently of each other."""
    shares = np.ones(1)
    for met in selectivities:
        shares = np.kron(shares, [1 - met, met])
    return np.round(rows * shares).astype(int).reshape((2,) * len(selectivities))


def simulated_counts(rng, counts, axes, releases) -> np.ndarray:
    """The estimate of the count under all conditions, from each of many releases of the same table."""
    matrix = np.ones((1, 1))
    for axis in axes:
        matrix = np.kron(matrix, axis.transition())
    observed = sum(rng.multinomial(n, chances, releases) for n, chances in zip(counts.ravel(), matrix, strict=True))
    return invert(observed.reshape(releases, *counts.shape), axes)[(..., *(1,) * counts.ndim)]


@pytest.mark.parametrize("name", CASES)
def test_predicted_errors_are_the_spread_of_simulated_releases(name):
    retains, shares, met = CASES[name]
    counts = independent_counts(40_000, met)
    estimates = simulated_counts(np.random.default_rng(3), counts, axes_of(retains, shares), RELEASES)
    predicted = count_error(counts.sum(), retains, shares, met) * counts.sum()
    assert estimates.std(ddof=1) == pytest.approx(predicted, rel=0.05)
    assert estimates.mean() == pytest.approx(counts[(1,) * counts.ndim], abs=4 * predicted / RELEASES**0.5)
    # Ten times as many releases tell formulas apart that 5 % do not.
    many = simulated_counts(np.random.default_rng(4), counts, axes_of(retains, shares), 10 * RELEASES)
    assert many.std(ddof=1) == pytest.approx(predicted, rel=0.02)


@pytest.mark.parametrize("name", ["two", "three"])
def test_conditions_that_depend_on_each_other(name):
    retains, shares, _ = CASES[name]
    rng = np.random.default_rng(5)
    counts = np.full((2,) * len(retains), 1_000)
    counts[(0,) * len(retains)], counts[(1,) * len(retains)] = 9_000, 15_000  # mostly all are met, or none
    predicted = states_error(retains, shares, counts) * counts.sum()
    estimates = simulated_counts(rng, counts, axes_of(retains, shares), 40 * RELEASES)
    assert estimates.std(ddof=1) == pytest.approx(predicted, rel=0.01)
    margins = [counts.sum(axis=tuple(set(range(counts.ndim)) - {i}))[1] / counts.sum() for i in range(counts.ndim)]
    # and independence would have said something else
    assert count_error(counts.sum(), retains, shares, margins) * counts.sum() != pytest.approx(predicted, rel=0.015)


def test_independent_states_have_the_error_of_their_margins():
    for retains, shares, met in CASES.values():
        counts = np.ones(1)
        for share in met:
            counts = np.kron(counts, [1 - share, share])
        exact = states_error(retains, shares, 1000 * counts.reshape((2,) * len(met)))
        assert exact == pytest.approx(float(count_error(1000, retains, shares, met)))


def test_the_kernels_releases_spread_as_predicted():
    """The same through the code that perturbs: a thousand keys, two columns, dependent conditions."""
    rows, sizes, retains = 1_500, (10, 4), (0.4, 0.6)
    rng = np.random.default_rng(6)
    first = rng.integers(0, 10, rows)
    columns = (first, np.minimum(first // 3 + rng.integers(0, 2, rows), 3))
    holds, shares = (np.arange(10) < 3, np.arange(4) < 2), (0.3, 0.5)
    weights = [(h - (1 - p) * b) / p for h, p, b in zip(holds, retains, shares, strict=True)]
    estimates = []
    for number in range(RELEASES):
        key = hashlib.sha256(f"accuracy {number}".encode()).digest()
        product = np.ones(rows)
        for i, column in enumerate(columns):
            published = perturb_indices(
                column.astype(np.uint64), sizes[i], retains[i], key=key, table="t", column=f"c{i}",
                rows=position_blocks(0, rows), threads=1,
            )  # fmt: skip
            product *= weights[i][published.astype(int)]
        estimates.append(product.sum())
    met = [h[c].astype(int) for h, c in zip(holds, columns, strict=True)]
    counts = np.bincount(2 * met[0] + met[1], minlength=4).reshape(2, 2)
    assert np.std(estimates, ddof=1) == pytest.approx(states_error(retains, shares, counts) * rows, rel=0.05)
    assert np.mean(estimates) == pytest.approx(counts[1, 1], abs=4 * np.std(estimates) / RELEASES**0.5)


@settings(deadline=None)
@given(
    p=st.floats(0.01, 0.99),
    b=st.floats(0.001, 0.999),
    met=st.floats(0, 1),
    k=st.integers(1, 4),
    rows=st.integers(10, 10**9),
)
def test_the_retention_for_an_error_gives_that_error(p, b, met, k, rows):
    error = count_error(rows, np.full(k, p), b, met)
    assert retention_for_error(error, rows, b, met, k) == pytest.approx(p, rel=1e-6)
    enough = float(rows_for_error(error, np.full(k, p), b, met))
    assert enough == pytest.approx(rows, rel=1e-6, abs=1)
    assert row_variance(np.full(k, min(1, p * 1.01)), b, met) <= row_variance(np.full(k, p), b, met) * (1 + 1e-12)


def test_many_cases_at_once():
    retain = np.array([0.1, 0.5, 1.0])[:, None, None] * np.ones((3, 1, 2))
    errors = count_error(1000, retain, [0.5, 0.25], [0.5, 0.5])
    assert errors.shape == (3, 1)
    assert errors[2, 0] == 0
    assert errors[0, 0] == pytest.approx(float(count_error(1000, [0.1, 0.1], [0.5, 0.25], 0.5)))
    found = retention_for_error([0.01, 0.02], [[1000], [10_000]], 0.5, 0.5, predicates=2)
    assert found.shape == (2, 2)
    assert (np.diff(found, axis=1) < 0).all()
    assert (np.diff(found, axis=0) < 0).all()


def test_theorem_1_holds_and_is_loose():
    """Its error is exceeded by fewer than delta of the releases: by far fewer; the exact one by about delta."""
    rng, delta, ratios = np.random.default_rng(7), 0.05, []
    for p, b, met, rows in itertools.product((0.2, 0.5), (0.1, 0.5), (0.1, 0.5), (1_000, 20_000)):
        counts = independent_counts(rows, [met])
        estimates = simulated_counts(rng, counts, axes_of([p], [b]), 4 * RELEASES)
        misses = np.abs(estimates - counts[1]) / rows
        promised, exact = bound_error(rows, p, delta), likely_error(count_error(rows, p, b, met), delta)
        assert (misses > promised).mean() <= delta
        assert (misses > exact).mean() == pytest.approx(delta, abs=0.015)
        assert bound_rows(promised, p, delta) == pytest.approx(rows, abs=1)
        ratios.append(float(promised / exact))
    assert min(ratios) > 3.5
    print(f"theorem 1's error is {min(ratios):.1f} to {max(ratios):.1f} times what happens")


@settings(deadline=None)
@given(p=st.lists(st.floats(0.01, 1), min_size=1, max_size=3), b=st.floats(0, 1))
def test_condition_number_is_that_of_the_matrix(p, b):
    matrix = np.ones((1, 1))
    for retain in p:
        matrix = np.kron(matrix, Axis(retain, (1 - b, b)).transition())
    assert condition_number(p, b) == pytest.approx(np.linalg.cond(matrix), rel=1e-6)


def test_condition_number_of_even_cells_is_the_retention_to_the_minus_k():
    assert condition_number([0.2] * 3, 0.5) == pytest.approx(0.2**-3)
    assert np.linalg.cond(UniformChannel(0.2, 7).matrix()) == pytest.approx(1 / 0.2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: count_error(0, 0.5, 0.5, 0.5),
        lambda: count_error(10, 0.0, 0.5, 0.5),
        lambda: count_error(10, 0.5, 1.5, 0.5),
        lambda: count_error(10, 0.5, 0.5, -0.5),
        lambda: retention_for_error(0, 10, 0.5, 0.5),
        lambda: retention_for_error(0.1, 10, 0.5, 0.5, 0),
        lambda: rows_for_error(0, 0.5, 0.5, 0.5),
        lambda: states_error([0.5], [0.5], [[1, 2], [3, 4]]),
        lambda: bound_error(10, 0.5, 1),
        lambda: condition_number(0, 0.5),
        lambda: likely_error(-1, 0.5),
    ],
)
def test_what_cannot_be_meant_is_refused(call):
    with pytest.raises(ValueError):
        call()
