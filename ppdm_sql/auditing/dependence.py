"""Perturbed columns that other columns tell of, whatever their perturbation.

Rows fall into two halves. From each half it is learnt which value is commonest where other columns have given values,
and the other half is guessed by that: so groups too small to teach anything earn nothing, however well they fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.policy import ReleasedColumn
from ppdm_sql.syntax.quoting import quote_name

SAMPLE = 200_000
"""Rows that are looked at, drawn at random where there are more: enough for a percent, and quick."""
PREDICTS = 0.1
"""A gain in right guesses that is worth telling, if it is five standard errors too."""
DETERMINES = 0.99
MOST_VALUES = 64
"""Ordered columns with more values are guessed in groups of equal size, and guessed from by such."""
GROUPS = 16
_ORDERED = ("integer", "decimal", "real", "date", "timestamp")


@dataclass(frozen=True)
class Dependence:
    """How well a perturbed column is guessed from others, on rows that the guess was not learnt from.

    `exact` says whether the others are released as they are. `groups` is None where the very value is guessed, else the
    number of groups of equal size, of which one is guessed. `baseline` is what the commonest gets right.
    """

    column: str
    by: tuple[str, ...]
    exact: bool
    groups: int | None
    rows: int
    right: float
    baseline: float

    @property
    def gain(self) -> float:
        """The further share of rows that is guessed right."""
        return self.right - self.baseline

    @property
    def explained(self) -> float:
        """The share of the errors that the guess avoids (Goodman and Kruskal's lambda, on rows held out)."""
        return self.gain / (1 - self.baseline) if self.baseline < 1 else 0.0

    @property
    def told(self) -> bool:
        """Whether the columns predict it."""
        error = math.sqrt(max(self.right * (1 - self.right), 1e-9) / max(self.rows, 1))
        return self.gain >= PREDICTS and self.gain >= 5 * error

    @property
    def determined(self) -> bool:
        """Whether they all but determine it."""
        return self.told and self.right >= DETERMINES


@dataclass(frozen=True)
class _Code:
    """A column of the coded sample: of which column, whether in groups, and how many different values it has."""

    name: str
    column: str
    grouped: bool
    distinct: int


def dependences(original: Original, columns: Sequence[ReleasedColumn]) -> tuple[Dependence, ...]:
    """What is worth telling of every perturbed column: by exact columns, and by other perturbed ones."""
    if not any(column.perturbed is not None for column in columns):
        return ()
    select = ", ".join(f"{quote_name(original.name(c.name))} AS v{i}" for i, c in enumerate(columns))
    return original.run(select, lambda con: tuple(_found(con, columns)))


def _found(con: duckdb.DuckDBPyConnection, columns: Sequence[ReleasedColumn]) -> Iterator[Dependence]:
    rows, codes = _coded(con, columns)
    if rows < 2:
        return
    exact = {c.name for c in columns if c.perturbed is None}
    useful = [code for code in codes if 1 < code.distinct <= rows / 2]
    released = [code for code in useful if code.column in exact]
    hidden = [code for code in useful if code.column not in exact]
    for target in _targets(codes, exact):
        yield from _told(con, rows, target, released)
        others = [code for code in hidden if code.column != target.column]
        single = [found for code in others if (found := _guess(con, rows, target, [code], exact=False)).told]
        yield from sorted(single, key=lambda found: -found.right)[:1]


def _targets(codes: Sequence[_Code], exact: set[str]) -> list[_Code]:
    """The perturbed columns, those with many ordered values in groups."""
    grouped = {code.column for code in codes if code.grouped}
    return [c for c in codes if c.column not in exact and c.distinct > 1 and (c.grouped or c.column not in grouped)]


def _told(con: duckdb.DuckDBPyConnection, rows: int, target: _Code, released: Sequence[_Code]) -> Iterator[Dependence]:
    """The best single exact column, and all of them together where that tells more."""
    single = [_guess(con, rows, target, [code], exact=True) for code in released]
    best = max(single, key=lambda found: found.right, default=None)
    if best is not None and best.told:
        yield best
    columns = {code.column: code for code in released}  # the grouped code of a column comes last
    if len(columns) > 1 and best is not None:
        whole = _guess(con, rows, target, list(columns.values()), exact=True)
        if whole.told and whole.gain >= max(best.gain, 0) + PREDICTS / 2:
            yield whole


def _guess(con: duckdb.DuckDBPyConnection, rows: int, target: _Code, by: Sequence[_Code], *, exact: bool) -> Dependence:
    """Learn from each half, and guess the other."""
    key = by[0].name if len(by) == 1 else f"hash({', '.join(code.name for code in by)})"
    right, baseline = con.execute(
        f"WITH g AS (SELECT {key} AS e, {target.name} AS c, half, count(*) AS n FROM coded "
        f"GROUP BY {key}, {target.name}, half), "
        "whole AS (SELECT c, sum(n) AS n FROM g GROUP BY c ORDER BY n DESC, c LIMIT 1), "
        "learnt AS (SELECT e, half, arg_max(c, n) AS guess FROM g GROUP BY e, half) "
        "SELECT sum(g.n) FILTER (g.c = COALESCE(learnt.guess, whole.c)), any_value(whole.n) "
        "FROM g CROSS JOIN whole LEFT JOIN learnt ON learnt.e = g.e AND learnt.half = 1 - g.half"
    ).fetchall()[0]
    names = tuple(dict.fromkeys(code.column for code in by))
    groups = GROUPS if target.grouped else None
    return Dependence(target.column, names, exact, groups, rows, float(right or 0) / rows, float(baseline) / rows)


def _coded(con: duckdb.DuckDBPyConnection, columns: Sequence[ReleasedColumn]) -> tuple[int, list[_Code]]:
    """A table of numbers: every column of the sample by a hash of its value, ordered ones by their group too."""
    con.execute(
        f"CREATE TABLE sampled AS SELECT *, (row_number() OVER ()) % 2 AS half "
        f"FROM (SELECT * FROM {SCANNED} USING SAMPLE reservoir({SAMPLE} ROWS) REPEATABLE (7))"
    )
    counted = ", ".join(["count(*)", *(f"count(DISTINCT v{i})" for i in range(len(columns)))])
    rows, *distinct = con.execute(f"SELECT {counted} FROM sampled").fetchall()[0]
    expressions, codes = ["half"], []
    for i, column in enumerate(columns):
        expressions.append(f"hash(v{i}) AS h{i}")
        codes.append(_Code(f"h{i}", column.name, False, distinct[i]))
        if column.type.family in _ORDERED and distinct[i] > MOST_VALUES:
            cuts = ", ".join(str(k / GROUPS) for k in range(1, GROUPS))
            con.execute(f"CREATE TABLE q{i} AS SELECT quantile_disc(v{i}, [{cuts}]) AS q FROM sampled")
            above = " + ".join(f"COALESCE(CAST(v{i} > (SELECT q[{k}] FROM q{i}) AS INT), 0)" for k in range(1, GROUPS))
            expressions.append(f"hash({above}, v{i} IS NULL) AS g{i}")
            codes.append(_Code(f"g{i}", column.name, True, GROUPS))
    con.execute(f"CREATE TABLE coded AS SELECT {', '.join(expressions)} FROM sampled")
    return rows, codes
