"""Made-up people to measure on: skewed columns that depend on one another, with domains as large as in a census."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

RETAIN = 0.5
TABLE = "people"
CHUNK = 10_000_000
"""Rows that one Parquet file holds at most."""


@dataclass(frozen=True)
class Column:
    """A perturbed column: its domain, how it is made up, and a condition that an analyst might put on it."""

    name: str
    low: int
    high: int
    made_up: str
    condition: str

    @property
    def size(self) -> int:
        """The number of values in the domain."""
        return self.high - self.low + 1


# u1 .. u8 are uniform in [0, 1), each a function of the row's number; a column may use those above it.
COLUMNS = (
    Column("age", 17, 90, "17 + floor(74 * pow(u1, 1.5))", "age BETWEEN 25 AND 45"),
    Column("income", 0, 9_999, "floor(10000 * pow(u2, 5.0 - (age - 17) / 25))", "income >= 800"),
    Column(
        "education", 1, 16, "1 + floor(16 * pow(u3, CASE WHEN income > 500 THEN 0.6 ELSE 1.2 END))", "education > 9"
    ),
    Column("hours", 1, 99, "1 + floor(99 * (u4 + 0.3 * u3 + 0.7 * pow(u2, 2)) / 2)", "hours < 41"),
    Column("occupation", 0, 14, "floor(15 * pow(u5, 0.3 + education / 8))", "occupation IN (1, 2, 5, 9, 12)"),
    Column("marital", 1, 7, "1 + floor(7 * pow(u6, CASE WHEN age < 30 THEN 3.0 ELSE 1.1 END))", "marital = 2"),
    Column("race", 1, 5, "1 + floor(5 * pow(u7, 2.5))", "race <> 1"),
    Column("state", 1, 51, "1 + floor(51 * pow(u8, 0.8 + race / 5))", "state <= 20"),
)


def conditions(count: int) -> str:
    """A condition on each of the first columns."""
    return " AND ".join(column.condition for column in COLUMNS[:count])


def policy(columns: Sequence[Column]) -> dict[str, Any]:
    """Uniform perturbation of some columns; all others are released as they are."""
    declared = {
        column.name: {
            "mechanism": "uniform",
            "domain": {"min": column.low, "max": column.high},
            "retain": RETAIN,
        }
        for column in columns
    }
    return {"table": TABLE, "identity": ["id"], "columns": declared}


def write_people(
    folder: Path, rows: int, columns: Sequence[Column] = COLUMNS, extra: dict[str, str] | None = None
) -> str:
    """Write Parquet files with an id, some perturbed columns and further exact ones; returns their pattern."""
    folder.mkdir()
    kept = ["id", *(extra or {}), *(column.name for column in columns)]
    with duckdb.connect() as con:
        con.execute("SET memory_limit = '2GB'")
        for number, start in enumerate(range(0, rows, CHUNK)):
            query = _query(start, min(rows, start + CHUNK), kept, extra or {})
            con.execute(f"COPY ({query}) TO '{folder}/part-{number:03}.parquet' (FORMAT parquet)")
    return f"{folder}/part-*.parquet"


def _query(start: int, end: int, kept: Sequence[str], extra: dict[str, str]) -> str:
    uniform = [f"hash(i, {j}) / 18446744073709551616.0 AS u{j}" for j in range(1, len(COLUMNS) + 1)]
    query = f"SELECT i AS id, {', '.join(uniform)} FROM range({start}, {end}) AS t(i)"
    for name, made_up in extra.items():
        query = f"SELECT *, CAST({made_up} AS INTEGER) AS {name} FROM ({query})"
    for column in COLUMNS:
        value = f"least(greatest({column.made_up}, {column.low}), {column.high})"
        query = f"SELECT *, CAST({value} AS INTEGER) AS {column.name} FROM ({query})"
    return f"SELECT {', '.join(kept)} FROM ({query})"
