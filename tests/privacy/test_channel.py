"""Channels as values: of columns, and what is none."""

from __future__ import annotations

import numpy as np
import pytest

from ppdm_sql.policy import bind, load_policy
from ppdm_sql.privacy import (
    MatrixChannel,
    RetentionChannel,
    UniformChannel,
    channel_of,
    epsilon,
    excludes_breach,
    highest_posterior,
    posterior,
    property_posterior,
    seen_posterior,
    worst_case_information,
)


def bound(body: dict, type_name: str):
    [column] = load_policy({"table": "t", "columns": {"x": body}}).columns
    return bind(column, type_name)


def test_the_channel_of_a_uniform_column():
    body = {"mechanism": "uniform", "domain": {"min": 1, "max": 9}, "nulls": "value", "gamma": 5}
    channel = channel_of(bound(body, "INTEGER"))
    assert channel == UniformChannel(4 / 14, 10)
    assert channel.gamma == pytest.approx(5)


def test_the_channel_of_a_custom_column():
    body = {"mechanism": "custom", "replace": {"values": ["a", "b", "c"], "weights": [6, 3, 1]}, "gamma": 5}
    channel = channel_of(bound(body, "VARCHAR"))
    assert isinstance(channel, RetentionChannel)
    assert channel.shares.tolist() == pytest.approx([0.6, 0.3, 0.1])
    assert channel.gamma == pytest.approx(5)
    assert channel.matrix().sum(axis=1).tolist() == pytest.approx([1, 1, 1])


def test_fifteen_million_values_need_no_matrix():
    channel = UniformChannel(0.5, 15_000_001)
    assert channel.gamma == 15_000_002
    assert epsilon(channel) == pytest.approx(16.5236, abs=1e-4)
    assert channel.shares.strides == (0,)
    assert float(seen_posterior(channel.retain, 17, 0.1)) == pytest.approx(0.95)


def test_a_million_values_need_no_matrix_for_a_stated_prior():
    channel = UniformChannel(0.5, 1_000_001)
    rare = 0.5 / (channel.size - 1)
    prior = np.full(channel.size, rare)
    prior[41_000] = 0.5  # half of all have one wage
    assert property_posterior(channel, prior, np.arange(channel.size) == 41_000, 41_000) > 0.999999
    # A rare wage, half as common as among draws, is true one time in three: that tells more than the common one.
    worst = np.log2((1 / 3) / rare) / 3 + np.log2(2 / 3) * 2 / 3
    assert worst_case_information(channel, prior) == pytest.approx(worst, rel=1e-4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: UniformChannel(1.1, 3),
        lambda: UniformChannel(0.5, 0),
        lambda: RetentionChannel(-0.1, [1.0]),
        lambda: RetentionChannel(0.5, [0.5, 0.6]),
        lambda: RetentionChannel(0.5, [1.5, -0.5]),
        lambda: MatrixChannel([[0.5, 0.6]]),
        lambda: MatrixChannel([[1.5, -0.5]]),
        lambda: MatrixChannel([0.5, 0.5]),
        lambda: MatrixChannel(np.zeros((0, 3))),
        lambda: posterior(UniformChannel(0.5, 3), [0.5, 0.5], 0),
        lambda: posterior(MatrixChannel([[1.0, 0.0], [1.0, 0.0]]), [0.5, 0.5], 1),
        lambda: property_posterior(UniformChannel(0.5, 2), [0.5, 0.5], [1, 0], 0),
        lambda: highest_posterior(0.5, 0.5),
        lambda: highest_posterior(2, 1.5),
        lambda: excludes_breach(2, 0.5, 0.5),
    ],
)
def test_what_cannot_be_meant_is_refused(call):
    with pytest.raises(ValueError):
        call()


def test_a_single_value_has_nothing_to_hide():
    assert UniformChannel(0.5, 1).gamma == RetentionChannel(0.5, [1.0]).gamma == 1


def test_what_is_never_drawn_or_always_kept_has_no_finite_gamma():
    assert np.isinf([UniformChannel(1.0, 2).gamma, RetentionChannel(0.5, [1.0, 0.0]).gamma]).all()
    assert (
        MatrixChannel([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0]]).gamma == 2
    )  # an output that nothing becomes does not count
