"""A tree on Adult, every column and the class perturbed, against scikit-learn's tree on the originals."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import trees_on_adult as adult

pytestmark = pytest.mark.skipif(not adult.ADULT.exists(), reason="adult.parquet is not beside the project")


def test_at_half_retention_within_three_points_of_the_originals():
    train, test = adult.rows_of("train"), adult.rows_of("test")
    key = hashlib.sha256(b"adult").digest()
    ours, _ = adult.reconstructed(train, test, 0.5, 3, key)
    originals = adult.by_scikit_learn(train, test, 3)
    assert ours > originals - 0.03
