"""Originals are in no file that publishing writes: not in a release, not in one that lies aside, not in a log.

DuckDB writes whole blocks, and what its memory held before stands behind the last value of one: where the process that
reads originals wrote the release too, about one publication in four that added a table at this size left some there,
and one in nine of the others. Those of the test below together did so in six trials of six.
"""

from __future__ import annotations

import os
import struct
import threading
from contextlib import suppress

import duckdb
import pyarrow as pa
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import SourceError
from ppdm_sql.publishing import publish

from .conftest import files_in

ROWS = 400_000
ROUNDS = 2
MARK = b"CANARY"
WAGES = [123_456.789001 + k / 1_000_000 for k in range(7)]
WORDS = [f"word number {i} of the list" for i in range(300)]

COLUMNS = {
    "name": {"mechanism": "drop"},
    "secret": {"mechanism": "drop"},
    "age": {"mechanism": "uniform", "domain": {"min": 0, "max": 99}, "retain": 0.5},
    "job": {"mechanism": "uniform", "domain": {"values": WORDS}, "retain": 0.5},
    "wage": {"mechanism": "uniform", "domain": {"min": 0, "max": 1_000_000, "step": 0.000001}, "retain": 1e-9},
}
POLICY = {"table": "t", "identity": ["name"], "columns": COLUMNS}
IN_SQL = f"""
    PERTURB (name DROP, secret DROP, age UNIFORM RETAIN 0.5 DOMAIN (0 TO 99),
        job UNIFORM RETAIN 0.5 DOMAIN ({", ".join(f"'{word}'" for word in WORDS)}),
        wage UNIFORM RETAIN 1e-9 DOMAIN (0 TO 1000000) STEP 0.000001)
    IDENTIFIED BY (name)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "s.parquet"
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (SELECT 'CANARYname' || i || 'xxxxxxxxxxxx' AS name, 'CANARYsecret' || (i * 7919) || 'yyyyyyyy' AS
                secret, ((i * 31) % 100)::INT AS age, 'word number ' || ((i * 7919) % 300) || ' of the list' AS job,
                ({WAGES}::DOUBLE[])[1 + (i % 7)] AS wage, i % 7 AS kind FROM range({ROWS}) t(i)) TO '{path}'"""
        )
    return path


class Kept:
    """Every file that is ever in a folder, kept by a second name, so that it can be read when it is gone."""

    def __init__(self, folder, copies):
        self._folder = folder
        self.copies = copies
        self._seen = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self._thread.join()

    def _watch(self):
        while not self._over.wait(0.005):
            with suppress(OSError):  # a folder may go while it is looked at
                for path in self._folder.rglob("*"):
                    self._keep(path)

    def _keep(self, path):
        try:
            number = path.stat().st_ino
            if number not in self._seen and path.is_file():
                (self.copies / f"{len(self._seen)}{path.name}").hardlink_to(path)
                self._seen.add(number)
        except OSError:  # it is gone already
            return

    def names(self):
        return [path.name for path in self.copies.iterdir()]


def canaries(*folders):
    """How many originals are in the files of some folders."""
    found = 0
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                found += content.count(MARK) + sum(content.count(struct.pack("<d", wage)) for wage in WAGES)
    return found


def test_the_search_finds_originals(tmp_path):
    source = pa.table({"name": ["CANARYname1"] * 9, "wage": pa.array(WAGES + WAGES[:2])})
    publish(source, {"table": "t"}, to=tmp_path / "r.duckdb", key=bytes(32))
    assert canaries(tmp_path) > 1


def test_no_original_in_any_file(source, tmp_path):
    """New releases, further tables, replaced ones, from Python and from SQL: often, for it was a matter of luck."""
    folder, copies = tmp_path / "release", tmp_path / "copies"
    folder.mkdir()
    copies.mkdir()
    key = write_key(tmp_path, 1)
    found = 0
    for turn in range(ROUNDS):
        to, more = folder / f"r{turn}.duckdb", {"progress": False}
        with Kept(folder, copies) as kept:
            publish(source, POLICY, to=to, key=os.urandom(32), **more)
            for table in ("u", "v", "w"):
                publish(source, POLICY | {"table": table}, to=to, key=os.urandom(32), **more)
            publish(source, POLICY, to=to, key=os.urandom(32), replace=True, **more)
            with ppdm_sql.connect() as con:
                con.execute(f"SET ppdm_key = '{key}'")
                con.execute(f"CREATE PERTURBED TABLE x TO '{to}' AS FROM '{source}' {IN_SQL}")
        assert any(name.endswith(".tmp") for name in kept.names())
        found += canaries(folder, copies)
        for path in (*folder.iterdir(), *copies.iterdir()):
            path.unlink()
    assert found == 0


def test_values_outside_of_a_domain_are_nowhere(tmp_path):
    folder, copies = tmp_path / "release", tmp_path / "copies"
    folder.mkdir()
    copies.mkdir()
    jobs = [WORDS[0]] * 300_000 + ["CANARYjob"] * 10
    source = pa.table({"name": [f"CANARY{i}" for i in range(len(jobs))], "job": jobs})
    policy = {"table": "t", "identity": ["name"], "columns": {name: COLUMNS[name] for name in ("name", "job")}}
    for name in ("r.duckdb", "r.parquet"):
        with Kept(folder, copies), pytest.raises(SourceError, match="outside its declared domain") as refused:
            publish(source, policy, to=folder / name, key=bytes(32))
        assert "CANARY" not in str(refused.value)
    assert files_in(folder) == []
    assert canaries(tmp_path) == 0
