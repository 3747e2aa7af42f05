"""Whatever happens in the middle, there is no half release, and the old one stays."""

import os
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pyarrow as pa
import pytest

from ppdm_sql.errors import TargetError
from ppdm_sql.mechanisms.retained import publish_uniform as uniform
from ppdm_sql.publishing import publish
from ppdm_sql.publishing.ledger import read_ledger
from ppdm_sql.publishing.pipeline import run
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.publishing.writing import writing

from .conftest import KEY, POLICY, files_in, rows_of

BATCHES = [pa.record_batch({"c0": [i]}) for i in range(20)]


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
@pytest.mark.parametrize("existing", [False, True])
def test_an_exception_in_the_middle(ending, error, existing, table, tmp_path, monkeypatch):
    path = tmp_path / f"r.{ending}"
    if existing:
        publish(table, POLICY, to=path, key=KEY)
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    monkeypatch.setattr("ppdm_sql.publishing.layout.ROWS_A_BATCH", 2048)
    calls = []
    real = uniform.perturb

    def failing(*args, **more):
        calls.append(1)
        if len(calls) == 7:
            raise error
        return real(*args, **more)

    monkeypatch.setattr(uniform, "perturb", failing)
    with pytest.raises(error):
        publish(table, POLICY, to=path, key=tmp_path / "a.key", replace=True)
    after = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    assert len(after.pop("a.key")) > 64
    assert after == before
    assert not [thread for thread in threading.enumerate() if thread.name == "ppdm-publish"]


