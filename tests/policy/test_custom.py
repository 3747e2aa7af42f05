"""A replacing distribution that the policy gives: what is refused, what is kept, what gamma follows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from ppdm_udfs import KernelError, Values, Weighted

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import gamma_of_retention
from ppdm_sql.policy import bind, explain_policy, load_policy

REPLACE = {"values": [1, 2, 3, 4], "weights": [1, 2, 3, 4]}


def policy(**more):
    column = {"mechanism": "custom", "retain": 0.5, "replace": REPLACE, **more}
    return load_policy({"table": "t", "columns": {"x": column}})


def bound(type_name="INTEGER", **more):
    return bind(policy(**more).columns[0], type_name)


def test_weights_follow_the_domain():
    replace = {"values": [3, 1, 4, 2], "weights": [30, 10, 40, 20]}
    assert bound(replace=replace, domain={"min": 1, "max": 4}).weights == (10, 20, 30, 40)
    assert bound(replace=replace).weights == (30, 10, 40, 20)
    assert bound("DECIMAL(5,1)", replace=replace, domain={"min": 1, "max": 4, "step": 1}).weights == (10, 20, 30, 40)
    assert bound(replace=REPLACE | {"null": 5}, nulls="value").weights == (1, 2, 3, 4, 5)


def test_gamma_is_that_of_the_rarest_value():
    column = bound()
    transitions = 0.5 * np.eye(4) + 0.5 * np.array(column.weights) / 10
    worst = max(transitions[i, y] / transitions[j, y] for y in range(4) for i in range(4) for j in range(4))
    assert gamma_of_retention(column.retain, column.spread) == pytest.approx(worst)
    kept = bind(
        load_policy({"table": "t", "columns": {"x": {"mechanism": "custom", "gamma": 5, "replace": REPLACE}}}).columns[
            0
        ],
        "INTEGER",
    )
    assert gamma_of_retention(kept.retain, kept.spread) == pytest.approx(5)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"replace": {"values": [1, 2], "weights": [1]}}, "2 values and 1 weights"),
        ({"replace": {"values": [1, 2]}}, "no list of weights"),
        ({"replace": {"values": [1, 2], "weights": [1, -1]}}, "at least 0, not -1"),
        ({"replace": {"values": [1, 2], "weights": [1, float("nan")]}}, "at least 0, not nan"),
        ({"replace": {"values": [1, 2], "weights": [1, 0]}}, "a weight is zero"),
        ({"replace": {"values": [1, 2], "weights": [0, 0]}}, "a weight is zero"),
        ({"replace": {"values": [1, 2], "weights": [1, 1e-30]}}, "next to nothing"),
        ({"replace": {"values": [1, 1], "weights": [1, 1]}}, "listed twice"),
        ({"replace": {"values": [1, 2], "weights": [1, "a"]}}, "a weight must be a number"),
        ({"replace": [1, 2]}, "must be a table"),
        ({"nulls": "value"}, "needs a weight for NULL"),
        ({"replace": REPLACE | {"null": 1}}, "has a weight for NULL"),
    ],
)
def test_what_is_refused(more, message):
    with pytest.raises(PolicyError, match=message):
        policy(**more)


def test_the_domain_and_the_weights_are_the_same_values():
    with pytest.raises(PolicyError, match="gives a weight to 4, which is not in its domain"):
        bound(domain={"min": 1, "max": 3})
    with pytest.raises(PolicyError, match=r"1 value of its domain got no weight.*gamma is infinite"):
        bound(domain={"min": 1, "max": 5})
    with pytest.raises(PolicyError, match="at most 65,536"):
        bound(domain={"min": 1, "max": 100_000})
    with pytest.raises(PolicyError, match="replace has no meaning"):
        load_policy({"table": "t", "columns": {"x": {"mechanism": "uniform", "retain": 0.5, "replace": REPLACE}}})


def test_it_is_explained():
    assert "as itself with at least 55 %, as a given other value with 5 % to 20 %" in explain_policy(policy())


def test_bits_are_looked_up_exactly():
    """The ends of each stretch of 64 bits, and that no weight is lost."""
    kernel = Weighted(Values(pa.array(["a", "b", "c"])), 0.5, weights=(1.0, 2.0, 1.0))
    quarter = 1 << 62
    bits = np.array([0, quarter - 1, quarter, 3 * quarter - 1, 3 * quarter, 2**64 - 1], dtype=np.uint64)
    assert kernel.drawn(bits).tolist() == [0, 0, 1, 1, 2, 2]
    with pytest.raises(KernelError, match="never be drawn"):
        Weighted(Values(pa.array(["a", "b"])), 0.5, weights=(1e-25, 1.0))
