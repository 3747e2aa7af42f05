"""Fixtures shared by all tests: an original table, and releases of it at any retention."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from ppdm_sql.publishing.release import publish

sys.path.insert(0, str(Path(__file__).parent))  # the tests' own modules, such as people.py

from beside import RELEASES, exact_tables, partition, partition_policy
from keys import write_key
from people import people, policy

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # A shell that starts a command in the background makes it ignore Ctrl-C, and its children would inherit that, some
    # of which are tests of what Ctrl-C does.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROWS = 20_000
Release = Callable[..., Path]


@pytest.fixture(scope="session")
def original_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file with the original table, its grade an ENUM."""
    path = tmp_path_factory.mktemp("original") / "original.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("generated", people(ROWS))
        con.execute(
            "CREATE TABLE people AS SELECT * REPLACE (grade::ENUM('low', 'middle', 'high') AS grade) FROM generated"
        )
        con.execute("CREATE TABLE plain AS SELECT range AS x FROM range(10)")
        con.execute(exact_tables("people"))
        for name in RELEASES:
            con.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.{name} AS {partition(name)}")
    return path


@pytest.fixture(scope="session")
def original(original_file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The original table, to ask for the truth."""
    with duckdb.connect(str(original_file), read_only=True) as con:
        yield con


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory, original_file: Path) -> Release:
    """Publishes the original at a retention, with a numbered key; each release is made once."""
    folder = tmp_path_factory.mktemp("releases")

    def make(retain: float, number: int = 0) -> Path:
        path = folder / f"people-{retain}-{number}.duckdb"
        if not path.exists():
            publish(f"{original_file}::people", policy(retain), to=path, key=write_key(folder, number))
        return path

    return make


@pytest.fixture(scope="session")
def beside(tmp_path_factory: pytest.TempPathFactory, original_file: Path) -> Callable[..., dict[str, Path]]:
    """Publishes what stands beside the people: further releases, by name, at a retention."""
    folder = tmp_path_factory.mktemp("beside")

    def make(retain: float, number: int = 0) -> dict[str, Path]:
        paths = {name: folder / f"{name}-{retain}-{number}.duckdb" for name in RELEASES}
        with duckdb.connect(str(original_file), read_only=True) as con:
            for name, path in paths.items():
                if not path.exists():
                    table = con.table(f"{name}.{name}")
                    publish(table, partition_policy(name, retain), to=path, key=write_key(folder, number))
        return paths

    return make
