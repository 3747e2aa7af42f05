"""Releases: whole or not there, alone or beside other releases, without a trace of the original."""

from hashlib import sha256

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.policy.manifest import METADATA_KEY
from ppdm_sql.publishing import publish
from ppdm_sql.release.stored import stored_manifests

from .conftest import KEY, POLICY, files_in, rows_of

OTHER = POLICY.replace('table = "people"', 'table = "others"')
MARK = "ORIGINALMARK"


def manifests(path):
    with duckdb.connect(str(path), read_only=True) as con:
        return [(place.name, text) for place, text in stored_manifests(con)]


def test_the_manifest_travels_with_the_release(table, tmp_path):
    manifest = publish(table, POLICY, to=tmp_path / "r.duckdb", key=KEY)
    assert manifests(tmp_path / "r.duckdb") == [("people", manifest.to_json())]
    assert [c.name for c in manifest.columns] == ["id", "age", "wage", "job", "born", "seen", "kind"]
    assert [c.name for c in manifest.perturbed] == ["age", "wage", "job", "born", "seen"]
    assert manifest.rows == table.num_rows
    parquet = publish(table, POLICY, to=tmp_path / "r.parquet", key=KEY)
    stored = pq.read_metadata(tmp_path / "r.parquet").metadata[METADATA_KEY.encode()]
    assert Manifest.from_json(stored.decode()) == parquet == manifest
    assert rows_of(tmp_path / "r.parquet") == rows_of(tmp_path / "r.duckdb")
    assert files_in(tmp_path) == ["r.duckdb", "r.parquet"]


def test_older_clients_can_read_it(table, tmp_path):
    publish(table, POLICY, to=tmp_path / "r.duckdb", key=KEY)
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as con:
        tags = con.sql("SELECT tags FROM duckdb_databases() WHERE NOT internal").fetchall()[0][0]
    assert tags["storage_version"] == "v1.0.0+"


@pytest.mark.parametrize("name", ["select", "ünï", 'with "quotes"', "it's", "a.b", "a b", "Ünï 'x\" y"])
def test_any_table_and_column_name(name, tmp_path):
    policy = {
        "table": name,
        "identity": f"id {name}",
        "columns": {name: {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": 0.5}},
    }
    source = pa.table({f"id {name}": range(100), name: [i % 10 for i in range(100)]})
    for ending in ("duckdb", "parquet"):
        manifest = publish(source, policy, to=tmp_path / f"r.{ending}", key=KEY)
        assert [c.name for c in manifest.columns] == [f"id {name}", name]
        assert len(rows_of(tmp_path / f"r.{ending}", name)) == 100
    assert rows_of(tmp_path / "r.duckdb", name) == rows_of(tmp_path / "r.parquet")


def test_parquet_has_dictionaries_where_values_occur_again(tmp_path):
    rows = 20_000
    names = pa.array([f"person {i % 50}" for i in range(rows)])
    source = pa.table(
        {
            "id": range(rows),
            "age": [i % 74 for i in range(rows)],
            "a.b": [i / 3 for i in range(rows)],
            "name": names,
            "tags": [["x", "y"]] * rows,
        }
    )
    policy = {
        "table": "t",
        "columns": {"age": {"mechanism": "uniform", "domain": {"min": 0, "max": 73}, "retain": 0.5}},
    }
    publish(source, policy, to=tmp_path / "r.parquet", key=KEY)
    group = pq.read_metadata(tmp_path / "r.parquet").row_group(0)
    columns = {group.column(i).path_in_schema: group.column(i).has_dictionary_page for i in range(group.num_columns)}
    assert columns == {"id": False, "age": True, "a.b": False, "name": True, "tags.list.element": True}
    with duckdb.connect() as con:
        query = f"SELECT count(DISTINCT id), sum(\"a.b\"), count(DISTINCT name) FROM '{tmp_path / 'r.parquet'}'"
        assert con.sql(query).fetchall()[0] == (rows, pytest.approx(sum(i / 3 for i in range(rows))), 50)


@pytest.mark.parametrize("ending", ["duckdb", "db", "ddb", "DUCKDB"])
def test_endings(ending, table, tmp_path):
    publish(table, POLICY, to=tmp_path / f"r.{ending}", key=KEY)
    assert len(rows_of(tmp_path / f"r.{ending}")) == table.num_rows


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("r.csv", "its name ends with one of .duckdb, .db, .ddb, .parquet"),
        ("r", "its name ends with one of"),
        ("missing/r.duckdb", "does not exist. Make it first"),
        ("folder.duckdb", "is a directory: name a file"),
        ("nothing\0.duckdb", "is not a path that can be used"),
    ],
)
def test_where_no_release_can_be(name, message, table, tmp_path):
    (tmp_path / "folder.duckdb").mkdir()
    with pytest.raises(TargetError, match=message):
        publish(table, POLICY, to=tmp_path / name, key=tmp_path / "a.key")
    assert files_in(tmp_path) == ["folder.duckdb"]


