from __future__ import annotations

import difflib

import pytest

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.policy.editing import edit_policy
from ppdm_sql.policy.load import load_policy

GAMMA, PAIR = Retention("gamma", 9.0), Retention("privacy", 0.1, 0.5)

ORDINARY = """# What we publish; ask Zoë before you change it.
table = "people"      # its name
identity = ["id"]

[columns.wage]        # in euro
# fine, but so it is
mechanism = "uniform"
domain = { min = 0, max = 1000.00, step = 0.01 }
retain   =   0.5      # how much
nulls = "keep"

# Age comes second.
[columns.age]
mechanism = "uniform"
domain = { min = 17, max = 90 }
privacy = { rho1 = 0.2, rho2 = 0.9 }

[columns.ssn]
mechanism = "drop"    # never
"""
LEVELS = """table = "people"
[levels]  # recipients
public = 0.1
government = 0.80  # they asked

[columns.wage]
mechanism = "uniform"
domain = { min = 0, max = 1000.00, step = 0.01 }   # cents

# Age comes second.
[columns.age]
mechanism = "uniform"
[columns.age.domain]
min = 17
max = 90
# the end
"""
SHAPES = {
    "ordinary": ORDINARY,
    "levels": LEVELS,
    "inline": 'table = "t"\ncolumns = { wage = { mechanism = "uniform", domain = { min = 1, max = 2 }, retain = 1 }, '
    'age = { mechanism = "uniform", "retain" = 0.1, domain = { min = 1, max = 2 } } }  # all in one\n',
    "inline with levels": 'table = "t"\nlevels = { a = 1.0 }\n[columns]\n'
    'wage = { mechanism = "uniform", domain = { min = 1, max = 2 } }  # w\n'
    'age = { mechanism = "uniform", domain = { values = ["a\\\\g<1>", "b"] } }\n',
    "dotted": 'table = "t"\n[columns]\nwage.mechanism = "uniform"\nwage.domain = { min = 1, max = 2 }\n'
    'wage.epsilon = 1  # w\nage.mechanism = "uniform"\nage.domain.min = 1\nage.domain.max = 9  # m\nage.retain = 1.0\n',
    "dotted with levels": 'table = "t"\nlevels.a = 0.5\n[columns]\nwage.mechanism = "uniform"\n'
    'wage.domain = { min = 1, max = 2 }  # d\nage.domain = { min = 1, max = 2 }\nage.mechanism = "uniform"  # m\n',
    "values over lines": 'table = "t"\n[columns.wage]\nmechanism = "uniform"\nretain = 1\ndomain = { values = [\n  1,'
    "  # one\n  2,\n] }\n[columns.age]\nretain = 1\nmechanism = 'uniform'\ndomain = { values = [\n  'a',  # one\n  'b'"
    ",\n] }",
    "windows": ORDINARY.replace("\n", "\r\n"),
}


def comments(text: str) -> list[str]:
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


@pytest.mark.parametrize("name", SHAPES)
def test_only_the_retentions_change(name):
    text = SHAPES[name]
    before, after = load_policy(text + "\n"), load_policy(edit_policy(text, {"wage": GAMMA, "age": PAIR}) + "\n")
    assert [c.retention for c in after.perturbed if c.name == "wage"] == [GAMMA]
    assert [c.retention for c in after.perturbed if c.name == "age"] == [PAIR]
    assert [(c.name, c.domain, c.nulls) for c in after.columns] == [(c.name, c.domain, c.nulls) for c in before.columns]
    assert (after.table, after.identity, after.levels) == (before.table, before.identity, before.levels)


@pytest.mark.parametrize("name", SHAPES)
def test_comments_and_order_stay(name):
    text = SHAPES[name]
    result = edit_policy(text, {"wage": GAMMA, "age": PAIR})
    assert comments(result) == comments(text)
    changed = [line for line in difflib.ndiff(text.splitlines(), result.splitlines()) if line[0] in "+-"]
    assert len(changed) <= 4
    assert all("gamma" in line or "privacy" in line for line in changed if line[0] == "+")


def test_the_line_is_edited_where_it_stands():
    result = edit_policy(ORDINARY, {"wage": GAMMA})
    assert "gamma   =   9.0      # how much\n" in result
    assert result.replace("gamma   =   9.0 ", "retain   =   0.5 ") == ORDINARY


def test_a_column_without_a_retention_gets_one_after_its_last_key():
    result = edit_policy(LEVELS, {"wage": GAMMA, "age": PAIR}, {"public": 0.1, "government": 0.25})
    assert "# cents\ngamma = 9.0\n\n# Age comes second.\n" in result
    assert 'mechanism = "uniform"\nprivacy = { rho1 = 0.1, rho2 = 0.5 }\n[columns.age.domain]' in result
    assert "public = 0.1\ngovernment = 0.25  # they asked\n" in result


def test_a_columns_own_levels_are_edited_in_their_place():
    text = ORDINARY.replace("retain   =   0.5 ", "retain   =   { public = 0.10, boss = 0.9 } ")
    result = edit_policy(text, {"wage": {"public": 0.1, "boss": 0.25}, "age": GAMMA})
    assert "retain   =   { public = 0.10, boss = 0.25 }      # how much\n" in result
    with pytest.raises(PolicyError, match="not just the levels"):
        edit_policy(text, {"wage": {"public": 0.1}})


def test_a_retention_of_several_lines_is_refused_and_not_mangled():
    text = ORDINARY.replace("privacy = { rho1 = 0.2, rho2 = 0.9 }", "[columns.age.privacy]\nrho1 = 0.2\nrho2 = 0.9")
    with pytest.raises(PolicyError, match="on one line"):
        edit_policy(text, {"age": GAMMA})


@pytest.mark.parametrize(("retentions", "levels"), [({"ssn": GAMMA}, {}), ({"nobody": GAMMA}, {}), ({}, {"boss": 0.5})])
def test_what_is_not_there_cannot_be_edited(retentions, levels):
    with pytest.raises(PolicyError, match="no perturbed column or level"):
        edit_policy(ORDINARY, retentions, levels)