@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_a_failing_rename(ending, table, tmp_path, monkeypatch):
    def failing(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ppdm_sql.publishing.targets.os.replace", failing)
    with pytest.raises(TargetError, match="cannot be put in place: No space left on device"):
        publish(table, POLICY, to=tmp_path / f"r.{ending}", key=tmp_path / "a.key")
    assert files_in(tmp_path) == ["a.key", "a.key.ledger"]
    assert read_ledger(tmp_path / "a.key.ledger") == []


def test_an_interrupt_while_duckdb_reads_is_no_fault_of_the_source():
    """DuckDB makes an error of its own out of it, in these words."""

    def interrupted():
        raise RuntimeError("Query interrupted")

    with pytest.raises(KeyboardInterrupt):
        guarded("source 's'", interrupted)


def test_a_full_disk_is_no_columns_fault():
    """Also where it is full when the types of a file are tried."""

    def full():
        raise OSError(28, "No space left on device")

    with pytest.raises(TargetError, match=r"^target 'r' cannot be written \(No space .*\). Check the space"):
        writing("target 'r'", full, "one of its columns cannot be stored in Parquet")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written(table, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    for ending in ("duckdb", "parquet"):
        with pytest.raises(TargetError, match="cannot be written"):
            publish(table, POLICY, to=tmp_path / "closed" / f"r.{ending}", key=KEY)


SCRIPT = """
import sys
import pyarrow as pa
from ppdm_sql.publishing import publish

def batches():
    for start in range(0, 10**9, 100_000):
        print(start, flush=True)
        yield pa.record_batch({"id": range(start, start + 100_000), "x": [i % 100 for i in range(100_000)]})

reader = pa.RecordBatchReader.from_batches(pa.schema({"id": pa.int64(), "x": pa.int64()}), batches())
column = {"mechanism": "uniform", "domain": {"min": 0, "max": 99}, "retain": 0.5}
publish(reader, {"table": "t", "identity": "id", "columns": {"x": column}}, to=sys.argv[1], key=bytes(32), replace=True)
"""


def started(path):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in range(14):
        process.stdout.readline()
    return process


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_a_killed_process_leaves_the_target_as_it_was(ending, tmp_path):
    path = tmp_path / f"r.{ending}"
    process = started(path)
    process.kill()
    process.communicate()
    assert not path.exists()
    source = pa.table({"x": [1, 2, 3]})
    publish(source, {"table": "t"}, to=path, key=KEY)
    process = started(path)
    process.kill()
    process.communicate()
    assert sorted(rows_of(path, "t")) == [(1,), (2,), (3,)]


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
@pytest.mark.parametrize("ending", ["duckdb", "parquet"])
def test_an_interrupted_process_cleans_up(ending, tmp_path):
    process = started(tmp_path / f"r.{ending}")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors
    assert files_in(tmp_path) == []


def test_the_pipeline_keeps_order_and_is_bounded():
    ahead = []
    written = []

    def read():
        for number, batch in enumerate(BATCHES):
            ahead.append(number - len(written))
            yield batch

    def write(batches):
        for batch in batches:
            time.sleep(0.002)
            written.append(batch)

    run(read(), lambda batch: batch, write)
    assert written == BATCHES
    assert max(ahead) <= 8


@pytest.mark.parametrize("place", ["read", "change", "write", "write at once"])
def test_the_pipeline_raises_what_failed_first(place):
    def read():
        for number, batch in enumerate(BATCHES):
            if place == "read" and number == 5:
                raise LookupError("read")
            yield batch

    def change(batch):
        if place == "change" and batch == BATCHES[5]:
            raise LookupError("change")
        return batch

    def write(batches):
        if place == "write at once":
            raise LookupError("write at once")
        for batch in batches:
            if place == "write" and batch == BATCHES[5]:
                raise LookupError("write")

    with pytest.raises(LookupError, match=place):
        run(read(), change, write)
    assert not [thread for thread in threading.enumerate() if thread.name == "ppdm-publish"]


def test_a_bar_on_a_terminal_only(table, tmp_path, capsys):
    publish(table, POLICY, to=tmp_path / "a.duckdb", key=KEY)
    assert capsys.readouterr().err == ""
    publish(table, POLICY, to=tmp_path / "b.duckdb", key=KEY, progress=True)
    assert "people: 100%" in capsys.readouterr().err


MEMORY = """
import resource, sys
from ppdm_sql.publishing import publish

column = {"mechanism": "uniform", "domain": {"min": 0, "max": 99}, "retain": 0.5}
policy = {"table": "t", "identity": "id", "columns": {"x": column, "y": column}}
for number in (1, 2):
    publish(f"{sys.argv[1]}/{number}.parquet", policy, to=f"{sys.argv[1]}/{number}.duckdb", key=bytes(32))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in kilobytes on Linux")
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """Identities out of order, so that all of them are stored: 80 MB, in a file."""
    query = "SELECT (i * 7919) % 1000000007 AS id, i % 100 AS x, (i * 3) % 100 AS y FROM range({rows}) t(i)"
    with duckdb.connect() as con:
        for number, rows in ((1, 1_500_000), (2, 5_000_000)):
            con.execute(f"COPY ({query.format(rows=rows)}) TO '{tmp_path}/{number}.parquet'")
    command = [sys.executable, "-c", MEMORY, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    small, large = (int(line) for line in done.stdout.split())
    assert (large - small) / 1024 < 120


def test_a_table_of_many_columns(tmp_path):
    names = [f"c{i}" for i in range(150)]
    query = f"SELECT i AS id, {', '.join(f'(i * 7 % 100) AS {name}' for name in names)} FROM range(130_000) t(i)"
    with duckdb.connect() as con:
        con.execute(f"COPY ({query}) TO '{tmp_path}/wide.parquet'")
    column = {"mechanism": "uniform", "domain": {"min": 0, "max": 99}, "retain": 0.5}
    policy = {"table": "t", "identity": "id", "columns": dict.fromkeys(names[:2], column)}
    manifest = publish(tmp_path / "wide.parquet", policy, to=tmp_path / "r.duckdb", key=KEY)
    assert manifest.rows == 130_000
    assert len(manifest.columns) == 151


def test_limits_of_an_open_database_are_put_back(table, tmp_path):
    path = str(tmp_path / "source.duckdb")
    with duckdb.connect(path) as con:
        con.register("given", table)
        con.execute("CREATE TABLE people AS FROM given")
    query = "SELECT current_setting('threads'), current_setting('memory_limit')"
    with duckdb.connect(path, read_only=True) as con:
        con.execute("SET memory_limit = '3GiB'")
        before = con.execute(query).fetchall()
        publish(f"{path}::people", POLICY, to=tmp_path / "r.duckdb", key=KEY)
        assert con.execute(query).fetchall() == before
