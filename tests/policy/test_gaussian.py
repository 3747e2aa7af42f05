"""Gaussian columns of a policy: what may be said, what is refused, how it is kept and explained."""

import json
import math
from dataclasses import replace
from decimal import Decimal

import pytest
from damaged import with_digest

from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import PolicyError, ReleaseError
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn, declared_matrix
from ppdm_sql.policy import Manifest, ReleasedColumn, bind, explain_policy, load_policy


def policy(**columns):
    return load_policy(
        {"table": "t", "columns": {name: {"mechanism": "gaussian"} | body for name, body in columns.items()}}
    )


def bound(type_name="DOUBLE", **body):
    return bind(policy(x={"step": 0.01} | body).columns[0], type_name)


def test_a_column_is_bound_to_its_type_and_released_as_double():
    column = bound("DECIMAL(9,2)", noise=0.5, deviation=3)
    assert isinstance(column, NoisyColumn)
    assert (column.type.name, column.noise, column.step, column.nulls) == ("DOUBLE", 0.5, Decimal("0.01"), "error")
    whole = bind(policy(x={"noise": 1}).columns[0], "INTEGER")
    cents = bind(policy(x={"noise": 1}).columns[0], "DECIMAL(9,2)")
    assert (whole.step, cents.step, cents.units) == (1, Decimal("0.01"), (1, 2))


def test_noise_by_level():
    declared = policy(x={"noise": {"government": 0.25, "public": 1}, "step": 1})
    assert declared.level_names == ("government", "public")
    assert bind(declared.at_level("public").columns[0], "DOUBLE").noise == 1
    assert bind(declared.at_level("government").columns[0], "DOUBLE").noise == 0.25
    with pytest.raises(PolicyError, match="name a level"):
        declared.at_level(None)


def test_levels_of_retention_say_nothing_of_noise():
    said = """
        table = "t"
        [columns.x]
        mechanism = "gaussian"
        noise = 0.5
        [levels]
        public = 0.2
        """
    with pytest.raises(PolicyError, match=r"give the column noise = \{ public = .. \}"):
        load_policy(said).at_level("public")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({}, "says nothing of how much noise"),
        ({"noise": 0}, "must lie between"),
        ({"noise": -1}, "must lie between"),
        ({"noise": 1e9}, "must lie between"),
        ({"noise": "much"}, "must be a number"),
        ({"noise": {}}, "at least one level"),
        ({"noise": 1 / 3}, "significant digits"),
        ({"noise": 1, "step": 0}, "above 0"),
        ({"noise": 1, "step": "fine"}, "must be a number"),
        ({"noise": 1, "step": Decimal("1e-20")}, "more than 15 decimals"),
        ({"noise": 1, "nulls": "value"}, "must be one of error, keep"),
        ({"noise": 1, "deviation": -2}, "above 0"),
        ({"noise": 1, "deviation": 2, "covariance": "data"}, "remove deviation"),
        ({"noise": 1, "deviation": 2, "covariance": {"x": 4}}, "remove one"),
        ({"noise": 1, "covariance": {"y": 4}}, "its own variance|own variance"),
        ({"noise": 1, "covariance": "some"}, "must be one of independent, data"),
        ({"noise": 1, "retain": 0.5}, "has no meaning"),
        ({"noise": 1, "domain": {"min": 0, "max": 1}}, "has no meaning"),
    ],
)
def test_what_is_refused(body, reason):
    with pytest.raises(PolicyError, match=reason):
        policy(x=body)


@pytest.mark.parametrize("kind", ["VARCHAR", "DATE", "BOOLEAN", "TIMESTAMP"])
def test_noise_is_for_numbers(kind):
    with pytest.raises(PolicyError, match="numbers only"):
        bound(kind, noise=1)


def test_reals_need_a_step():
    with pytest.raises(PolicyError, match="needs a step"):
        bind(policy(x={"noise": 1}).columns[0], "DOUBLE")


def test_a_declared_covariance_is_put_together_from_its_columns():
    declared = policy(
        a={"noise": 1, "covariance": {"a": 4, "B": 1.5}},
        b={"noise": 1, "covariance": {"b": 9}},
        c={"noise": 1, "covariance": {"c": 1, "b": -0.5}},
    )
    columns = [bind(column, "INTEGER") for column in declared.columns]
    assert declared_matrix(columns) == [[4, 1.5, 0], [1.5, 9, -0.5], [0, -0.5, 1]]
    with pytest.raises(PolicyError, match="'zz', which has no covariance"):
        declared_matrix([bind(policy(a={"noise": 1, "covariance": {"a": 4, "zz": 1}}).columns[0], "INTEGER")])
    other = policy(a={"noise": 1, "covariance": {"a": 4, "b": 1}}, b={"noise": 1, "covariance": {"b": 4, "a": 2}})
    with pytest.raises(PolicyError, match="different covariances"):
        declared_matrix([bind(column, "INTEGER") for column in other.columns])


def test_the_covariance_of_noise_follows_from_what_is_mixed():
    double = parse_type("DOUBLE")
    a = NoisyColumn("a", double, 0.5, Decimal(1), "error", columns=("a",), weights=(2.0,))
    b = NoisyColumn("b", double, 2.0, Decimal("0.1"), "error", columns=("a", "b"), weights=(1.0, 3.0))
    assert a.shared(a) == pytest.approx(0.5 * 4 + 1 / 12)
    assert b.shared(b) == pytest.approx(2.0 * 10 + 0.01 / 12)
    assert a.shared(b) == b.shared(a) == pytest.approx(0.5 * 2.0)
    assert b.deviation == pytest.approx(math.sqrt(20))


def test_a_manifest_keeps_everything():
    column = NoisyColumn(
        "b", parse_type("DOUBLE"), 0.25, Decimal("0.5"), "keep", columns=("a", "b"), weights=(1.0, 3.25)
    )
    other = replace(column, name="a", columns=("a",), weights=(2.0,))
    columns = tuple(ReleasedColumn(one.name, parse_type("DOUBLE"), one) for one in (column, other))
    manifest = Manifest("t", 3, columns)
    assert Manifest.from_json(manifest.to_json()) == manifest
    damages = (('"noise": 0.25', '"noise": -1'), ('"step": "0.5"', '"step": "0"'), ('"keep"', '"value"'))
    for old, new in (*damages, ('"a": 1.0', '"zz": 1.0'), ('"b": 3.25', '"b": 1e200'), ('"DOUBLE"', '"BIGINT"')):
        with pytest.raises(ReleaseError, match="cannot be right"):
            Manifest.from_json(with_digest(json.loads(manifest.to_json().replace(old, new))))


def test_it_is_explained():
    text = explain_policy(
        policy(x={"noise": {"public": 1, "close": 0.25}, "step": 0.5}, y={"noise": 1, "covariance": "data", "step": 1})
    )
    assert "x: Gaussian noise" in text
    assert "can be filtered out in part" in text
    assert "read off the originals, rounded to two digits and published" in text
    assert "at level public: noise 1" in text
    assert "left with 20 % of the column's variance" in text
    assert "rounded to multiples of 0.5" in text
