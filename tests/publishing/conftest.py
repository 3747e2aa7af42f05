"""A small original with a column of every kind, its policy, and how to read a release."""

from __future__ import annotations

import shutil

import duckdb
import pyarrow as pa
import pytest

from .signed import KINDS, released

KEY = bytes(range(32))
ROWS = 3_000

POLICY = """
table = "people"
identity = ["id"]
[columns.age]
mechanism = "uniform"
domain = { min = 17, max = 90 }
retain = 0.5
[columns.wage]
mechanism = "uniform"
domain = { min = 0, max = 50, step = 0.25 }
retain = 0.5
[columns.job]
mechanism = "uniform"
domain = { values = ["01", "02", "03", "x"] }
retain = 0.5
[columns.born]
mechanism = "uniform"
domain = { min = 1950-01-01, max = 1950-12-31 }
retain = 0.5
[columns.seen]
mechanism = "uniform"
domain = { min = 2020-01-01T00:00:00, max = 2020-01-31T00:00:00, step = "1 hour" }
retain = 0.5
[columns.secret]
mechanism = "drop"
[levels]
state = 0.8
public = 0.2
"""

QUERY = f"""
    SELECT i::BIGINT AS id, (17 + i * 31 % 74)::BIGINT AS age, (i * 37 % 201) / 4.0::DOUBLE AS wage,
        '0' || (1 + i % 3) AS job, DATE '1950-01-01' + (i * 11 % 365)::INT AS born,
        TIMESTAMP '2020-01-01' + to_hours((i * 13 % 721)::INT) AS seen, 'secret ' || i AS secret, i % 7 = 0 AS kind
    FROM range({ROWS}) t(i) ORDER BY i
"""


@pytest.fixture(scope="session")
def table() -> pa.Table:
    """The original."""
    with duckdb.connect() as con:
        return con.sql(QUERY).to_arrow_table()


def rows_of(path, table="people", columns="*"):
    """All rows of a release, in the order in which they are stored."""
    name = table.replace('"', '""')
    with duckdb.connect() as con:
        if str(path).endswith(".parquet"):
            return con.sql(f"SELECT {columns} FROM read_parquet('{path}')").fetchall()
        con.execute(f"ATTACH '{path}' AS release (READ_ONLY)")
        return con.sql(f'SELECT {columns} FROM release.perturbed."{name}"').fetchall()


def files_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """One release of each kind, made once; tests that change one take a copy."""
    folder = tmp_path_factory.mktemp("signed")
    for name in KINDS:
        released(folder / name)
    return folder


@pytest.fixture(params=KINDS)
def path(request, signed, tmp_path):
    for file in signed.iterdir():
        if file.name.startswith(request.param):
            shutil.copy(file, tmp_path)
    return tmp_path / request.param
