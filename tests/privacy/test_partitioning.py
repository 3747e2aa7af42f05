from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import gamma_for_breach, retention_for_gamma
from ppdm_sql.privacy import partitioning
from ppdm_sql.privacy.partitioning import balance, merge, partition, protected_values, rearrange, total_bound

TABLE = np.array([12, 8, 6, 5, 4, 3, 1, 1, 1, 1])
"""The table of the paper's examples."""
COUNTS = st.lists(st.integers(0, 300), min_size=3, max_size=20).filter(lambda counts: sum(counts) > 0)


def test_example_2_of_the_paper():
    assert balance(TABLE, protected_values(TABLE, 1 / 3)).tolist() == [
        [6, 6, 6, 0, 0, 0, 0, 0, 0, 0],
        [4, 0, 0, 4, 4, 0, 0, 0, 0, 0],
        [2, 2, 0, 0, 0, 2, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 1, 1, 1],
    ]


def test_examples_1_and_4_of_the_paper():
    protected = protected_values(TABLE, 1 / 3)
    groups = balance(TABLE, protected)
    parts = merge(groups[[0, 2, 1, 3, 4]], protected, 2 / 3)
    assert [part.counts for part in parts] == [(12, 8, 6, 4, 4, 2, 0, 0, 0, 0), (0, 0, 0, 1, 0, 1, 1, 1, 1, 1)]
    assert [part.gamma for part in parts] == pytest.approx([4, 10])
    # the paper's 4/9, 2/3 and 4/13 are the chances that a value is published as itself, kept or drawn
    published = [part.retention + (1 - part.retention) / len(part.values) for part in parts]
    assert published == pytest.approx([4 / 9, 2 / 3])
    whole = retention_for_gamma(gamma_for_breach(1 / 3, 2 / 3), 10)
    assert whole + (1 - whole) / 10 == pytest.approx(4 / 13)
    assert total_bound(parts) == pytest.approx(2.0196, abs=5e-5)


def test_merging_is_the_best_of_all_ways_to_unite_neighbours():
    protected = protected_values(TABLE, 1 / 3)
    groups = balance(TABLE, protected)
    best = total_bound(merge(groups, protected, 2 / 3))
    bounds = []
    for cuts in range(2 ** (len(groups) - 1)):
        ends = [i + 1 for i in range(len(groups) - 1) if cuts >> i & 1]
        pieces = np.split(groups, ends)
        parts = [partitioning.part_of(piece.sum(axis=0), protected, 2 / 3) for piece in pieces]
        bounds.append(total_bound(parts))
    assert best == pytest.approx(min(bounds))


@settings(deadline=None)
@given(COUNTS, st.floats(0.05, 0.5), st.floats(0.05, 0.4))
def test_every_row_is_in_one_part_and_no_posterior_passes_rho2(counts, rho1, more):
    rho2 = min(rho1 + more, 0.95)
    try:
        parts = partition(counts, rho1, rho2)
    except PolicyError:
        return
    assert np.sum([part.counts for part in parts], axis=0).tolist() == counts
    protected = protected_values(np.array(counts), rho1)
    for part in parts:
        shares = np.array(part.counts) / part.rows
        inside = list(part.values)
        channel = np.full((len(inside), len(inside)), (1 - part.retention) / len(inside))
        channel[np.diag_indices(len(inside))] += part.retention
        joint = shares[inside][:, None] * channel
        posterior = joint / joint.sum(axis=0)
        assert posterior[protected[inside]].max() <= rho2 * (1 + 1e-9)


@given(COUNTS)
def test_groups_are_as_balanced_as_the_table(counts):
    table = np.array(counts)
    groups = balance(table, table > 0)
    assert groups.sum(axis=0).tolist() == counts
    theta = table.sum() // table.max()
    assert (groups.max(axis=1) * theta <= groups.sum(axis=1)).all()
    assert sorted(rearrange(groups).tolist()) == list(range(len(groups)))


@given(COUNTS, st.floats(0.05, 0.5))
def test_unprotected_values_are_spread_by_size(counts, rho1):
    table = np.array(counts)
    try:
        protected = protected_values(table, rho1)
    except PolicyError:
        return
    groups = balance(table, protected)
    assert groups.sum(axis=0).tolist() == counts
    assert (groups >= 0).all()
    sizes = groups[:, protected].sum(axis=1)
    others = groups[:, ~protected].sum(axis=1)
    assert (others[:-1] == sizes[:-1] * others.sum() // sizes.sum()).all()


@pytest.mark.parametrize(
    ("counts", "rho1", "rho2", "message"),
    [
        ([0, 0, 0], 0.3, 0.5, "the table is empty"),
        ([50, 50], 0.3, 0.5, "use a larger rho1"),
        ([10, 10, 10], 0.4, 0.3, "Use a larger rho2"),
    ],
)
def test_what_cannot_be_had(counts, rho1, rho2, message):
    with pytest.raises(PolicyError, match=message):
        partition(counts, rho1, rho2)
