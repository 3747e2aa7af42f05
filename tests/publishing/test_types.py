"""Every SQL type: released under its own name and type, perturbed on its grid or passed on unchanged."""

from datetime import date, datetime

import duckdb
import pytest

from ppdm_sql.errors import PolicyError, SourceError, TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.publishing import publish
from ppdm_sql.release.stored import stored_manifests

from .conftest import KEY, files_in

ROWS = 2_000
HUGE = 10**29
LARGE = 2**64 - 100
MOMENTS = {"min": datetime(2020, 1, 1), "max": datetime(2020, 1, 3, 1), "step": "1 hour"}

PERTURBED = {
    "TINYINT": ("(i % 50)::TINYINT - 25", {"min": -25, "max": 24}),
    "SMALLINT": ("(i % 50)::SMALLINT", {"min": 0, "max": 49}),
    "INTEGER": ("(i % 50)::INTEGER * 3", {"min": 0, "max": 147, "step": 3}),
    "BIGINT": ("i % 50 - 9007199254740993", {"min": -9007199254740993, "max": -9007199254740944}),
    "UTINYINT": ("(i % 50)::UTINYINT + 200::UTINYINT", {"min": 200, "max": 249}),
    "USMALLINT": ("(i % 50)::USMALLINT", {"min": 0, "max": 49}),
    "UINTEGER": ("(i % 50)::UINTEGER", {"min": 0, "max": 49}),
    "UBIGINT": (f"(i % 50)::UBIGINT + {LARGE}::UBIGINT", {"min": LARGE, "max": LARGE + 49}),
    "HUGEINT": (f"(i % 50)::HUGEINT + {HUGE}::HUGEINT", {"min": HUGE, "max": HUGE + 49}),
    "FLOAT": ("((i % 50) / 10)::FLOAT", {"min": 0, "max": 4.9, "step": 0.1}),
    "DOUBLE": ("((i % 50) / 10)::DOUBLE", {"min": 0, "max": 4.9, "step": 0.1}),
    "DECIMAL(9,2)": ("((i % 50) / 4)::DECIMAL(9,2)", {"min": 0, "max": 12.25, "step": 0.25}),
    "DECIMAL(38,2)": ("(i % 50)::DECIMAL(38,2)", {"min": 0, "max": 49, "step": 1}),
    "DATE": ("DATE '1969-12-20' + (i % 50)::INT", {"min": date(1969, 12, 20), "max": date(1970, 2, 7)}),
    "TIMESTAMP": ("TIMESTAMP '2020-01-01' + to_hours(i % 50)", MOMENTS),
    "TIMESTAMP_S": ("(TIMESTAMP '2020-01-01' + to_hours(i % 50))::TIMESTAMP_S", MOMENTS),
    "TIMESTAMP_MS": ("(TIMESTAMP '2020-01-01' + to_hours(i % 50))::TIMESTAMP_MS", MOMENTS),
    "TIMESTAMP_NS": ("(TIMESTAMP '2020-01-01' + to_hours(i % 50))::TIMESTAMP_NS", MOMENTS),
    "TIMESTAMP WITH TIME ZONE": (
        "to_timestamp(1577836800 + 3600 * (i % 50))",
        {"min": "2020-01-01T00:00:00+00:00", "max": "2020-01-03T02:00:00+01:00", "step": "1 hour"},
    ),
    "BOOLEAN": ("i % 2 = 0", {"values": [True, False]}),
    "VARCHAR": ("'v' || (i % 5)", {"values": [f"v{i}" for i in range(5)]}),
    "ENUM('v9', 'v1', 'v0')": ("('v' || (i % 2))::ENUM('v9', 'v1', 'v0')", {"values": ["v0", "v1"]}),
}
LISTED = {
    "INTEGER": ("(i % 2)::INTEGER", [0, 1]),
    "HUGEINT": ("(i % 2)::HUGEINT", [0, 1]),
    "DECIMAL(9,2)": ("(i % 2)::DECIMAL(9,2)", [0, 1.0]),
    "DOUBLE": ("(i % 2) / 10", [0, 0.1]),
    "DATE": ("DATE '2020-01-01' + (i % 2)::INT", [date(2020, 1, 1), date(2020, 1, 2)]),
    "TIMESTAMP": ("TIMESTAMP '2020-01-01' + to_days((i % 2)::INT)", [datetime(2020, 1, 1), datetime(2020, 1, 2)]),
    "TIMESTAMP WITH TIME ZONE": (
        "to_timestamp(1577836800 + 86400 * (i % 2))",
        [datetime(2020, 1, 1), datetime(2020, 1, 2)],
    ),
}
PARQUET_TYPES = {
    "HUGEINT": "DECIMAL(38,0)",
    "TIMESTAMP_S": "TIMESTAMP",
    "TIMESTAMP_MS": "TIMESTAMP",
    "ENUM('v9', 'v1', 'v0')": "VARCHAR",
}
EXACT = {
    "HUGEINT": "170141183460469231731687303715884105727::HUGEINT",
    "UHUGEINT": "340282366920938463463374607431768211455::UHUGEINT",
    "UUID": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID",
    "BIT": "'10101'::BIT",
    "BLOB": "'\\x00\\xFF'::BLOB",
    "INTERVAL": "INTERVAL '99999999 hours'",
    "TIME": "TIME '10:00:00.000001'",
    "TIME WITH TIME ZONE": "'10:00:00+01'::TIMETZ",
    "JSON": "'{\"a\": 1}'::JSON",
    "ENUM('b', 'it''s')": "(CASE WHEN i % 2 = 0 THEN 'b' ELSE 'it''s' END)::ENUM('b', 'it''s')",
    "INTEGER[]": "[1, NULL, 3]",
    "INTEGER[2]": "array_value(1, 2)",
    'STRUCT(a HUGEINT, "x y" UUID[])': "{'a': 1::HUGEINT, 'x y': ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID]}",
    "STRUCT(b BIT)[]": "[{'b': '101'::BIT}]",
    "MAP(VARCHAR, INTERVAL)": "MAP {'a': INTERVAL '1 day'}",
    "UNION(n INTEGER, s VARCHAR)": "union_value(s := 'a')::UNION(n INTEGER, s VARCHAR)",
    "DATE": "DATE 'infinity'",
    "DECIMAL(38,10)": "1.5::DECIMAL(38,10)",
    "VARCHAR": "'ünï' || chr(0) || 'cödé'",
}


