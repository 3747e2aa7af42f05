from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_sql.mining.splits import best_split, impurity

COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=2, max_size=7)


def gain(left: np.ndarray, whole: np.ndarray, criterion: str) -> float:
    parts = impurity(left, criterion) + impurity(whole - left, criterion)
    return float(impurity(whole, criterion) - parts)


@given(COUNTS, st.sampled_from(["gini", "entropy"]))
def test_categories_of_two_classes_are_split_into_the_best_of_all_subsets(rows, criterion):
    counts = np.array([*rows, (0, 0)], dtype=float)
    found = best_split(counts, ordered=False, criterion=criterion, least=0.0)
    whole = counts.sum(axis=0)
    bins = range(len(rows))
    subsets = itertools.chain(*(itertools.combinations(bins, size) for size in range(1, len(rows))))
    best = max(gain(counts[list(chosen)].sum(axis=0), whole, criterion) for chosen in subsets)
    assert found is not None
    assert found.gain == pytest.approx(best, abs=1e-9)


@given(COUNTS, st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_an_ordered_feature_is_cut_at_its_best_place_and_null_goes_right(rows, nulls):
    counts = np.array([*rows, nulls], dtype=float)
    found = best_split(counts, ordered=True, criterion="gini", least=0.0)
    whole = counts.sum(axis=0)
    best = max(gain(counts[:cut].sum(axis=0), whole, "gini") for cut in range(1, len(rows)))
    assert found is not None
    assert found.gain == pytest.approx(best, abs=1e-9)
    assert found.left == tuple(range(len(found.left)))


def test_a_side_with_too_few_rows_is_no_split():
    counts = np.array([[3.0, 0.0], [50.0, 60.0], [0.0, 0.0]])
    assert best_split(counts, ordered=True, criterion="gini", least=5.0) is None


def test_the_gain_in_gini_is_the_squared_difference_of_shares():
    yes, no = np.array([30.0, 12.0]), np.array([9.0, 41.0])
    gaps = yes / yes.sum() - no / no.sum()
    assert gain(yes, yes + no, "gini") == pytest.approx(yes.sum() * no.sum() / (yes + no).sum() * (gaps**2).sum())
