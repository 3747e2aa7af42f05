"""Quantiles of known counts are DuckDB's own; of estimated ones, the interval turns the count's error around."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from ppdm_sql.reconstruct.quantile import quantile


def certain(phi: np.ndarray) -> np.ndarray:
    return np.zeros(len(phi))


@pytest.mark.parametrize("rows", [1, 2, 3, 10, 101])
@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.9, 0.99])
def test_with_known_counts_it_is_what_duckdb_gives(rows, fraction):
    rng = np.random.default_rng(rows)
    values = rng.integers(0, 20, rows)
    counts = np.bincount(values, minlength=20).astype(float)[None, :]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest(?::INT[]) AS x", [values.tolist()])
        truth = con.sql(
            f"SELECT quantile_cont(x, {fraction}::DOUBLE), quantile_disc(x, {fraction}::DOUBLE), "
            f"percentile_disc({fraction}::DOUBLE) WITHIN GROUP (ORDER BY x DESC) FROM t"
        ).fetchall()[0]
    found = []
    for interpolated, from_top in ((True, False), (False, False), (False, True)):
        its = quantile(counts, certain, fraction, interpolated, from_top, 1.96)
        found.append(float(its.below[0] + its.part[0] * (its.above[0] - its.below[0])))
        assert its.low[0] == its.below[0]
        assert its.high[0] == its.above[0]
    assert found == pytest.approx(truth)


def test_the_interval_is_where_the_count_passes_its_own():
    counts = np.full((1, 100), 10.0)
    found = quantile(counts, lambda phi: np.array([50.0**2]), 0.5, True, False, 2.0)
    assert (found.low[0], found.below[0], found.high[0]) == (39, 49, 59)


def test_it_is_the_variance_of_the_count_below_less_its_share():
    counts = np.ones((1, 8))
    asked = []
    quantile(counts, lambda phi: asked.append(phi) or np.zeros(1), 0.25, False, False, 2.0)
    np.testing.assert_allclose(asked[0][0], [0.75, 0.75] + [-0.25] * 6)


def test_negative_counts_do_not_make_it_jump():
    counts = np.array([[10.0, -4.0, 10.0, 4.0, -2.0, 12.0, 10.0]])
    places = [int(quantile(counts, certain, q, False, False, 2.0).below[0]) for q in np.linspace(0.05, 0.95, 19)]
    assert places == sorted(places)


def test_an_end_outside_of_all_counts_is_the_domains_own():
    counts = np.full((1, 10), 5.0)
    found = quantile(counts, lambda phi: np.array([1000.0**2]), 0.5, False, False, 2.0)
    assert (found.low[0], found.high[0]) == (0, 9)


def test_nobody_has_no_quantile():
    found = quantile(np.array([[0.0, 0.0], [-3.0, 1.0], [2.0, 1.0]]), certain, 0.5, True, False, 2.0)
    assert found.known.tolist() == [False, False, True]
