"""The original tables that random statements are asked of, and their releases at retention 1, where nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from keys import write_key

import ppdm_sql
from ppdm_sql.connection.connection import Connection
from ppdm_sql.publishing.release import publish

ROWS = 240
INTEGER, REAL, TEXT, BOOLEAN, DATE, ITEMS = "integer", "real", "text", "boolean", "date", "items"


@dataclass(frozen=True)
class Column:
    """A column that can be named: its type, and the perturbed columns that it depends on; `exact` ones may, too."""

    name: str
    kind: str
    perturbed: frozenset[str] = frozenset()
    exact: bool = True


@dataclass(frozen=True)
class Table:
    """A table of the original; `groups` says whether groups of its perturbed columns are those of the original."""

    name: str
    columns: tuple[Column, ...]
    released: bool = False
    groups: bool = True


def _columns(exact: Mapping[str, str], perturbed: Mapping[str, str]) -> tuple[Column, ...]:
    plain = [Column(name, kind) for name, kind in exact.items()]
    return (*plain, *(Column(name, kind, frozenset([name]), exact=False) for name, kind in perturbed.items()))


PEOPLE = Table(
    "people",
    _columns(
        {"id": INTEGER, "sex": TEXT, "k": INTEGER, "j": INTEGER, "w": REAL, "d": DATE},
        {
            **{"age": INTEGER, "hours": INTEGER, "pay": REAL, "born": DATE, "married": BOOLEAN, "job": TEXT},
            **{"grade": TEXT, "step": INTEGER, "own": INTEGER, "swp": INTEGER, "town": TEXT},
        },
    ),
    released=True,
)
STAFF = Table(
    "staff",
    _columns({"id": INTEGER, "sex": TEXT, "k": INTEGER, "w": REAL}, {"code": INTEGER, "noisy": REAL, "age": INTEGER}),
    released=True,
    groups=False,
)
SHOP = Table(
    "shop", _columns({"id": INTEGER, "sex": TEXT, "k": INTEGER}, {"items": ITEMS, "age": INTEGER}), True, False
)
BESIDE = (
    Table("plain", _columns({"x": INTEGER}, {})),
    Table("dup", _columns({"k": INTEGER, "v": INTEGER, "age": INTEGER}, {})),
    Table("places", _columns({"sex": TEXT, "j": INTEGER, "id": INTEGER, "n": REAL}, {})),
)
RELEASED = (PEOPLE, STAFF, SHOP)

SOURCES = {
    "people": """SELECT i * 3 AS id, ['F', 'M'][1 + i * 7 % 11 % 2] AS sex, (i * i % 5)::INTEGER AS k,
        CASE WHEN i % 13 <> 4 THEN (i * 5 % 7)::INTEGER END AS j, round(i * 37 % 101 / 4, 2)::DOUBLE AS w,
        DATE '2020-01-15' + (i * 11 % 90)::INTEGER AS d, (i * i * 3 % 17 % 10)::INTEGER AS age,
        CASE WHEN i % 9 <> 2 THEN (10 + i * i % 23 % 12)::SMALLINT END AS hours,
        (i * i * 7 % 83 / 4)::DECIMAL(8, 2) AS pay, DATE '2000-01-01' + (i * i * 13 % 61)::INTEGER AS born,
        i * i % 7 < 3 AS married, CASE WHEN i % 10 <> 6 THEN ['cook', 'clerk', 'Nurse'][1 + i * i % 8 % 3] END AS job,
        ['low', 'mid', 'top'][1 + i * i * 5 % 11 % 3] AS grade, (i * i % 19 % 6 - 2)::BIGINT AS step,
        (i * i * 11 % 29 % 5)::INTEGER AS own, CASE WHEN i % 8 <> 5 THEN (i * i % 31 % 6)::INTEGER END AS swp,
        ['Rome', 'Oslo', 'Bern'][1 + i * i % 13 % 3] AS town FROM range({rows}) AS t(i)""",
    "staff": """SELECT i AS id, ['F', 'M'][1 + i * i % 7 % 2] AS sex, (i * 3 % 4)::INTEGER AS k, i % 9 / 2 AS w,
        (i * i % 17 % 12)::INTEGER AS code, i * i % 53 / 4 + 0.1 AS noisy, (i * i * 3 % 13 % 10)::INTEGER AS age
        FROM range({rows}) AS t(i)""",
    "shop": """SELECT i AS id, ['F', 'M'][1 + i * i % 7 % 2] AS sex, (i * 3 % 4)::INTEGER AS k,
        list_filter(['milk', 'tea', 'it''s', 'eggs'], lambda v, n: (i * i * 5 % 47) // (2 ** n)::INTEGER % 2 = 1)[:1]
        AS items, (i * i * 3 % 13 % 10)::INTEGER AS age FROM range({rows}) AS t(i)""",
    "plain": "SELECT range::INTEGER AS x FROM range(8)",
    "dup": "SELECT (range % 4)::INTEGER AS k, (range * 3 % 7)::INTEGER AS v, range::INTEGER AS age FROM range(7)",
    "places": """SELECT ['F', 'M'][1 + range % 2] AS sex, (range % 5)::INTEGER AS j, range * 3 AS id, range / 2 AS n
        FROM range(9)""",
}


def _uniform(retain: float, domain: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"mechanism": "uniform", "domain": domain, "retain": retain, **more}


def policies(retain: float) -> dict[str, dict[str, Any]]:
    """The policy of each release: every mechanism; those that cannot keep everything keep nearly everything."""
    own: dict[str, Any] = {"mechanism": "identity", "retain": retain}
    swap: dict[str, Any] = {"mechanism": "swap", "retain": retain}
    grades = {"values": ["low", "mid", "top"], "weights": [3, 2, 1]}
    people = {
        "age": _uniform(retain, {"min": 0, "max": 9}),
        "hours": _uniform(retain, {"min": 10, "max": 21}, nulls="value"),
        "pay": _uniform(retain, {"min": 0, "max": 25, "step": 0.25}),
        "born": _uniform(retain, {"min": "2000-01-01", "max": "2000-03-01"}),
        "married": _uniform(retain, {"values": [True, False]}),
        "job": _uniform(retain, {"values": ["cook", "clerk", "Nurse"]}, nulls="keep"),
        "grade": {"mechanism": "custom", "retain": retain, "replace": grades},
        "step": {
            "mechanism": "custom",
            "domain": {"min": -2, "max": 3},
            "retain": retain,
            "replace": {"values": [-2, -1, 0, 1, 2, 3], "weights": [1, 2, 3, 3, 2, 1]},
        },
        "own": own,
        "swp": {**swap, "nulls": "keep"},
        "town": swap,
    }
    privacy = {"rho1": 0.5, "rho2": 1 - 1e-12} if retain == 1 else {"rho1": 0.3, "rho2": 0.6}
    amount = {"noise": 1e-6, "deviation": 0.1, "step": 1e-6} if retain == 1 else {"noise": 1e-3, "deviation": 3000.0}
    noise = {"mechanism": "gaussian", "step": 1e-4, **amount}
    staff = {
        "code": {"mechanism": "small_domain", "domain": {"min": 0, "max": 11}, "privacy": privacy},
        "noisy": noise,
        "age": _uniform(retain, {"min": 0, "max": 9}),
    }
    kept = {"gamma": 1e12, "rho": 1e-6} if retain == 1 else {"gamma": 19.0}
    baskets = {"values": ["milk", "tea", "it's", "eggs"]}
    shop = {
        "items": {"mechanism": "select_a_size", "domain": baskets, "max_size": 1, **kept},
        "age": _uniform(retain, {"min": 0, "max": 9}),
    }
    tables = {"people": people, "staff": staff, "shop": shop}
    return {name: {"table": name, "identity": ["id"], "columns": columns} for name, columns in tables.items()}


def original() -> duckdb.DuckDBPyConnection:
    """The original tables."""
    con = duckdb.connect()
    con.execute("SET threads = 1")  # for a few rows at a time
    for name, query in SOURCES.items():
        con.execute(f"CREATE TABLE {name} AS {query.format(rows=ROWS)}")
    con.execute("ALTER TABLE shop ADD COLUMN items_size INTEGER; UPDATE shop SET items_size = len(items)")
    return con


def released(source: duckdb.DuckDBPyConnection, folder: Path, retain: float = 1) -> Connection:
    """A connection to the releases, with the exact tables beside them."""
    path = folder / f"{retain}.duckdb"
    for number, (name, policy) in enumerate(policies(retain).items()):
        columns = "* EXCLUDE (items_size)" if name == "shop" else "*"
        publish(source.sql(f"SELECT {columns} FROM {name}"), policy, to=path, key=write_key(folder, number))
    con = ppdm_sql.connect(path, read_only=True)
    con.execute("SET threads = 1")
    for table in BESIDE:
        con.execute(f"CREATE TEMP TABLE {table.name} AS {SOURCES[table.name]}")
    return con
