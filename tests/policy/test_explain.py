"""A policy in plain words."""

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import explain_policy, load_policy

TEXT = """
table = "adult"
identity = ["id"]
[columns.age]
mechanism = "uniform"
domain = { min = 17, max = 90 }
retain = 0.3
outside = "clamp"
[columns.wage]
mechanism = "uniform"
domain = { min = 0, max = 100, step = 0.5 }
epsilon = 2.0
[columns.occupation]
mechanism = "uniform"
domain = { values = ["Sales", "Tech"] }
privacy = { rho1 = 0.1, rho2 = 0.5 }
nulls = "value"
[columns.seen]
mechanism = "uniform"
domain = { min = 2020-01-01T00:00:00, max = 2020-01-02T00:00:00, step = "15 minutes" }
gamma = 9.0
nulls = "keep"
[columns.ssn]
mechanism = "drop"
"""


def test_without_types():
    text = explain_policy(load_policy(TEXT))
    assert "Table 'adult'" in text
    assert "A row is known by id, which must be unique and never NULL." in text
    assert "domain: 17 to 90 (74 values, if the column holds whole numbers)" in text
    assert "retention 0.3 (as declared)" in text
    assert "domain: 0 to 100 by 0.5 (201 values)" in text
    assert "the largest that epsilon = 2 allows" in text
    assert "domain: Sales, Tech (2 values)" in text
    assert "retention 0.7273 (the largest that privacy rho1 = 0.1 to rho2 = 0.5 allows): gamma 9, epsilon 2.197" in text
    assert "by 15 minutes (97 values)" in text
    assert "the largest that gamma = 9 allows" in text
    assert "ssn: dropped, never released" in text
    assert text.endswith("All other columns are released as they are.")


def test_with_types():
    types = {"AGE": "INTEGER", "wage": "DOUBLE", "occupation": "VARCHAR", "seen": "TIMESTAMP", "id": "BIGINT"}
    text = explain_policy(load_policy(TEXT), types)
    assert "domain: 17 to 90 (74 values)" in text
    assert "a value outside the domain becomes the nearest point of it" in text
    assert "a value is published as itself with 30.9 %, as any given other value with 0.946 %" in text
    assert "domain: 2020-01-01 00:00:00 to 2020-01-02 00:00:00 by 15 minutes (97 values)" in text
    assert "NULL stays NULL, so which rows are NULL stays visible" in text
    # Three values with NULL: 72.7 % + a third of the rest.
    assert "a value is published as itself with 81.8 %, as any given other value with 9.09 %" in text


def test_levels_and_full_retention():
    column = {"mechanism": "uniform", "domain": {"values": list("abcdefghij")}}
    policy = load_policy({"table": "t", "columns": {"x": column}, "levels": {"public": 0.5, "state": 1.0}})
    text = explain_policy(policy)
    assert "domain: a, b, c, d, e, f, g, h, .. (10 values)" in text
    assert "at level public: retention 0.5 (as declared): gamma 11, epsilon 2.398" in text
    assert "at level state: retention 1 (as declared): every value is published as it is; this protects nothing" in text
    assert text.endswith("Levels (retention of every perturbed column): public 0.5, state 1.")
    assert "known by its position" in text


def test_a_type_that_does_not_fit_is_said():
    with pytest.raises(PolicyError, match=r"column 'age' \(VARCHAR\): min and max do not fit this type"):
        explain_policy(load_policy(TEXT), {"age": "VARCHAR"})
