"""Nested statements whose names shadow each other: at retention 1 each is answered as DuckDB answers, or refused.

`PPDM_NESTED=100000 PPDM_SEED=5 python -m pytest tests/connection/test_random_nested.py` draws others, and more.
A failure names its seed: `Nested(seed).statement()` draws it again.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

import duckdb
import pytest
from answers_compared import in_order_alike, same
from random_nested import SHAPES, Drawn, Nested
from random_world import original, released

from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import QueryError, Unsupported

STATEMENTS = int(os.environ.get("PPDM_NESTED", "2000"))
FIRST = 10_000_000 * int(os.environ.get("PPDM_SEED", "0"))
PARTS = 4
ANSWERED, ANSWERED_OF_EACH = 0.65, 0.4
"""The least shares that are answered: of all statements, and of those of each shape."""
FATES = ("answered", "refused", "invalid", "not compared")
OF_DUCKDB = re.compile(r"\w+ Error:")
NEARLY = re.compile(r"\b(code|noisy|items)\b", re.IGNORECASE)
"""Columns of which nearly everything is kept: nobody at all cannot be told from nobody but for rounding."""
NOBODY = re.compile(r"\bcoalesce\(\s*count_if\b|/ nullif\(", re.IGNORECASE)
"""Expressions that show nobody at all as something quite unlike nearly nobody."""
LIMITED = re.compile(r"\b(LIMIT|OFFSET|QUALIFY)\b", re.IGNORECASE)
NUMBER = re.compile(r"(U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)|BOOLEAN)(\[\])?$")


@dataclass(frozen=True)
class Result:
    """What became of a statement: rows and the types of their columns, or an error."""

    rows: list[tuple[Any, ...]]
    types: list[str]
    error: Exception | None = None


def asked(con: Connection | duckdb.DuckDBPyConnection, sql: str) -> Result:
    try:
        con.execute(sql)
        types = [str(column[1]) for column in con.description or ()]
        return Result(con.fetchall(), types)
    except Exception as error:  # whatever it is, the comparison says what it thinks of it
        return Result([], [], error)


def compared(drawn: Drawn, found: Result, truth: Result) -> str:
    """Whether the rows are DuckDB's, in its order where there is one, and as nearly as the release keeps them."""
    ours, theirs = found.rows, truth.rows
    if not NEARLY.search(drawn.sql):
        right = same(ours, theirs) and (not drawn.ordered or in_order_alike(ours, theirs))
    elif len(ours) != len(theirs) or any(value is None for row in (*ours, *theirs) for value in row):
        return "not compared"
    else:
        right = same(ours, theirs, rel=1e-2, near=1e-3)
    if not right and shows_nobody(drawn, ours):
        return "not compared"
    return "answered" if right else "other rows"


def shows_nobody(drawn: Drawn, ours: list[tuple[Any, ...]]) -> bool:
    """Whether groups that nearly nobody is in may have taken the place of others, or a value that of another."""
    numbers = [abs(value) for row in ours for value in row if isinstance(value, float)]
    if NEARLY.search(drawn.sql) and NOBODY.search(drawn.sql):
        return any(value < 1e-3 or value > 1e4 for value in numbers)
    nearly = bool(NEARLY.search(drawn.sql)) and bool(LIMITED.search(drawn.sql)) and "GROUP" in drawn.sql
    return nearly and any(value < 1e-3 for value in numbers)


def fate(drawn: Drawn, found: Result, truth: Result) -> str:
    """One of the `FATES`; anything else is wrong."""
    if truth.error is not None:  # what is not used may be wrong without being noticed
        return "invalid"
    if found.error is None:
        kinds = zip(found.types, truth.types, strict=True)
        wrong = [pair for pair in kinds if pair[0] != pair[1] and not all(map(NUMBER.match, pair))]
        return "other types" if wrong else compared(drawn, found, truth)
    if not truth.rows and str(found.error).startswith("Conversion Error"):  # a constant that DuckDB never came to
        return "invalid"
    if not isinstance(found.error, QueryError | Unsupported) or OF_DUCKDB.match(str(found.error)):
        return "error inside"
    return "refused"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    source = original()
    with released(source, tmp_path_factory.mktemp("nested")) as con:
        yield source, con
    source.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_answer_is_that_of_duckdb(world, part):
    source, con = world
    fates = defaultdict(Counter)
    wrong = []
    for seed in range(FIRST + part, FIRST + STATEMENTS, PARTS):
        drawn = Nested(seed).statement()
        truth, found = asked(source, drawn.sql), asked(con, drawn.sql)
        became = fate(drawn, found, truth)
        if became == "other rows":  # DuckDB 2.0 takes `HAVING count_if(2 < 6) > 9.5` for never true
            source.execute("SET disabled_optimizers = 'statistics_propagation'")
            truth = asked(source, drawn.sql)
            source.execute("RESET disabled_optimizers")
            became = fate(drawn, found, truth)
        fates[drawn.shape][became] += 1
        if became not in FATES:
            wrong.append(f"{became}, Nested({seed}):\n{drawn.sql}\n  found {found}\n  truth {truth}"[:3000])
    assert not wrong, f"{len(wrong)} differences\n" + "\n".join(wrong[:20])
    counts = sum(fates.values(), Counter())
    assert counts["answered"] > ANSWERED * counts.total(), fates
    assert set(fates) == set(SHAPES)
    for shape, each in fates.items():
        assert each["answered"] > ANSWERED_OF_EACH * (each.total() - each["invalid"]), (shape, each)
