from __future__ import annotations

import hashlib

import numpy as np
import pytest
from ppdm_udfs import Assignment, KernelError, perturb_parts, position_blocks
from scipy.stats import chi2

KEY = hashlib.sha256(b"parts").digest()
ADDRESS = {"key": KEY, "table": "t", "column": "c"}
COUNTS = np.array([[6, 6, 0, 1], [2, 0, 9, 3], [0, 2, 1, 0]])


def index_of(rows: int) -> np.ndarray:
    return np.random.default_rng(2).integers(0, 4, rows).astype(np.uint64)


def test_rows_go_to_parts_as_often_as_they_should():
    index = index_of(200_000)
    part = Assignment(COUNTS).parts(index, **ADDRESS, rows=position_blocks(0, len(index)))
    observed = np.zeros(COUNTS.shape)
    np.add.at(observed, (part, index.astype(int)), 1)
    assert (observed[COUNTS == 0] == 0).all()
    expected = observed.sum(axis=0) * COUNTS / COUNTS.sum(axis=0)
    score = ((observed - expected)[COUNTS > 0] ** 2 / expected[COUNTS > 0]).sum()
    freedom = (COUNTS > 0).sum() - 4
    assert chi2.ppf(1e-4, freedom) < score < chi2.ppf(1 - 1e-4, freedom)


def test_the_same_part_for_ever_whatever_the_batch():
    index = index_of(1_000)
    blocks = position_blocks(0, 1_000)
    assignment = Assignment(COUNTS)
    whole = assignment.parts(index, **ADDRESS, rows=blocks)
    halves = [assignment.parts(index[s], **ADDRESS, rows=blocks[s]) for s in (slice(0, 300), slice(300, 1_000))]
    assert np.concatenate(halves).tolist() == whole.tolist()
    assert whole[:24].tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 2, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 2, 0]
    other = assignment.parts(index, key=KEY, table="t", column="d", rows=blocks)
    assert (other != whole).any()


def test_one_part_and_values_that_never_occur():
    part = Assignment(np.array([[0, 3]])).parts(np.ones(5, np.uint64), **ADDRESS, rows=position_blocks(0, 5))
    assert part.tolist() == [0] * 5
    with pytest.raises(KernelError, match="counts of at least 0"):
        Assignment(np.array([[1, -1]]))


def test_values_stay_within_their_part_by_the_law_of_uniform_retention():
    index = index_of(300_000)
    blocks = position_blocks(0, len(index))
    part = Assignment(COUNTS).parts(index, **ADDRESS, rows=blocks)
    values = [np.flatnonzero(row) for row in COUNTS]
    retain = [0.2, 0.5, 0.9]
    moved = perturb_parts(index, part, values, retain, **ADDRESS, rows=blocks)
    score = freedom = 0
    for number, own in enumerate(values):
        observed = np.zeros((4, 4))
        mine = part == number
        np.add.at(observed, (index[mine].astype(int), moved[mine].astype(int)), 1)
        law = np.full((4, 4), 0.0)
        law[np.ix_(own, own)] = (1 - retain[number]) / len(own)
        law[own, own] += retain[number]
        expected = observed.sum(axis=1, keepdims=True) * law
        assert (observed[expected == 0] == 0).all()
        score += ((observed - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
        freedom += len(own) * (len(own) - 1)
    assert chi2.ppf(1e-4, freedom) < score < chi2.ppf(1 - 1e-4, freedom)


def test_a_row_in_a_part_without_its_value_is_an_error():
    with pytest.raises(KernelError, match="none of its value"):
        perturb_parts(
            np.array([3], np.uint64),
            np.array([0], np.int16),
            [np.array([0, 1])],
            [0.5],
            **ADDRESS,
            rows=position_blocks(0, 1),
        )
