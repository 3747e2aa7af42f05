"""Typical queries, asked of the release and of the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import PpdmError
from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.policy import Manifest, ReleasedColumn, RetainedColumn
from ppdm_sql.report.questions import braced, question_on
from ppdm_sql.syntax.quoting import quote_name

MOST_COUNTS = 6
MOST_MEANS = 3
MOST_GROUPS = 4


@dataclass(frozen=True)
class Answer:
    """A query with the original's answer and the release's."""

    words: str
    sql: str
    truth: float
    estimate: float
    low: float
    high: float
    count: bool

    @property
    def held(self) -> bool:
        """Whether the interval holds the truth."""
        rounding = 1e-9 * abs(self.truth)  # a swapped column's counts are exact, up to how they are added up
        return self.low - rounding <= self.truth <= self.high + rounding


@dataclass(frozen=True)
class Question:
    """What is asked; `{table}` stands for the table, and the answer is one number."""

    words: str
    sql: str
    count: bool = True


def ask(con: Connection, original: Original, manifest: Manifest) -> tuple[Answer, ...]:
    """The answers; queries that a mechanism does not allow are left out."""
    con.execute("SET ppdm_errors = 'columns'")
    select = ", ".join(
        f"CAST({quote_name(original.name(c.name))} AS {_type(c)}) AS {quote_name(c.name)}"
        for c in _needed(original, manifest)
    )
    found = []
    for question in questions(original, manifest):
        sql = question.sql.format(table=quote_name(manifest.table))
        try:
            row = con.execute(sql).fetchone()
        except PpdmError:
            continue
        truth = original.ask(select, question.sql.format(table=SCANNED))[0][0]
        if row is None or truth is None or len(row) != 3 or any(v is None or not math.isfinite(v) for v in row):
            continue
        estimate, low, high = (float(value) for value in row)
        found.append(Answer(question.words, sql, float(truth), estimate, low, high, question.count))
    return tuple(found)


def _needed(original: Original, manifest: Manifest) -> list[ReleasedColumn]:
    """What queries may name: perturbed columns, and exact ones of types that need no care."""
    kept = [c for c in manifest.columns if c.perturbed is not None or c.type.family != "other"]
    return [c for c in kept if c.name.casefold() in original.names]


def _type(column: ReleasedColumn) -> str:
    """The original's type: baskets may be released as seeds."""
    bound = column.perturbed
    return f"{bound.item_type.name}[]" if isinstance(bound, BasketColumn) else column.type.name


def questions(original: Original, manifest: Manifest) -> Iterator[Question]:
    """Counts by one column each, means, counts by two and three columns, and by a group of an exact column."""
    bounds = [c for c in manifest.perturbed if isinstance(c, RetainedColumn) and c.domain.size > 1]
    conditions = [found for c in manifest.perturbed if (found := question_on(original, c)) is not None]
    for words, sql in conditions[:MOST_COUNTS]:
        yield _count([(words, sql)])
    noisy = [c for c in manifest.perturbed if isinstance(c, NoisyColumn)]
    numeric = [bound for bound in bounds if bound.type.family in ("integer", "decimal", "real")]
    for bound in [*noisy, *numeric][:MOST_MEANS]:
        name = bound.name
        yield Question(
            f"the mean of {name}", f"SELECT avg({braced(quote_name(name))}) AS n FROM {{table}}", count=False
        )
    for together in (2, 3):
        if len(conditions) >= together:
            yield _count(conditions[:together])
    if conditions:
        for words, sql in _groups(original, manifest):
            yield _count([conditions[0], (words, sql)])


def _count(conditions: Sequence[tuple[str, str]]) -> Question:
    words = " and ".join(words for words, _ in conditions)
    return Question(
        f"rows with {words}", f"SELECT count(*) AS n FROM {{table}} WHERE {' AND '.join(s for _, s in conditions)}"
    )


def _groups(original: Original, manifest: Manifest) -> Iterator[tuple[str, str]]:
    """The commonest groups of the exact text column with the fewest groups."""
    best: list[tuple[str, str]] = []
    for column in manifest.columns:
        here = column.name.casefold() in original.names
        if column.perturbed is not None or not here or column.type.family not in ("text", "enum", "boolean"):
            continue
        select = f"CAST({quote_name(original.name(column.name))} AS VARCHAR) AS v"
        rows = original.ask(
            select, f"SELECT v FROM {SCANNED} WHERE v IS NOT NULL GROUP BY v ORDER BY count(*) DESC, v LIMIT 9"
        )
        if 2 <= len(rows) <= 8 and (not best or len(rows) < len(best)):
            name = braced(quote_name(column.name))
            best = [(f"{column.name} {value}", f"{name} = {braced(constant(value))}") for (value,) in rows]
    yield from best[:MOST_GROUPS]