def test_a_link_is_followed(table, tmp_path):
    """A table that is added through a link is in the file that the link leads to."""
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "r.duckdb", tmp_path / "link.duckdb"
    link.symlink_to(file)
    for to, name in ((link, "one"), (file, "two"), (link, "three")):
        publish(table, POLICY.replace('"people"', f'"{name}"'), to=to, key=KEY)
    assert link.is_symlink()
    assert all(len(rows_of(file, name)) == table.num_rows for name in ("one", "two", "three"))
    assert files_in(tmp_path / "there") == ["r.duckdb"]
    (tmp_path / "loop.duckdb").symlink_to(tmp_path / "loop.duckdb")
    with pytest.raises(TargetError, match="is not a path that can be used"):
        publish(table, POLICY, to=tmp_path / "loop.duckdb", key=KEY)


def test_the_source_is_no_target(table, tmp_path):
    pq.write_table(table, tmp_path / "a.parquet")
    before = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "link.parquet").symlink_to(tmp_path / "a.parquet")
    for name in ("a.parquet", "link.parquet"):
        for source in (tmp_path / "a.parquet", str(tmp_path / "a*.parquet")):
            with pytest.raises(TargetError, match="is the source itself"):
                publish(source, POLICY, to=tmp_path / name, key=KEY, replace=True)
    assert (tmp_path / "a.parquet").read_bytes() == before


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_nothing_is_overwritten_unless_asked(ending, table, tmp_path):
    path = tmp_path / f"r.{ending}"
    publish(table, POLICY, to=path, key=KEY)
    before = path.read_bytes()
    with pytest.raises(TargetError, match=r"already. Say replace = True"):
        publish(table, POLICY.replace("retain = 0.5", "retain = 0.2"), to=path, key=KEY)
    assert path.read_bytes() == before
    manifest = publish(table.slice(0, 10), POLICY, to=path, key=KEY, replace=True)
    assert manifest.rows == len(rows_of(path)) == 10
    assert files_in(tmp_path) == [path.name]


