"""The numbers that the papers print."""

from __future__ import annotations

import math

import numpy as np
import pytest
from paper_channels import IS_ZERO, OUTSIDE, PRIOR, mixed, noise, others

from ppdm_sql.mechanisms.retention import retention_for_gamma
from ppdm_sql.privacy import (
    MatrixChannel,
    UniformChannel,
    excludes_breach,
    excludes_subset_breach,
    highest_posterior,
    identity_safe_prior,
    inverse_worst_case_information,
    mutual_information,
    output_information,
    property_posterior,
    safe_prior,
    safe_relative_prior,
    safe_relative_prior_of_row,
    safe_retention_of_row,
    worst_case_information,
)


def test_prior_of_example_1():
    assert PRIOR[IS_ZERO].sum() == pytest.approx(0.01)
    assert 100 * PRIOR[OUTSIDE].sum() == pytest.approx(40.5, abs=0.05)


@pytest.mark.parametrize(("make", "zero", "outside"), [(others, 71.6, 83.0), (noise, 4.8, 100.0), (mixed, 2.9, 70.8)])
def test_table_1_posteriors(make, zero, outside):
    channel = make()
    assert round(100 * property_posterior(channel, PRIOR, IS_ZERO, 0), 1) == zero
    assert round(100 * property_posterior(channel, PRIOR, OUTSIDE, 0), 1) == outside


@pytest.mark.parametrize(
    ("make", "mutual", "worst", "inverse"),
    [(others, 1.27, 3.90, 1.72), (noise, 2.32, 2.33, math.inf), (mixed, 0.55, 0.55, 0.49)],
)
def test_table_2_information(make, mutual, worst, inverse):
    channel = make()
    assert round(mutual_information(channel, PRIOR), 2) == mutual
    assert round(worst_case_information(channel, PRIOR), 2) == worst
    assert round(inverse_worst_case_information(channel, PRIOR), 2) == inverse


def test_the_first_channel_is_a_uniform_one():
    """Kept with 20 %, else another: the same as kept with p, else any, for p + (1 - p) / 1001 = 0.2."""
    uniform = UniformChannel((0.2 - 1 / 1001) / (1 - 1 / 1001), 1001)
    assert np.allclose(uniform.matrix(), others().matrix())
    for measure in (mutual_information, worst_case_information, inverse_worst_case_information):
        assert measure(uniform, PRIOR) == pytest.approx(measure(others(), PRIOR))


def test_example_2():
    coin = MatrixChannel([[0.6, 0.4], [0.4, 0.6]])
    rarely = MatrixChannel([[99e-6, 1e-6, 0.9999], [1e-6, 99e-6, 0.9999]])
    half = [0.5, 0.5]
    assert np.round(output_information(coin, half), 5).tolist() == [0.02905, 0.02905]
    assert mutual_information(coin, half) == pytest.approx(0.02905, abs=5e-6)
    assert np.round(output_information(rarely, half), 5).tolist() == [0.91921, 0.91921, 0.0]
    assert mutual_information(rarely, half) == pytest.approx(0.0001 * 0.91921, rel=1e-5)
    assert property_posterior(rarely, half, [False, True], 1) == pytest.approx(0.99)


def test_the_mixed_channel_amplifies_less_than_six_times():
    gamma = mixed().gamma
    assert gamma == pytest.approx(1 + 1001 / 201)
    assert gamma < 6
    assert excludes_breach(gamma, 1 / 7, 1 / 2)
    assert highest_posterior(gamma, 1 / 7) < 1 / 2
    assert math.isinf(noise().gamma)
    assert not excludes_breach(others().gamma, 1 / 7, 1 / 2)


def test_olap_one_column():
    assert safe_relative_prior(0.2, 0.1, 0.95) == pytest.approx(68)
    assert excludes_subset_breach(0.2, 68, 0.1, 0.95)
    assert not excludes_subset_breach(0.2, 68.001, 0.1, 0.95)


def test_olap_rare_sets():
    """A set with a relative prior below 1 and a prior of 0.937 stays below 0.95."""
    assert excludes_subset_breach(0.2, 1, 0.937, 0.95)
    assert not excludes_subset_breach(0.2, 1, 0.938, 0.95)
    assert math.floor(1000 * safe_prior(0.2, 1, 0.95)) == 937
    assert identity_safe_prior(0.2, 0.95) == pytest.approx((0.95 - 0.2) / (1 - 0.2))


def test_olap_two_columns():
    assert math.floor(safe_relative_prior_of_row([0.2, 0.2], 0.1, 0.95)) == 273
    assert safe_relative_prior_of_row([0.2, 0.2], 0.1, 0.95, [0.001, 0.001]) < 273


def test_olap_section_7():
    """Sets of a tenth of each domain, from 0.5 to 0.95: rare ones allow a retention of 0.8, all of them 0.3."""
    for columns, most in ((2, 15), (3, 30)):
        assert safe_retention_of_row(columns, 0.1, 0.5, 0.95, share=0.1) > 0.8
        assert safe_retention_of_row(columns, most, 0.5, 0.95, share=0.1) > 0.3


def test_small_domains_table_1():
    sizes = (77, 70, 50, 14, 9, 7, 6, 2)
    retains = [retention_for_gamma(5, size) for size in sizes]
    assert [round(100 * p) for p in retains] == [5, 5, 7, 22, 31, 36, 40, 67]
    assert [round(100 * (1 - p) / m) for p, m in zip(retains, sizes, strict=True)] == [1, 1, 2, 6, 8, 9, 10, 17]
    for p, m in zip(retains, sizes, strict=True):
        assert UniformChannel(p, m).gamma == pytest.approx(5)
