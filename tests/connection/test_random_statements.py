"""Statements drawn from the whole grammar: the plain answer at retention 1, honest at others, or a clear refusal.

`PPDM_STATEMENTS=10000 python -m pytest tests/connection/test_random_statements.py` draws many more than the suite does;
`PPDM_SEED=5` draws others. A failure names its seed: `Grammar(seed).statement()` draws it again.
"""

from __future__ import annotations

import os
import re
from collections import Counter

import duckdb
import numpy as np
import pytest
from answers_compared import same
from keys import write_key
from people import people, policy
from random_statements import Grammar

import ppdm_sql
from ppdm_sql.errors import PpdmError, QueryError, Unsupported
from ppdm_sql.publishing.release import publish

ROWS = 1_500
STATEMENTS = int(os.environ.get("PPDM_STATEMENTS", "300"))
FIRST = 1_000_000 * int(os.environ.get("PPDM_SEED", "0"))
PARTS = 4
RELEASES = 8
PLAIN = "CREATE TEMP TABLE plain AS SELECT range AS x FROM range(10)"
PLACED = re.compile(r"\(line \d+, column \d+\)|somewhere in the query")


class World:
    """The original, and releases of it to ask."""

    def __init__(self, folder):
        self.source = duckdb.connect()
        self.source.register("generated", people(ROWS))
        self.source.execute(
            "CREATE TABLE people AS SELECT * REPLACE (grade::ENUM('low', 'middle', 'high') AS grade) FROM generated"
        )
        self.source.execute(PLAIN)
        self.folder = folder

    def release(self, retain, number=0):
        path = self.folder / f"{retain}-{number}.duckdb"
        publish(self.source.table("people"), policy(retain), to=path, key=write_key(self.folder, number))
        con = ppdm_sql.connect(path, read_only=True)
        con.execute(PLAIN)
        return con

    def perturbed(self, retain, number=0):
        """DuckDB alone on the rows of a release."""
        con = duckdb.connect(config={"python_enable_replacements": False})
        con.execute(f"ATTACH '{self.folder / f'{retain}-{number}.duckdb'}' AS release (READ_ONLY)")
        con.execute("CREATE VIEW people AS FROM release.perturbed.people")
        con.execute(PLAIN.replace("TEMP ", ""))
        return con


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("random"))
    yield world
    world.source.close()


@pytest.fixture(scope="module")
def exact(world):
    with world.release(1) as con:
        yield con


@pytest.fixture(scope="module")
def half(world):
    with world.release(0.5) as con:
        yield con


@pytest.fixture(scope="module")
def perturbed(world, half):
    with world.perturbed(0.5) as con:
        yield con


def is_clear(refusal):
    """Whether a refusal names what and where, and has a sentence to say on it."""
    text = str(refusal)
    return isinstance(refusal, QueryError | Unsupported) and len(text) > 40 and "ppdm_w" not in text


@pytest.mark.parametrize("part", range(PARTS))
def test_answers_are_plain_at_retention_one_and_never_those_of_the_perturbed_rows(world, exact, half, perturbed, part):
    fates = Counter()
    for seed in range(FIRST + part, FIRST + STATEMENTS, PARTS):
        drawn = Grammar(seed).statement()
        truth = world.source.execute(drawn.sql).fetchall()
        try:
            found = exact.execute(drawn.sql).fetchall()
        except PpdmError as refusal:
            assert is_clear(refusal), (seed, drawn.sql, refusal)
            with pytest.raises(type(refusal)):  # what is refused does not depend on the retention
                half.execute(drawn.sql)
            fates["refused"] += 1
            continue
        assert same(found, truth, drawn.ordered), (seed, drawn.sql, found[:5], truth[:5])
        check_half(half, perturbed, drawn, truth)
        fates["answered"] += 1
    assert fates["refused"] < 0.03 * fates.total(), fates


def check_half(half, perturbed, drawn, truth):
    """What DuckDB makes of the perturbed rows is never the answer, unless it is the truth."""
    try:
        found = half.execute(drawn.sql).fetchall()
    except Unsupported as refusal:  # with retention 1 the groups of a perturbed column are those of the original
        assert "it depends on how many groups there are" in str(refusal), (drawn.sql, refusal)
        return
    naive = perturbed.execute(drawn.sql).fetchall()
    estimates = {v for row in naive for v in row[drawn.keys :] if isinstance(v, int | float) and v not in (0, 1)}
    if len(estimates) > 2 and not same(naive, truth):
        assert not same(found, naive), drawn.sql


def test_what_cannot_be_answered_is_refused_with_its_place(half):
    for seed in range(200):
        sql = Grammar(f"refused {seed}").refused().sql
        with pytest.raises(Unsupported) as caught:
            half.execute(sql)
        assert PLACED.search(str(caught.value)), (seed, sql, caught.value)
        assert len(str(caught.value)) > 60, (seed, sql, caught.value)


def bounded(seed):
    """A statement whose estimates have intervals, or None; of spreads test_calibration.py has enough."""
    grammar = Grammar(f"bounded {seed}")
    drawn = grammar.plain() if seed % 2 else grammar.grouped(perturbed=0, limit=False)
    return None if re.search("HAVING|corr|covar|var_|std|variance", drawn.sql) else drawn


def scores(con, drawn, truths):
    """z of every estimate that is uncertain; the truth is looked up by the keys."""
    con.execute(drawn.sql)
    names = [column[0] for column in con.description]
    for row in con.fetchall():
        true = truths.get(row[: drawn.keys])
        for i, name in enumerate(names):
            if true is None or f"{name}_low" not in names or row[i] is None:
                continue
            low, high = (row[names.index(f"{name}_{end}")] for end in ("low", "high"))
            value = true[int(name.removeprefix("e")) + drawn.keys]
            if low is not None and value is not None and high - low > 1e-9 and np.isfinite([row[i], low, high]).all():
                yield name, (row[i] - float(value)) / ((high - low) / 2 / 1.959964)


def test_intervals_hold_the_truth_as_often_as_they_say(world):
    """Estimates of statements of every kind, over releases under different keys."""
    found: dict[tuple[int, str, int], list[float]] = {}
    releases = [world.release(0.7, number) for number in range(RELEASES)]
    for con in releases:
        con.execute("SET ppdm_errors = 'columns'")
    for seed in range(110):
        drawn = bounded(seed)
        if drawn is None:
            continue
        truths = {row[: drawn.keys]: row for row in world.source.execute(drawn.sql).fetchall()}
        for con in releases:
            for place, (name, z) in enumerate(scores(con, drawn, truths)):
                found.setdefault((seed, name, place), []).append(z)
    for con in releases:
        con.close()
    z = np.array([one for values in found.values() if len(values) == RELEASES for one in values])
    assert len(z) > 900
    assert 0.93 < (np.abs(z) < 1.959964).mean() < 0.97
    assert abs(np.clip(z, -3, 3).mean()) < 0.08
