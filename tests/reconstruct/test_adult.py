"""The L1 error of the state distribution on Adult, with the predicates of "Privacy Preserving OLAP" (section 6).

The reference numbers are means of 5 draws, so they are compared with the mean of many, and allowed three standard
errors of such a mean of 5.
"""

from pathlib import Path

import numpy as np
import pytest

from ppdm_sql.channels.axis import Axis
from ppdm_sql.reconstruct import forward, invert, replicate, solve

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult.parquet"

pytestmark = pytest.mark.skipif(not ADULT.exists(), reason="adult.parquet is not beside the project")

# Column, the paper's domain, the paper's range; the query of k columns takes the first k.
PREDICATES = [
    ("age", (17, 90), (25, 45)),
    ("fnlwgt", (10_000, 1_500_000), (100_000, 1_000_000)),
    ("hours_per_week", (1, 100), (30, 60)),
    ("education_num", (1, 16), (5, 10)),
]
# (k, p): perturbed, inversion, Bayes.
REFERENCE = {
    (1, 0.5): (0.252, 0.0107, 0.0107),
    (1, 0.3): (0.349, 0.0130, 0.0130),
    (1, 0.2): (0.396, 0.0155, 0.0155),
    (2, 0.5): (0.299, 0.0183, 0.0183),
    (2, 0.3): (0.404, 0.0259, 0.0259),
    (2, 0.2): (0.450, 0.073, 0.073),
    (3, 0.5): (0.594, 0.041, 0.041),
    (3, 0.3): (0.810, 0.170, 0.129),
    (3, 0.2): (0.916, 0.547, 0.217),
    (4, 0.5): (0.632, 0.117, 0.102),
    (4, 0.3): (0.833, 0.784, 0.285),
    (4, 0.2): (0.922, 2.48, 0.376),
}
DRAWS = 1000


@pytest.fixture(scope="module")
def adult():
    import pyarrow.parquet as pq

    table = pq.read_table(ADULT, columns=[name for name, _, _ in PREDICATES], filters=[("split", "=", "train")])
    return {name: table[name].to_numpy() for name in table.column_names}


def states(adult, columns):
    counts = np.zeros((2,) * columns)
    cells = [
        np.where((adult[name] >= low) & (adult[name] <= high), 0, 1) for name, _, (low, high) in PREDICATES[:columns]
    ]
    np.add.at(counts, tuple(cells), 1)
    return counts


def axes_of(columns, retain):
    shares = [(high - low + 1) / (top - bottom + 1) for _, (bottom, top), (low, high) in PREDICATES[:columns]]
    return [Axis(retain, (share, 1 - share)) for share in shares]


@pytest.mark.parametrize(("columns", "retain"), REFERENCE)
def test_the_table_is_met(adult, columns, retain):
    x, axes = states(adult, columns), axes_of(columns, retain)
    assert x.sum() == 32_561
    y = replicate(x, axes, DRAWS, np.random.default_rng(5))
    over = tuple(range(1, columns + 1))
    bayes = solve(y, axes)
    assert bayes.converged.all()
    for name, estimate, reference in zip(
        ("perturbed", "inversion", "Bayes"), (y, invert(y, axes), bayes.x), REFERENCE[columns, retain], strict=True
    ):
        distance = np.abs(estimate - x).sum(axis=over) / x.sum()
        of_five = distance.std() / np.sqrt(5)
        assert abs(distance.mean() - reference) < 3 * of_five, (name, distance.mean(), of_five)
    expected = np.abs(forward(x, axes) - x).sum() / x.sum()
    assert np.abs(y - x).sum(axis=over).mean() / x.sum() == pytest.approx(expected, abs=0.004)
