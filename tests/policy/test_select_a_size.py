"""Baskets in a policy: what is read, bound, kept in a manifest and explained; what is refused, and by which rule."""

from __future__ import annotations

import json

import pytest
from damaged import with_digest

from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import PolicyError, ReleaseError
from ppdm_sql.mechanisms.baskets.column import BasketColumn, SeedCode
from ppdm_sql.policy import Manifest, ReleasedColumn, bind, explain_policy, load_policy

ITEMS = {"values": ["milk", "bread", "it's", "eggs"]}
WHOLE = {"mechanism": "select_a_size", "domain": ITEMS, "gamma": 19.0, "max_size": 3}


def load(**changes):
    body = {key: value for key, value in {**WHOLE, **changes}.items() if value is not None}
    return load_policy({"table": "baskets", "columns": {"items": body}})


def bound(type_name="VARCHAR[]", **changes):
    return bind(load(**changes).columns[0], type_name)


def test_operators_for_every_size():
    column = bound()
    assert isinstance(column, BasketColumn)
    assert [operator.size for operator in column.operators] == [0, 1, 2, 3]
    assert all(operator.amplification <= 19 * (1 + 1e-12) for operator in column.operators)
    assert column.operators[3].amplification == pytest.approx(19)
    assert column.size_column == "items_size"
    assert (column.number("it's"), column.number("beer"), column.item(3)) == (2, None, "eggs")


def test_ways_to_ask():
    by_breach = bound(gamma=None, privacy={"rho1": 0.05, "rho2": 0.5})
    assert by_breach.gamma == pytest.approx(19, rel=1e-9)
    assert by_breach.gamma < 19
    assert bound(gamma=None, epsilon=2.0).gamma == pytest.approx(7.389, rel=1e-3)
    assert {operator.rho for operator in bound(rho=0.05).operators[1:]} == {0.05}


def test_whole_numbers_as_items():
    column = bound("INTEGER[]", domain={"min": 10, "max": 50, "step": 10})
    assert (column.items.size, column.number(30), column.number(35), column.item(4)) == (5, 2, None, 50)


def test_seeds():
    column = bound(compress=True, rho=0.5, itemsets=2)
    assert column.code == SeedCode(3, 3, 1, 2)
    assert column.type.name == "BLOB"
    assert bound(compress=True).code.itemsets == 3
    steps = 1 << bound(compress=True, gamma=1000.0).code.bits
    assert all((operator.rho * steps).is_integer() for operator in bound(compress=True, gamma=1000.0).operators)


def test_levels_leave_baskets_alone():
    policy = load_policy({"table": "baskets", "columns": {"items": WHOLE}, "levels": {"public": 0.2}})
    assert policy.at_level("public").columns == policy.columns


@pytest.mark.parametrize("changes", [{}, {"compress": True}, {"nulls": "keep"}, {"domain": {"min": 1, "max": 9}}])
def test_the_manifest_holds_everything(changes):
    column = bound("BIGINT[]" if "domain" in changes else "VARCHAR[]", **changes)
    columns = (ReleasedColumn("items", column.type, column), ReleasedColumn("items_size", parse_type("INTEGER")))
    manifest = Manifest("baskets", 7, columns)
    assert Manifest.from_json(manifest.to_json()) == manifest


@pytest.mark.parametrize(
    "damage",
    [
        lambda body: body["operators"].pop(),
        lambda body: body["operators"][2].update(keep=[0.5, 0.6, 0.1]),
        lambda body: body["operators"][1].update(rho=1.5),
        lambda body: body.update(nulls="value"),
        lambda body: body.update(size_column="other"),
        lambda body: body.update(items={"values": []}),
    ],
)
def test_a_damaged_manifest(damage):
    column = bound()
    columns = (ReleasedColumn("items", column.type, column), ReleasedColumn("items_size", parse_type("INTEGER")))
    body = json.loads(Manifest("baskets", 7, columns).to_json())
    if damage(body["columns"][0]) and len(body["columns"][0]["operators"]) == 3:
        body["columns"][0]["operators"].pop(1)
    with pytest.raises(ReleaseError, match="cannot be right"):
        Manifest.from_json(with_digest(body))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"domain": None}, "has no domain"),
        ({"gamma": None}, "exactly one of gamma, epsilon, privacy"),
        ({"epsilon": 1.0}, "says it twice"),
        ({"retain": 0.3}, "retain has no meaning"),
        ({"max_size": None}, "has no max_size"),
        ({"max_size": 0}, "whole number from 1 to 255"),
        ({"max_size": True}, "whole number"),
        ({"max_size": 2.5}, "whole number"),
        ({"nulls": "value"}, "error, keep"),
        ({"rho": 0}, "above 0, below 1"),
        ({"rho": 1.5}, "above 0, below 1"),
        ({"rho": 0.3, "compress": True}, "whole number of 1/256"),
        ({"compress": "yes"}, "true or false"),
        ({"itemsets": 2}, "compress = true"),
        ({"itemsets": 9, "compress": True}, "from 1 to 8"),
        ({"gamma": 1e13}, "protects nothing"),
        ({"gamma": 0.5}, "above 1"),
    ],
)
def test_what_a_policy_may_not_say(changes, message):
    with pytest.raises(PolicyError, match=message):
        load(**changes)


@pytest.mark.parametrize(
    ("type_name", "changes", "message"),
    [
        ("VARCHAR", {}, "lists of items"),
        ("DOUBLE[]", {}, "text or whole numbers"),
        ("VARCHAR[][]", {}, "text or whole numbers"),
        ("ENUM('a', 'b')[]", {}, "Cast the lists to VARCHAR"),
        ("INTEGER[]", {}, "does not fit this type"),
        ("VARCHAR[]", {"max_size": 5}, "at least max_size = 5"),
        ("INTEGER[]", {"domain": {"min": 0, "max": 20_000_000}}, "at most 16,777,216"),
        ("INTEGER[]", {"domain": {"min": 0, "max": 16_000_000}, "compress": True, "rho": 0.125}, "Leave compress out"),
    ],
)
def test_what_a_type_cannot_hold(type_name, changes, message):
    with pytest.raises(PolicyError, match=message):
        bound(type_name, **changes)


def test_explanation():
    text = explain_policy(load(compress=True, rho=0.5, nulls="keep"), {"items": "VARCHAR[]"})
    assert "gamma 19, epsilon 2.944 among baskets of one size" in text
    assert "column items_size; baskets of more than 3 items are cut to 3" in text
    assert "of 1 item: each is kept with 95 %, any other added with 50 %" in text
    assert "released as a seed of 9 bits, which tells of itemsets of up to 3 items" in text
    assert "NULL stays NULL" in text
    assert "milk, bread, it's, eggs (4 items)" in explain_policy(load())