def original(expression):
    con = duckdb.connect()
    con.execute("SET timezone = 'UTC'")
    return con, f"SELECT i AS id, {expression} AS x FROM range({ROWS}) t(i)"


EXACTLY = {"table": "t", "order": ["id"]}


def policy(domain):
    column = {"mechanism": "uniform", "domain": domain, "retain": 0.5, "nulls": "keep"}
    return EXACTLY | {"columns": {"x": column}}


def texts(con, query):
    return [row[0] for row in con.sql(f"SELECT x::VARCHAR FROM ({query})").fetchall()]


def read(path):
    con = duckdb.connect()
    con.execute("SET timezone = 'UTC'")
    if path.suffix == ".parquet":
        con.execute(f"CREATE VIEW t AS FROM read_parquet('{path}')")
    else:
        con.execute(f"ATTACH '{path}' AS release (READ_ONLY); USE release.perturbed")
    return con


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
@pytest.mark.parametrize("name", PERTURBED)
def test_perturbed(name, ending, tmp_path):
    expression, domain = PERTURBED[name]
    path = tmp_path / f"r.{ending}"
    con, query = original(expression)
    manifest = publish((con, query), policy(domain), to=path, key=KEY)
    before, after = texts(con, query), texts(read(path), "FROM t")
    assert set(after) == set(before)  # the whole domain occurs, and nothing but the domain
    kept = sum(one == other for one, other in zip(before, after, strict=True)) / ROWS
    assert abs(kept - (0.5 + 0.5 / len(set(before)))) < 0.06
    wanted = PARQUET_TYPES.get(name, name) if ending == "parquet" else name.replace("'v9', ", "")
    assert manifest.columns[1].type.name == wanted
    assert [str(kind) for kind in read(path).sql("SELECT x FROM t").types] == [wanted]


@pytest.mark.parametrize("name", LISTED)
def test_listed(name, tmp_path):
    expression, values = LISTED[name]
    con, query = original(expression)
    manifest = publish((con, query), policy({"values": values}), to=tmp_path / "r.duckdb", key=KEY)
    before, after = texts(con, query), texts(read(tmp_path / "r.duckdb"), "FROM t")
    assert set(after) == set(before)
    assert before != after
    [(_, stored)] = stored_manifests(read(tmp_path / "r.duckdb"))
    assert Manifest.from_json(stored) == manifest


