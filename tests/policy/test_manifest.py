"""The manifest: everything comes back, and what is no manifest is refused."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from damaged import with_digest

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy import Manifest, ReleasedColumn, RetainedColumn


def column(type_name, domain, nulls="error", outside="error"):
    kind = parse_type(type_name)
    return ReleasedColumn("x", kind, RetainedColumn("x", kind, domain, 0.3, nulls, outside))


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
    assert body["ppdm_sql"] == 2
    assert body["rows"] == 5
    assert "level" not in body
    assert [c.name for c in manifest.perturbed] == ["x"]


GOOD = json.loads(
    Manifest("t", 5, (COLUMNS[1], ReleasedColumn("id", parse_type("BIGINT"))), identity=("id",)).to_json()
)


def changed(*path, to=...):
    """The manifest with another value at a path, or without it, and a digest that fits."""
    body = json.loads(json.dumps(GOOD))
    inside = body
    for key in path[:-1]:
        inside = inside[key]
    if to is ...:
        del inside[path[-1]]
    else:
        inside[path[-1]] = to
    return with_digest(body)


X = ("columns", 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ("{}", "it does not say its format"),
        ("[" * 100_000, "it is nested too deeply"),
        ('{"a": ' * 100_000, "it is nested too deeply"),
        ('{"ppdm_sql": 2, "ppdm_sql": 2}', "a field stands in it twice"),
        ('{"ppdm_sql": NaN}', "NaN is not a number"),
        ('{"ppdm_sql": -Infinity}', "-Infinity is not a number"),
        ('{"ppdm_sql": 2, "rows": 1e999}', "neither text nor a number"),
        ('{"ppdm_sql": 2, "rows": 1' + "0" * 5000 + "}", "it is not JSON"),
        ('{"ppdm_sql": 2, "table": "\\ud800"}', "neither text nor a number"),
        (b'{"ppdm_sql": 2, "table": "\xff"}', "it is not UTF-8 text"),
        ('{"ppdm_sql": 3}', "has manifest format 3, this version reads 2: update ppdm_sql"),
        ('{"ppdm_sql": 1}', "has manifest format 1, this version reads 2: it was made by an earlier version"),
        ('{"ppdm_sql": true}', "it does not say its format"),
        ('{"ppdm_sql": 2}', "its digest is not that of what it says"),
        (json.dumps(GOOD).replace('"rows": 5', '"rows": 6'), "its digest is not that of what it says"),
        (changed("rows"), "the manifest: rows is missing"),
        (changed("rows", to=-1), "rows is not a whole number from 0"),
        (changed("rows", to=5.0), "rows is not a whole number from 0"),
        (changed("rows", to=True), "rows is not a whole number from 0"),
        (changed("table", to=""), "table is not a text"),
        (changed("table", to="a\0b"), "table is not a text"),
        (changed("table", to=["t"]), "table is not a text"),
        (changed("level", to=None), "level is not a text"),
        (changed("fingerprint", to="xyz"), "fingerprint does not have 64 hexadecimal digits"),
        (changed("fingerprint"), "fingerprint is missing"),
        (changed("made", to="yesterday"), "made is not a date with a time"),
        (changed("identity", to=["x"]), "'x' is to name a row, and is no exact column"),
        (changed("identity", to=["id", "id"]), "identity lists a text twice"),
        (changed("identity", to="id"), "identity is not a list"),
        (changed("more", to=1), "more is a field that this version does not know"),
        (changed("columns", to=[]), "columns is not a list of 1"),
        (changed("columns", to=[3]), "columns, number 1 is not an object"),
        (changed("columns", 1, "name", to="X"), "two of its columns bear one name"),
        (changed(*X, "mechanism", to="unheard"), "column 'x' was perturbed by 'unheard', which this version does not"),
        (changed(*X, "mechanism"), "column 'x': retain is a field that this version does not know"),
        (changed(*X, "mechanism", to="swap"), "column 'x': domain is a field that this version does not know"),
        (changed(*X, "mechanism", to="gaussian"), "column 'x': type is not DOUBLE"),
        (changed(*X, "retain"), "column 'x': retain is missing"),
        (changed(*X, "retain", to=1.5), "column 'x': retain is not a number from 1e-18 to 1"),
        (changed(*X, "retain", to=1e-300), "column 'x': retain is not a number from 1e-18 to 1"),
        (changed(*X, "retain", to=True), "column 'x': retain is not a number"),
        (changed(*X, "retain", to="0.3"), "column 'x': retain is not a number"),
        (changed(*X, "retain", to=None), "column 'x': retain is not a number"),
        (changed(*X, "retain", to=10**400), "column 'x': retain is not a number"),
        (changed(*X, "nulls", to="maybe"), "column 'x': nulls is not one of error, keep, value"),
        (changed(*X, "nulls", to=[]), "column 'x': nulls is not one of"),
        (changed(*X, "outside", to="error"), "column 'x': outside is not one of clamp"),
        (changed(*X, "type", to=3), "type is not a text"),
        (changed(*X, "type", to="BLOB"), "values of type BLOB cannot be perturbed"),
        (changed(*X, "type", to="TINYINT(3)"), "values of type TINYINT(3) cannot be perturbed"),
        (changed(*X, "type", to="VARCHAR"), "a range does not fit this type"),
        (changed(*X, "domain", to=[17, 90]), "domain is not an object with fields"),
        (changed(*X, "domain", "low"), "domain: low is missing"),
        (changed(*X, "domain", "low", to=2**31), "reaches beyond what this type can hold"),
        (changed(*X, "domain", "size", to=0), "domain: size is not a whole number"),
        (changed(*X, "domain", "size", to=2**60), "domain: size is not a whole number"),
        (changed(*X, "domain", "size", to=2**50), "reaches beyond what this type can hold"),
        (changed(*X, "domain", "scale", to=2), "its decimal places do not fit this type"),
        (changed(*X, "domain", "values", to=[1, 1]), "domain: low is a field that this version does not know"),
        (changed(*X, "domain", to={"values": [1, 1]}), "a value is listed twice"),
        (changed(*X, "domain", to={"values": [1, "2"]}), "values holds what is no INTEGER"),
        (changed(*X, "domain", to={"values": [True]}), "values holds what is no INTEGER"),
        (changed(*X, "domain", to={"values": [2**31]}), "reaches beyond what this type can hold"),
        (changed(*X, "domain", to={"values": []}), "values is not a list of 1"),
    ],
)
def test_what_is_no_manifest(text, expected):
    with pytest.raises(ReleaseError) as caught:
        Manifest.from_json(text)
    assert expected in str(caught.value) and len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("kind", "domain"),
    [
        ("DOUBLE", {"values": ["x"]}),
        ("DOUBLE", {"values": ["NaN"]}),
        ("DOUBLE", {"values": [0.5]}),
        ("DOUBLE", {"values": ["1e999999999"]}),
        ("DECIMAL(4,2)", {"values": ["1.234"]}),
        ("DATE", {"values": ["2020-02-30"]}),
        ("DATE", {"low": 3_000_000, "step": 1, "size": 5, "scale": 0}),
        ("TIMESTAMP", {"values": ["2020-02-29 00:00:00+00:00"]}),
        ("TIMESTAMP WITH TIME ZONE", {"values": ["2020-02-29 00:00:00"]}),
        ("TIMESTAMP_S", {"low": 0, "step": 5, "size": 5, "scale": 0}),
        ("BOOLEAN", {"values": [1]}),
        ("VARCHAR", {"values": ["a", 1]}),
        ("FLOAT", {"low": 2**40, "step": 1, "size": 5, "scale": 0}),
    ],
)
def test_domains_that_fit_no_type(kind, domain):
    column = {"name": "x", "type": kind, "mechanism": "uniform", "retain": 0.5, "nulls": "error", "domain": domain}
    with pytest.raises(ReleaseError, match="cannot be right"):
        Manifest.from_json(with_digest(GOOD | {"columns": [column], "identity": []}))
