"""Advice on policies: what it says is what follows."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import Retention, retention_for_gamma
from ppdm_sql.policy.load import load_policy
from ppdm_sql.privacy import (
    UniformChannel,
    advise,
    count_error,
    epsilon_of_row,
    excludes_breach,
    excludes_subset_breach,
    statements,
)
from ppdm_sql.privacy.coarsening import coarser_domain

POLICY = load_policy(
    """
table = "people"
[columns.age]
mechanism = "uniform"
domain = { min = 17, max = 90 }
retain = 0.3
[columns.sex]
mechanism = "uniform"
domain = { values = ["F", "M"] }
retain = 0.3
nulls = "value"
[columns.wage]
mechanism = "uniform"
domain = { min = 0, max = 150000, step = 0.01 }
retain = 0.5
[columns.ssn]
mechanism = "drop"
"""
)
ROWS = 200_000


def by_name(advice):
    return {column.name: column for column in advice.columns}


@pytest.mark.parametrize("asked", [{"gamma": 9.0}, {"epsilon": 2.2}, {"rho1": 0.1, "rho2": 0.5}])
def test_the_retention_is_the_largest_that_keeps_the_promise(asked):
    bound = {"gamma": 9.0, "epsilon": math.exp(2.2)}.get(next(iter(asked)), 9.0)
    for column in advise(POLICY, rows=ROWS, **asked).columns:
        assert column.gamma <= bound * (1 + 1e-12)
        assert UniformChannel(column.retain * 1.0001, column.size).gamma > bound
        if "rho1" in asked:
            assert excludes_breach(column.gamma, 0.1, 0.5)


def test_sizes_count_null_where_it_is_a_value():
    columns = by_name(advise(POLICY, rows=ROWS, gamma=5))
    assert {name: column.size for name, column in columns.items()} == {"age": 74, "sex": 3, "wage": 15_000_001}
    assert columns["age"].condition == "if the column holds whole numbers"
    assert columns["sex"].retain == pytest.approx(retention_for_gamma(5, 3))


def test_types_say_more():
    columns = by_name(advise(POLICY, rows=ROWS, gamma=5, types={"AGE": "DECIMAL(5,1)"}))
    assert (columns["age"].size, columns["age"].condition) == (731, "")
    assert columns["age"].retain == pytest.approx(retention_for_gamma(5, 731))


def test_a_domain_whose_size_is_not_known():
    policy = load_policy(
        {"table": "t", "columns": {"x": {"mechanism": "uniform", "domain": {"min": 0.5, "max": 9.5}, "retain": 0.2}}}
    )
    [column] = advise(policy, rows=ROWS, gamma=5, error=0.01).columns
    assert (column.size, column.retain, column.error, column.both, column.remedies) == (None,) * 5
    assert column.promise == Retention("gamma", 5)  # which publishing turns into a retention when the type is known
    [column] = advise(policy, rows=ROWS, error=0.01).columns
    assert column.both and column.retain == column.promise.value
    assert advise(policy, rows=ROWS, gamma=5).row_epsilon is None


def test_the_error_that_follows():
    for column in advise(POLICY, rows=ROWS, gamma=9, predicates=2, selectivity=0.25).columns:
        assert column.error == pytest.approx(float(count_error(ROWS, [column.retain] * 2, 0.25, 0.25)))
        assert column.likely_error == pytest.approx(1.96 * column.error, rel=1e-3)
        assert column.both is None and column.bound_error is None
    for column in advise(POLICY, rows=ROWS, gamma=9).columns:
        assert column.bound_error > column.likely_error


def test_both_can_be_had_or_each_remedy_would_do():
    wanted = {"rows": ROWS, "rho1": 0.1, "rho2": 0.5, "error": 0.005}
    columns = by_name(advise(POLICY, **wanted))
    assert columns["sex"].both and columns["sex"].remedies is None
    for name in ("age", "wage"):
        column = columns[name]
        assert column.both is False
        found = column.remedies
        smaller = retention_for_gamma(column.gamma, found.values)
        assert count_error(ROWS, smaller, 0.5, 0.5) <= 0.005 * (1 + 1e-9)
        assert count_error(ROWS, retention_for_gamma(column.gamma, found.values + 1), 0.5, 0.5) > 0.005
        assert count_error(found.rows, column.retain, 0.5, 0.5) <= 0.005 * (1 + 1e-9)
        assert count_error(found.rows * 0.99, column.retain, 0.5, 0.5) > 0.005
        more = advise(POLICY, rows=ROWS, gamma=found.gamma, error=0.005)
        assert by_name(more)[name].both
        assert excludes_subset_breach(column.needed, found.relative_prior, 0.1, 0.5)
    assert advise(POLICY, **wanted).both is False
    assert columns["age"].remedies.small_domain
    assert not columns["wage"].remedies.small_domain  # which takes no list of fifteen million values


def test_the_coarser_domain_that_is_suggested_does():
    age = by_name(advise(POLICY, rows=ROWS, rho1=0.1, rho2=0.5, error=0.005))["age"]
    assert age.remedies.domain == "step = 5, max = 92 (16 values)"
    body = {"mechanism": "uniform", "domain": {"min": 17, "max": 92, "step": 5}, "retain": 0.3}
    coarser = load_policy({"table": "t", "columns": {"age": body}})
    assert advise(coarser, rows=ROWS, rho1=0.1, rho2=0.5, error=0.005).both


def test_null_as_a_value_takes_one_of_the_values_that_would_do():
    body = {"mechanism": "uniform", "domain": {"min": 1, "max": 100}, "retain": 0.3}
    for nulls, said in (("error", "at most 3 of them"), ("value", "at most 2 of them")):
        listed = body | {"domain": {"values": list(range(1, 101))}, "nulls": nulls}
        advice = advise(load_policy({"table": "t", "columns": {"x": listed}}), rows=1000, gamma=3.2, error=0.035)
        assert advice.columns[0].remedies.values == 3
        assert advice.columns[0].remedies.domain.endswith(said)


def test_an_error_alone_gives_the_least_retention():
    for column in advise(POLICY, rows=ROWS, error=0.005).columns:
        assert column.both
        assert column.error <= 0.005
        assert column.retain == pytest.approx(column.needed, rel=1e-5)
        assert column.promise == Retention("retain", column.retain)


def test_nothing_asked_is_the_policy_as_it_stands():
    advice = advise(POLICY, rows=ROWS)
    assert [column.retain for column in advice.columns] == [0.3, 0.3, 0.5]
    assert advice.both is None


def test_a_row_adds_up_its_columns():
    advice = advise(POLICY, rows=ROWS, gamma=9)
    assert advice.row_epsilon == pytest.approx(3 * math.log(9))
    channels = [UniformChannel(c.retain, c.size) for c in advice.columns]
    assert advice.row_epsilon == pytest.approx(epsilon_of_row(channels))


@pytest.mark.parametrize("asked", [{"gamma": 9.0}, {"epsilon": 2.0}, {"rho1": 0.1, "rho2": 0.5}])
def test_a_budget_for_the_whole_row(asked):
    advice = advise(POLICY, rows=ROWS, whole_row=True, **asked)
    budget = asked.get("epsilon", math.log(9))
    assert budget * (1 - 1e-5) < advice.row_epsilon <= budget
    assert len({round(c.epsilon, 9) for c in advice.columns}) == 1
    if "rho1" in asked:
        assert excludes_breach(math.exp(advice.row_epsilon), 0.1, 0.5)


def test_the_worst_count_is_that_of_the_columns_which_keep_least():
    advice = advise(POLICY, rows=ROWS, predicates=2)
    retains = [c.retain for c in advice.columns]
    pairs = [float(count_error(ROWS, pair, 0.5, 0.5)) for pair in combinations(retains, 2)]
    assert advice.row_error == pytest.approx(max(pairs))


def test_levels_that_keep_less_stay():
    policy = load_policy(
        {
            "table": "t",
            "columns": {"x": {"mechanism": "uniform", "domain": {"min": 1, "max": 10}}},
            "levels": {"public": 0.1, "boss": 0.9},
        }
    )
    advice = advise(policy, rows=ROWS, gamma=9)
    assert advice.levels["public"] == 0.1
    assert UniformChannel(advice.levels["boss"], 10).gamma <= 9
    assert UniformChannel(advice.levels["boss"] * 1.0001, 10).gamma > 9
    assert advise(policy, rows=ROWS).levels == policy.levels
    assert advise(policy, rows=ROWS).columns[0].retain is None


def test_a_columns_own_levels_are_lowered_and_not_lost():
    body = {"mechanism": "uniform", "domain": {"min": 1, "max": 10}, "retain": {"public": 0.1, "boss": 0.9}}
    policy = load_policy({"table": "t", "columns": {"x": body}})
    [column] = advise(policy, rows=ROWS, gamma=9).columns
    assert column.levels["public"] == 0.1
    assert 0.44 < column.levels["boss"] <= column.retain < 0.45
    assert advise(policy, rows=ROWS, error=0.01).columns[0].levels == {"public": 0.1, "boss": 0.9}


def test_a_level_of_its_own_does_not_lower_that_of_others():
    fine = {"mechanism": "uniform", "domain": {"min": 1, "max": 10**6}, "retain": {"boss": 0.9}}
    coarse = {"mechanism": "uniform", "domain": {"values": [True, False]}}
    policy = load_policy({"table": "t", "columns": {"x": fine, "y": coarse}, "levels": {"boss": 0.9}})
    advice = advise(policy, rows=ROWS, gamma=9)
    assert advice.levels == {"boss": 0.8}  # (9 - 1) / (2 - 1 + 9)
    assert by_name(advice)["x"].levels["boss"] < 1e-5


CUSTOM = {
    "mechanism": "custom",
    "replace": {"values": ["a", "b", "c"], "weights": [6, 3, 1], "null": 2},
    "nulls": "value",
    "retain": 0.3,
}


def test_uneven_draws():
    """The rarest value, drawn once in twelve, counts as if there were twelve values."""
    policy = load_policy({"table": "t", "columns": {"x": CUSTOM}})
    [column] = advise(policy, rows=ROWS, gamma=9).columns
    assert (column.size, column.retain) == (4, pytest.approx(retention_for_gamma(9, 12)))
    assert column.channel.gamma == pytest.approx(9)
    assert column.gamma == pytest.approx(9)
    assert column.channel.shares.tolist() == pytest.approx([0.5, 0.25, 1 / 12, 1 / 6])
    [column] = advise(policy, rows=1000, gamma=9, error=0.029).columns
    assert (column.remedies.values, column.remedies.domain) == (8, "weights of which none is less than 1 in 8")
    [column] = advise(policy, rows=1000, gamma=3, error=0.029).columns
    assert column.remedies.domain is None
    [column] = advise(policy, rows=1000, gamma=4.1, error=0.029).columns
    assert column.remedies.domain == "groups of its 3 values, at most 2 of them, drawn evenly"


def test_columns_of_other_mechanisms_are_left_out_and_said_to_be():
    noisy = {"mechanism": "gaussian", "noise": 0.5, "step": 1}
    policy = load_policy({"table": "t", "columns": {"x": CUSTOM, "y": noisy}})
    advice = advise(policy, rows=ROWS, gamma=9)
    assert ([c.name for c in advice.columns], advice.others, advice.row_epsilon) == (["x"], ("y",), None)
    with pytest.raises(PolicyError, match="'y' is not of mechanism uniform or custom"):
        advise(policy, rows=ROWS, gamma=9, whole_row=True)
    with pytest.raises(PolicyError, match="from 1 to 1"):
        advise(policy, rows=ROWS, predicates=2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rho1": 0.1}, "belong together"),
        ({"rho1": 0.5, "rho2": 0.1}, "0 < rho1 < rho2 < 1"),
        ({"rho1": 0.1, "rho2": math.nan}, "0 < rho1 < rho2 < 1"),
        ({"gamma": 2, "epsilon": 1}, "asked for twice"),
        ({"gamma": 1}, "must be a number above 1"),
        ({"epsilon": -1}, "must be above 0"),
        ({"epsilon": 5e-324}, "keeps nothing"),
        ({"whole_row": True}, "gets the privacy that is asked for"),
        ({"error": 0}, "must be above 0 and below 1"),
        ({"error": math.nan}, "must be above 0 and below 1"),
        ({"selectivity": 1}, "must be above 0 and below 1"),
        ({"predicates": 4}, "from 1 to 3"),
        ({"predicates": 0}, "from 1 to 3"),
        ({"rows": 0}, "at least 1"),
        ({"rows": 10**400}, "at most 2.63"),
        ({"rho1": 1e-300, "rho2": math.nextafter(1, 0)}, "too close to 0 and 1"),
    ],
)
def test_what_cannot_be_meant(asked, message):
    with pytest.raises(PolicyError, match=message):
        advise(POLICY, **{"rows": ROWS, **asked})


def test_a_policy_that_perturbs_nothing():
    with pytest.raises(PolicyError, match="no column of mechanism uniform or custom"):
        advise(load_policy({"table": "t"}), rows=10)


@settings(deadline=None)
@given(
    gamma=st.floats(1.001, 1e6), error=st.floats(1e-6, 0.9), rows=st.integers(1, 10**12), predicates=st.integers(1, 3),
    selectivity=st.floats(0.001, 0.999), whole_row=st.booleans(),
)  # fmt: skip
def test_any_wish_gets_an_answer_that_keeps_its_promise(gamma, error, rows, predicates, selectivity, whole_row):
    advice = advise(
        POLICY, rows=rows, gamma=gamma, error=error, predicates=predicates, selectivity=selectivity, whole_row=whole_row
    )
    for column in advice.columns:
        assert column.gamma <= gamma * (1 + 1e-9)
        assert column.both == (column.error <= error * (1 + 1e-9)) == (column.remedies is None)
        assert (
            column.both == (column.retain >= column.needed * (1 - 1e-6))
            or abs(column.retain / column.needed - 1) < 1e-6
        )


STEPS = {
    "whole numbers": (Range(17, 90), 12),
    "decimals": (Range(Decimal("0.5"), Decimal("99.5"), Decimal("0.05")), 30),
    "large": (Range(-(10**12), 10**12), 7),
    "dates": (Range(date(1950, 1, 1), date(2009, 12, 31)), 100),
    "dates by weeks": (Range(date(1950, 1, 1), date(1950, 12, 31), timedelta(days=7)), 10),
    "all dates": (Range(date(1, 1, 1), date(9999, 12, 31)), 3),
    "hours": (Range(datetime(2020, 1, 1), datetime(2020, 12, 31), timedelta(hours=1)), 50),
    "odd minutes": (Range(datetime(2020, 1, 1), datetime(2020, 1, 2), timedelta(minutes=7)), 5),
    "seconds": (Range(datetime(2020, 1, 1), datetime(2020, 1, 2), timedelta(seconds=1)), 1000),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_suggested_step_makes_a_domain_of_at_most_that_many_values(name):
    domain, points = STEPS[name]
    said = coarser_domain(domain, points)
    if name == "all dates":
        assert said == 'step = "2000000 days" (3 values)'  # max would lie beyond the last day there is
        return
    kind = {"whole numbers": "HUGEINT", "large": "HUGEINT", "decimals": "DECIMAL(9,2)"}.get(
        name, "DATE" if "date" in name else "TIMESTAMP"
    )
    step, high = said.split(" (")[0].split(", max = ")
    low = domain.low.isoformat() if isinstance(domain.low, date) else domain.low
    grid = f"{{ min = {low}, max = {high}, {step} }}"
    text = f'table = "t"\n[columns.x]\nmechanism = "uniform"\nretain = 1.0\ndomain = {grid}'
    [column] = advise(load_policy(text), rows=1, types={"x": kind}).columns
    assert f"({column.size:,} values)" in said
    assert 2 <= column.size <= points


def test_two_values_are_the_least():
    assert coarser_domain(Range(1, 9), 1) is None
    assert coarser_domain(Range(1, 9), 2) == "step = 10, max = 11 (2 values)"
    assert coarser_domain(Values(("a", "b", "c")), 1) is None


def test_statements_are_true():
    """The numbers in the sentences are those of the functions, whichever case it is."""
    [small, *_] = statements(UniformChannel(retention_for_gamma(9, 74), 74))
    assert "at most 9 times" in small
    fine = statements(UniformChannel(0.5, 15_000_001), 0.1, 0.95)
    assert "next to nothing" in fine[1] and "less than 17 times" in fine[2] and "less than 90 % likely" in fine[3]
    assert statements(UniformChannel(1.0, 5)) == ("Every value is published as it is: this protects nothing.",)
    assert np.isinf(UniformChannel(1.0, 5).gamma)