@pytest.mark.parametrize("name", EXACT)
def test_exact_columns_of_any_type_pass_unchanged(name, tmp_path):
    expression = f"CASE WHEN i % 3 = 0 THEN NULL ELSE {EXACT[name]} END"
    con, query = original(expression)
    manifest = publish((con, query), EXACTLY, to=tmp_path / "r.duckdb", key=KEY)
    assert manifest.columns[1].type.name == name
    release = read(tmp_path / "r.duckdb")
    assert [str(kind) for kind in release.sql("SELECT x FROM t").types] == [name]
    assert texts(release, "FROM t") == texts(con, query)


@pytest.mark.parametrize("name", [each for each in EXACT if each not in ("HUGEINT", "UNION(n INTEGER, s VARCHAR)")])
def test_exact_columns_in_parquet(name, tmp_path):
    con, query = original(EXACT[name])
    manifest = publish((con, query), EXACTLY, to=tmp_path / "r.parquet", key=KEY)
    release = read(tmp_path / "r.parquet")
    assert [str(kind) for kind in release.sql("SELECT x FROM t").types] == [manifest.columns[1].type.name]
    assert texts(release, "FROM t") == texts(con, query)
    if name == "UUID":
        assert manifest.columns[1].type.name == "UUID"


def test_what_cannot_be_stored_is_named_before_a_row_is_read(tmp_path):
    with pytest.raises(TargetError, match="cannot be stored in Parquet"):
        publish(original(EXACT["UNION(n INTEGER, s VARCHAR)"]), {"table": "t"}, to=tmp_path / "r.parquet", key=KEY)
    with pytest.raises(TargetError, match=r"column 'x' \(VARIANT\) cannot be stored"):
        publish(original("1::VARIANT"), {"table": "t"}, to=tmp_path / "r.duckdb", key=KEY)
    with pytest.raises(SourceError, match="UNION"):
        publish(original("union_value(a := '1'::BIT)"), {"table": "t"}, to=tmp_path / "r.duckdb", key=KEY)
    with pytest.raises(SourceError, match="cannot be read"):  # more than 38 digits
        publish(original(EXACT["HUGEINT"]), {"table": "t"}, to=tmp_path / "r.parquet", key=KEY)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("expression", "domain", "message"),
    [
        ("i::UHUGEINT", {"min": 0, "max": 9}, r"column 'x' \(UHUGEINT\): values of this type cannot be perturbed"),
        ("i::BLOB", {"values": ["a"]}, "values of this type cannot be perturbed"),
        ("i::DOUBLE", {"min": 0, "max": 9}, "a column of reals needs a step"),
        ("i::VARCHAR", {"min": 0, "max": 9}, "min and max do not fit this type"),
        ("'a'::ENUM('a', 'b')", {"values": ["a", "c"]}, "its domain lists 'c', which is no label of its ENUM"),
        ("i", {"values": ["a"]}, "which needs whole numbers"),
        ("i::TINYINT", {"min": 0, "max": 900}, "beyond what this type can hold"),
        ("i::HUGEINT", {"values": [0, 10**38]}, "does not fit the type"),
    ],
)
def test_policies_that_do_not_fit_the_type(expression, domain, message, tmp_path):
    with pytest.raises(PolicyError, match=message):
        publish(original(expression), policy(domain), to=tmp_path / "r.duckdb", key=tmp_path / "a.key")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    "expression",
    ["i::VARCHAR", "i::HUGEINT", "i::UHUGEINT", "uuid()", "DATE '2020-01-01' + i::INT", "i / 8", "i::VARCHAR::BLOB"],
)
def test_identities_of_many_types(expression, tmp_path):
    con = duckdb.connect()
    con.execute(f"CREATE TABLE s AS SELECT {expression} AS name, (i % 50)::INT AS x FROM range({ROWS}) t(i)")
    said = {"table": "t", "identity": ["name"], "columns": policy({"min": 0, "max": 49})["columns"]}
    said["columns"]["name"] = {"mechanism": "drop"}
    publish(con.sql("FROM s ORDER BY name"), said, to=tmp_path / "a.parquet", key=KEY)
    publish(con.sql("FROM s ORDER BY name DESC"), said, to=tmp_path / "b.parquet", key=KEY)
    first, second = (texts(read(tmp_path / name), "FROM t") for name in ("a.parquet", "b.parquet"))
    assert first == second  # of the same rows, and in an order that follows from them


def test_an_identity_that_cannot_name_rows(tmp_path):
    con = duckdb.connect()
    with pytest.raises(
        PolicyError, match=r"identity column 'name' \(INTEGER\[\]\): a value of this type cannot name a row"
    ):
        publish(con.sql("SELECT [1] AS name"), {"table": "t", "identity": "name"}, to=tmp_path / "a.parquet", key=KEY)