def test_an_original_is_not_replaced(table, tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(table, path)
    before = path.read_bytes()
    with pytest.raises(TargetError, match="a Parquet file that is no release"):
        publish(table, POLICY, to=path, key=KEY, replace=True)
    assert path.read_bytes() == before
    path.write_bytes(before[:-50])  # what cannot be read is nobody's
    assert publish(table, POLICY, to=path, key=KEY, replace=True).rows == table.num_rows
    assert files_in(tmp_path) == [path.name]


def test_more_tables_in_one_release(table, tmp_path):
    path = tmp_path / "r.duckdb"
    publish(table, POLICY, to=path, key=KEY)
    first = rows_of(path)
    publish(table, OTHER, to=path, key=KEY)
    assert rows_of(path) == first
    assert rows_of(path, "others") != first
    assert [name for name, _ in manifests(path)] == ["others", "people"]
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE VIEW old AS SELECT age FROM perturbed.people WHERE wage > 10")
    publish(table.slice(0, 10), POLICY.replace('"people"', '"People"'), to=path, key=KEY, replace=True)
    assert rows_of(path, "people") == first[:10]
    assert len(rows_of(path, "others")) == table.num_rows
    with duckdb.connect(str(path), read_only=True) as con:
        assert con.sql("SELECT count(*) <= 10 FROM old").fetchall() == [(True,)]
    assert [name for name, _ in manifests(path)] == ["People", "others"]
    with pytest.raises(TargetError, match="has a view 'old'"):
        publish(table, POLICY.replace('"people"', '"old"'), to=path, key=KEY, replace=True)
    assert files_in(tmp_path) == ["r.duckdb"]


def holds_part_of(path, word):
    """Whether a file has a part of a text, of which DuckDB may keep nothing but symbols of up to 8 bytes."""
    content = path.read_bytes()
    return any(word[i : i + 5].encode() in content for i in range(len(word) - 4))


def test_a_replaced_table_leaves_no_bytes(tmp_path):
    first, other, second = (sha256(name.encode()).hexdigest() for name in ("first", "other", "second"))
    path = tmp_path / "r.duckdb"

    def published(word, name, **more):
        policy = {"table": name, "identity": ["id"]}
        source = pa.table({"id": range(20_000), "x": [f"{word}{i % 10}" for i in range(20_000)]})
        publish(source, policy, to=path, key=KEY, **more)

    published(first, "a")
    published(other, "b")
    assert holds_part_of(path, first)
    published(second, "a", replace=True)
    assert not holds_part_of(path, first)
    assert holds_part_of(path, second)
    assert rows_of(path, "a")[:2] == [(0, f"{second}0"), (1, f"{second}1")]


def test_a_release_that_somebody_put_other_tables_into_is_left_alone(table, tmp_path):
    path = tmp_path / "r.duckdb"
    publish(table, POLICY, to=path, key=KEY)
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TABLE originals (x INTEGER)")
    with pytest.raises(TargetError, match="must not travel with other data"):
        publish(table, OTHER, to=path, key=KEY)


def test_a_database_that_is_no_release_is_left_alone(table, tmp_path):
    path = tmp_path / "r.duckdb"
    for statement in ("CREATE TABLE a (x INTEGER)", "DROP TABLE a; CREATE VIEW a AS SELECT 1", "DROP VIEW a"):
        with duckdb.connect(str(path)) as con:
            con.execute(statement)
        before = path.read_bytes()
        if statement == "DROP VIEW a":
            publish(table, POLICY, to=path, key=KEY)
            break
        with pytest.raises(TargetError, match="is not a release: a release must not travel with other data"):
            publish(table, POLICY, to=path, key=KEY, replace=True)
        assert path.read_bytes() == before
    (tmp_path / "text.duckdb").write_text("no database" * 999)
    with pytest.raises(TargetError, match="is no DuckDB file that can be opened"):
        publish(table, POLICY, to=tmp_path / "text.duckdb", key=KEY, replace=True)


def test_a_release_that_is_open_is_left_alone(table, tmp_path):
    path = tmp_path / "r.duckdb"
    publish(table, POLICY, to=path, key=KEY)
    (tmp_path / "r.duckdb.wal").write_bytes(b"x")
    with pytest.raises(TargetError, match="is open elsewhere or was not closed"):
        publish(table, OTHER, to=path, key=KEY)


@pytest.fixture
def _readable(monkeypatch):
    """Parquet pages as they are, so that bytes can be searched for; DuckDB keeps short lists of texts as they are."""
    monkeypatch.setattr("ppdm_sql.publishing.parquet_target.COMPRESSION", "none")


@pytest.mark.usefixtures("_readable")
@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_no_trace_of_what_is_dropped(ending, tmp_path):
    con = duckdb.connect()
    con.execute(
        f"""CREATE TABLE s AS SELECT '{MARK}name' || (i % 9) AS name, '{MARK}ssn' || i AS ssn,
            (CASE WHEN i % 2 = 0 THEN 'clerk' ELSE 'baker' END)::ENUM('{MARK}never', 'clerk', 'baker') AS job
            FROM range(2000) t(i)"""
    )
    drop = {"mechanism": "drop"}
    job = {"mechanism": "uniform", "domain": {"values": ["clerk", "baker"]}, "retain": 0.5}
    policy = {"table": "t", "identity": ["ssn"], "columns": {"name": drop, "ssn": drop, "job": job}}
    publish(con.sql("FROM s"), policy, to=tmp_path / f"r.{ending}", key=KEY)
    assert MARK.encode() not in (tmp_path / f"r.{ending}").read_bytes()
    assert len(rows_of(tmp_path / f"r.{ending}", "t")) == 2000
    # The search finds what is there.
    del policy["columns"]["name"]
    publish(con.sql("FROM s"), policy, to=tmp_path / f"control.{ending}", key=KEY)
    assert f"{MARK}name".encode() in (tmp_path / f"control.{ending}").read_bytes()


@pytest.mark.usefixtures("_readable")
@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_no_trace_of_a_value_that_is_replaced(ending, tmp_path):
    values = [MARK] + [f"value{i}" for i in range(1000)]
    source = pa.table({"id": range(100), "x": [MARK if i == 5 else values[1 + i % 9] for i in range(100)]})

    def occurrences(retain):
        column = {"mechanism": "uniform", "domain": {"values": values}, "retain": retain}
        path = tmp_path / f"{retain}.{ending}"
        publish(source, {"table": "t", "identity": "id", "columns": {"x": column}}, to=path, key=KEY)
        return [row[1] for row in rows_of(path, "t")].count(MARK), path.read_bytes().count(MARK.encode())

    # The domain is public: the manifest has the value once, and so has a comment. Under this key no row draws it.
    told = 2 if ending == "duckdb" else 1
    assert occurrences(1e-9) == (0, told)
    kept, found = occurrences(1.0)
    assert kept == 1
    assert found > told
