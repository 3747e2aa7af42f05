"""No key is lost, no release is forgotten, and no table is overwritten, whatever happens at the worst time.

What a kill leaves is in the tests of kills.
"""

import os
import subprocess
import sys
from contextlib import suppress

import duckdb
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import KeyFileError, PolicyError, PpdmError
from ppdm_sql.publishing import publish

from .conftest import KEY, files_in

pytestmark = pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")

COLUMN = {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": 0.5}
TABLE = pa.table({"id": range(50), "x": [i % 10 for i in range(50)]})
SETUP = f"""
import sys
import pyarrow as pa
from ppdm_sql.publishing import publish
folder = sys.argv[1]
TABLE = pa.table({{"id": range(50), "x": [i % 10 for i in range(50)]}})
COLUMN = {COLUMN}
"""


def policy(table="t", **changes):
    return {"table": table, "identity": "id", "columns": {"x": COLUMN | changes}}


def run(script, folder):
    return subprocess.Popen([sys.executable, "-B", "-c", SETUP + script, str(folder)], stderr=subprocess.DEVNULL)


def during(action):
    """A source that does something else in the middle of its rows."""

    def batches():
        yield TABLE.to_batches()[0]
        action()

    return pa.RecordBatchReader.from_batches(TABLE.schema, batches())


def test_a_key_stays_where_publishing_fails_after_the_release_is_in_place(tmp_path, monkeypatch):
    real = os.replace

    def replaced(*args):
        real(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr("ppdm_sql.publishing.targets.os.replace", replaced)
    with pytest.raises(KeyboardInterrupt):
        publish(TABLE, policy(), to=tmp_path / "r.parquet", key=tmp_path / "a.key")
    monkeypatch.undo()
    assert files_in(tmp_path) == ["a.key", "a.key.ledger", "r.parquet"]
    publish(TABLE, policy(), to=tmp_path / "again.parquet", key=tmp_path / "a.key")
    one, other = (sorted(duckdb.sql(f"FROM '{tmp_path / name}.parquet'").fetchall()) for name in ("r", "again"))
    assert one == other
    with pytest.raises(PolicyError, match="released before by this key"):
        publish(TABLE, policy(domain={"min": 0, "max": 12}), to=tmp_path / "b.parquet", key=tmp_path / "a.key")


def test_a_fresh_key_that_another_publication_has_read_stays(tmp_path):
    def other():
        publish(TABLE, policy("other"), to=tmp_path / "other.parquet", key=tmp_path / "a.key")
        raise LookupError

    with pytest.raises(PpdmError):
        publish(during(other), policy(), to=tmp_path / "r.parquet", key=tmp_path / "a.key")
    assert files_in(tmp_path) == ["a.key", "a.key.ledger", "other.parquet"]
    before = sorted(duckdb.sql(f"FROM '{tmp_path / 'other.parquet'}'").fetchall())
    publish(TABLE, policy("other"), to=tmp_path / "other.parquet", key=tmp_path / "a.key", replace=True)
    assert sorted(duckdb.sql(f"FROM '{tmp_path / 'other.parquet'}'").fetchall()) == before


def test_an_empty_key_is_named(tmp_path):
    (tmp_path / "a.key").touch(0o600)
    with pytest.raises(KeyFileError, match="it is empty"):
        publish(TABLE, policy(), to=tmp_path / "r.parquet", key=tmp_path / "a.key")
    assert (tmp_path / "a.key").read_bytes() == b""


def test_two_publications_into_one_database_at_once_keep_both_tables(tmp_path):
    script = """
publish(TABLE, {"table": "other", "identity": "id", "columns": {"x": COLUMN}}, to=folder + "/r.duckdb", key=bytes(32))
"""
    started = []

    def other():
        started.append(run(script, tmp_path))
        with suppress(subprocess.TimeoutExpired):  # it waits for us
            started[0].wait(2)

    publish(during(other), policy(), to=tmp_path / "r.duckdb", key=KEY)
    assert started[0].wait() == 0
    with ppdm_sql.connect(tmp_path / "r.duckdb") as con:
        assert sorted(row[0] for row in con.execute("SHOW PERTURBED TABLES").fetchall()) == ["other", "t"]
