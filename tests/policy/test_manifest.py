"""The manifest: everything comes back, and what is no manifest is refused."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy import BoundColumn, Manifest, ReleasedColumn
from ppdm_sql.policy.domain import Grid, Values
from ppdm_sql.policy.types import parse_type


def column(type_name, domain, nulls="error", outside="error"):
    kind = parse_type(type_name)
    return ReleasedColumn("x", kind, BoundColumn("x", kind, domain, 0.3, nulls, outside))


COLUMNS = [
    ReleasedColumn("x", parse_type("STRUCT(a INTEGER)[]")),
    column("INTEGER", Grid(17, 1, 74), "value"),
    column("HUGEINT", Grid(10**30, 1, 5), outside="clamp"),
    column("DECIMAL(10,2)", Grid(0, 5, 21, 2), "keep"),
    column("VARCHAR", Values(("a", "ü", 'q"', "")), "value"),
    column("ENUM('b', 'it''s')", Values(("it's", "b"))),
    column("BOOLEAN", Values((True, False))),
    column("BIGINT", Values((1, 2**60))),
    column("DOUBLE", Values((Decimal("0.1"), Decimal(3)))),
    column("DATE", Values((date(2020, 2, 29),))),
    column("TIMESTAMP", Values((datetime(2020, 2, 29, 1, 2, 3, 4),))),
    column("TIMESTAMP WITH TIME ZONE", Values((datetime(2020, 2, 29, tzinfo=UTC),))),
]


@pytest.mark.parametrize("released", COLUMNS, ids=lambda c: c.type.name)
def test_there_and_back(released):
    manifest = Manifest("my table", 12, (released,), "public")
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_what_it_tells():
    manifest = Manifest("t", 5, tuple(COLUMNS[:2]))
    body = json.loads(manifest.to_json())
    assert body["ppdm_sql"] == 1
    assert body["rows"] == 5
    assert "level" not in body
    assert [c.name for c in manifest.perturbed] == ["x"]


GOOD = json.loads(Manifest("t", 5, (COLUMNS[1],)).to_json())


def changed(**more):
    body = json.loads(json.dumps(GOOD))
    body["columns"][0].update(more)
    return json.dumps(body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "cannot be read (JSONDecodeError)"),
        ("[]", "cannot be read (TypeError)"),
        ("{}", "cannot be read (KeyError)"),
        ("[" * 100_000, "cannot be read (RecursionError)"),
        ('{"ppdm_sql": 2}', "has manifest format 2, this version reads 1: update ppdm_sql"),
        (changed(mechanism="unheard"), "column 'x' was perturbed by 'unheard', which this version does not know"),
        (changed(retain=1.5), "cannot be read (ValueError)"),
        (changed(retain="x"), "cannot be read (ValueError)"),
        (changed(nulls="maybe"), "cannot be read (ValueError)"),
        (changed(type=3), "cannot be read (AttributeError)"),
        (changed(domain={"low": 1}), "cannot be read (KeyError)"),
        (changed(domain={"low": 0, "step": 1, "size": 0, "scale": 0}), "cannot be read (ValueError)"),
        (changed(type="DOUBLE", domain={"values": ["x"]}), "cannot be read (InvalidOperation)"),
    ],
)
def test_what_is_no_manifest(text, expected):
    with pytest.raises(ReleaseError) as caught:
        Manifest.from_json(text)
    assert expected in str(caught.value)
