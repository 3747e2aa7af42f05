"""The order of released rows: by what is public anyway, or by a keyed hash; never by what is hidden."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import PolicyError, QueryError
from ppdm_sql.policy import Manifest, load_policy
from ppdm_sql.policy.explain import explain_policy
from ppdm_sql.publishing import layout, ordering, publish, source_order

from .conftest import KEY, files_in, rows_of

ROWS = 5_000
ENDINGS = ("duckdb", "parquet")
WAGE = {"mechanism": "uniform", "domain": {"min": 0, "max": 9_999}, "retain": 0.05}
RANDOM = np.random.default_rng(11)
SHUFFLED = RANDOM.permutation(ROWS)


def policy(**more):
    return {"table": "t", "columns": {"wage": WAGE, "ssn": {"mechanism": "drop"}}} | more


def people(order=None):
    """Rows sorted by wage, or in another order."""
    places = np.arange(ROWS) if order is None else order
    return pa.table(
        {
            "id": pa.array(SHUFFLED[places] * 3),
            "region": pa.array([f"region {i % 4}" for i in places]),
            "wage": pa.array(2 * places + places % 3 % 2),
            "ssn": pa.array([f"ssn {i}" for i in places]),
        }
    )


def published(source, said, tmp_path, ending="duckdb", name="r", key=KEY, **more):
    path = tmp_path / f"{name}.{ending}"
    manifest = publish(source, said, to=path, key=key, **more)
    return manifest, rows_of(path, "t")


def told(rows):
    """How far the place of a row tells the wage: the rank correlation of both, and what chance makes of it."""
    wages = np.array([row[-1] for row in rows])
    return abs(np.corrcoef(np.arange(len(wages)), wages.argsort().argsort())[0, 1]), 4 / np.sqrt(len(wages))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("identity", [[], ["ssn"]])
def test_a_source_sorted_by_a_perturbed_column_tells_nothing(identity, ending, tmp_path):
    said = policy(identity=identity)
    said["columns"] = said["columns"] | {"wage": WAGE | {"retain": 0.9}}
    manifest, rows = published(people(), said, tmp_path, ending)
    correlation, chance = told(rows)
    assert correlation < chance  # 0.9 where the order is kept
    assert manifest.order == () and Manifest.from_json(manifest.to_json()) == manifest
    assert sorted(row[0] for row in rows) == sorted(people()["id"].to_pylist()) or not identity


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_identity_that_is_released_gives_the_order(ending, tmp_path):
    manifest, rows = published(people(SHUFFLED), policy(identity=["id"]), tmp_path, ending)
    assert [row[0] for row in rows] == [3 * i for i in range(ROWS)]
    assert manifest.order == ("id",)


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_that_come_in_order_are_not_sorted_and_one_that_does_not_changes_nothing(ending, tmp_path, monkeypatch):
    """Whether it is nowhere, in the first batch, in a later one, or the first of one."""
    monkeypatch.setattr(layout, "ROWS_A_BATCH", 2_048)
    count = 10_000
    said = {"table": "t", "identity": ["part", "id"], "columns": {"x": WAGE | {"domain": {"min": 0, "max": 9}}}}
    found = []
    for broken in (count - 1, 1, 5_001, 4_096):
        ids = np.arange(count)
        ids[broken], ids[-1] = ids[-1], ids[broken]
        source = pa.table({"id": ids, "part": ids // 7, "x": pa.array(ids % 10)})
        publish(source, said, to=tmp_path / f"r.{ending}", key=KEY, replace=True)
        found.append(rows_of(tmp_path / f"r.{ending}", "t"))
        assert files_in(tmp_path) == [f"r.{ending}"]
    assert [row[0] for row in found[0]] == list(range(count))
    assert all(rows == found[0] for rows in found)


def test_the_order_in_which_rows_came_is_not_left_in_the_file(tmp_path):
    """Rows written before one was out of order would stay in free blocks."""
    words = [f"exact value {i:07}" for i in range(200_000)]
    source = pa.table({"id": words[1:] + words[:1]})
    publish(source, {"table": "t", "identity": ["id"]}, to=tmp_path / "r.duckdb", key=KEY)
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        assert con.sql("SELECT free_blocks FROM pragma_database_size()").fetchall() == [(0,)]
        assert con.sql("SELECT id FROM perturbed.t").fetchall() == [(word,) for word in words]


@pytest.mark.parametrize("ending", ENDINGS)
def test_other_exact_columns_and_a_keyed_hash_after_them(ending, tmp_path):
    said = policy(order=["region"])
    manifest, rows = published(people(), said, tmp_path, ending)
    regions = [row[1] for row in rows]
    assert regions == sorted(regions) and manifest.order == ("region",)
    for region in set(regions):
        correlation, chance = told([row for row in rows if row[1] == region])
        assert correlation < chance
    assert published(people(), policy(order=["region", "id"], identity=["id"]), tmp_path, ending, "both")[1] == sorted(
        published(people(), policy(identity=["id"]), tmp_path, ending, "one")[1], key=lambda row: (row[1], row[0])
    )


def test_the_order_follows_from_the_rows_and_the_key(tmp_path):
    said = policy(identity=["ssn"])
    _, first = published(people(SHUFFLED), said, tmp_path)
    _, other = published(people(SHUFFLED[::-1]), said, tmp_path, name="other")
    assert first == other
    _, another = published(people(SHUFFLED), said, tmp_path, name="another", key=bytes(32))
    assert [row[0] for row in another] != [row[0] for row in first]


def test_all_levels_have_one_order(tmp_path):
    said = policy(identity=["ssn"], levels={"state": 0.8, "public": 0.2})
    key = write_key(tmp_path, 1)
    copies = [
        published(people(), said, tmp_path, e, f"{e}{n}", key, level=n)[1] for n in said["levels"] for e in ENDINGS
    ]
    for column in (0, 1):
        assert len({tuple(row[column] for row in rows) for rows in copies}) == 1


def test_sql_says_the_same(tmp_path):
    key = write_key(tmp_path, 1)
    clause = "PERTURB (wage UNIFORM RETAIN 0.05 DOMAIN (0 TO 9999), ssn DROP) IDENTIFIED BY (ssn)"
    with ppdm_sql.connect() as con:
        con.execute(f"SET ppdm_key = '{key}'")
        con.register("original", people(SHUFFLED))
        con.execute("CREATE TABLE people AS FROM original")
        for words, order in (("", None), (" ORDERED BY (region)", ["region"]), (" ORDERED BY SOURCE", "source")):
            said = policy(identity=["ssn"]) | ({} if order is None else {"order": order})
            wanted = published(people(SHUFFLED), said, tmp_path, name=f"order{len(words)}", key=key)[1]
            con.execute(f"CREATE OR REPLACE PERTURBED TABLE t AS FROM people {clause}{words}")
            assert con.execute("FROM t").fetchall() == wanted
        with pytest.raises(QueryError, match="a view has the order of its SELECT"):
            con.execute(f"CREATE PERTURBED VIEW v AS FROM people {clause} ORDERED BY (region)")


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_sources_order_where_it_tells_nothing(ending, tmp_path):
    source = people(SHUFFLED)
    manifest, rows = published(source, policy(order="source"), tmp_path, ending)
    assert [row[0] for row in rows] == source["id"].to_pylist()
    assert manifest.order is None
    assert "in the order of the source" in explain_policy(load_policy(policy(order="source")))


def _nearly(rows, share):
    """Sorted, but for a share of rows that are anywhere."""
    places = np.arange(rows)
    moved = np.flatnonzero(RANDOM.random(rows) < share)
    places[moved] = RANDOM.permutation(moved)
    return places


REFUSED = {
    "sorted": np.arange(ROWS),
    "falling": np.arange(ROWS)[::-1],
    "nearly sorted": _nearly(ROWS, 0.4),
    "by hundreds": np.arange(ROWS) // 100 * 37 % 50 * 100 + RANDOM.integers(100, size=ROWS),
    "in runs": RANDOM.permutation(ROWS // 5).repeat(5) * 5,
    "three rows": np.arange(4),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_sources_order_is_refused_where_it_tells(name):
    values = REFUSED[name]
    columns = {
        "number": pa.array(values),
        "real": pa.array(values / 4),
        "text": pa.array([f"{value:05}" for value in values]),
        "basket": pa.array([[str(value)] for value in values]),
        "half": pa.array(values * 2 > values.max()),
    }
    for column, array in columns.items():
        order = source_order.SourceOrder(["free", column], [0, 1])
        table = pa.table({"free": pa.array(RANDOM.permutation(len(array))), column: array})
        before = 0
        for batch in table.to_batches(max_chunksize=777):
            order.add(batch, before)
            before += batch.num_rows
        with pytest.raises(PolicyError, match=f"column {column!r} is sorted there, or nearly so"):
            order.check("source")


def looked_at(values):
    """Whether this column may keep its order."""
    order = source_order.SourceOrder(["x"], [0])
    order.add(pa.record_batch({"x": values}), 0)
    order.check("source")


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("rows", [200, 5_000])
def test_nulls_between_sorted_values_hide_nothing(rows, share):
    random = np.random.default_rng(3)
    free = random.permutation(rows).astype(float)
    hidden = random.random(rows) < share
    looked_at(pa.array(free, mask=hidden))
    with pytest.raises(PolicyError, match="is sorted there"):
        looked_at(pa.array(np.sort(free), mask=hidden))


@pytest.mark.parametrize("part", [slice(None, 750), slice(2_000, 2_750), slice(-750, None)])
def test_a_part_that_is_sorted_tells_its_values(part):
    values = np.random.default_rng(3).permutation(5_000)
    looked_at(pa.array(values))
    values[part] = np.sort(values[part])
    with pytest.raises(PolicyError, match="is sorted there"):
        looked_at(pa.array(values))


def test_a_release_in_the_sources_order_is_refused_where_that_tells(tmp_path):
    with pytest.raises(PolicyError, match="is sorted there"):
        published(people(), policy(order="source"), tmp_path)
    assert files_in(tmp_path) == []


def test_a_sample_of_a_large_source_tells_the_same(monkeypatch):
    monkeypatch.setattr(source_order, "PAIRS", 64)
    for places, refused in ((np.arange(ROWS), True), (SHUFFLED, False)):
        order = source_order.SourceOrder(["x"], [0])
        for before in range(0, ROWS, 500):
            order.add(pa.record_batch({"x": places[before : before + 500]}), before)
        if refused:
            with pytest.raises(PolicyError):
                order.check("source")
        else:
            order.check("source")


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["wage"], "column 'wage' is perturbed, and rows in its order would give its values away"),
        (["SSN"], "column 'SSN' is dropped"),
        ([], "order must be a list of column names"),
        ("id", "order must be a list of column names"),
        (7, "order must be a list of column names"),
        (["id", "ID"], "order column 'ID' is named twice"),
        (["regoin"], "order names column 'regoin', which is not released. Did you mean 'region'"),
    ],
)
def test_orders_that_are_none(order, message, tmp_path):
    with pytest.raises(PolicyError, match=message):
        published(people(SHUFFLED), policy(order=order), tmp_path)
    assert files_in(tmp_path) == []


def test_hashes_are_no_identities_and_no_coins():
    blocks = np.zeros((1_000, 2), dtype=np.uint64)
    blocks[:, 0] = np.arange(1_000)
    found = ordering.hashes(blocks, KEY, "t").to_numpy()
    assert len(set(found)) == 1_000 and abs(np.corrcoef(found, np.arange(1_000))[0, 1]) < 0.15
    assert (found == ordering.hashes(blocks, KEY, "T").to_numpy()).all()
    assert (found != ordering.hashes(blocks, KEY, "u").to_numpy()).all()


ENUM = "('v' || (1 + i % 2))::ENUM('never', 'v2', 'v1')"


@pytest.mark.parametrize("ending", ENDINGS)
def test_exact_enums_have_only_labels_that_occur(ending, tmp_path):
    with duckdb.connect() as con:
        columns = f"i AS id, {ENUM} AS e, [{ENUM}] AS l, {{'a': {ENUM}}} AS s, NULL::ENUM('never') AS n"
        query = f"SELECT {columns} FROM range(9) t(i)"
        publish((con, query), {"table": "t", "identity": ["id"]}, to=tmp_path / f"r.{ending}", key=KEY)
        before = con.sql(query).fetchall()
    assert rows_of(tmp_path / f"r.{ending}", "t") == before
    content = (tmp_path / f"r.{ending}").read_bytes()
    assert b"never" not in content and b"v1" in content
    if ending == "duckdb":
        with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
            kinds = [str(kind) for kind in con.sql("SELECT e, l, s, n FROM perturbed.t").types]
        assert kinds == ["ENUM('v2', 'v1')", "VARCHAR[]", "STRUCT(a VARCHAR)", "VARCHAR"]
