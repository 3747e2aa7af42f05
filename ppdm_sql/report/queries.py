"""Typical queries, asked of the release and of the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.connection import Connection
from ppdm_sql.engines.domains import constant
from ppdm_sql.engines.quoting import quote_name
from ppdm_sql.errors import PpdmError
from ppdm_sql.policy import BoundColumn, Manifest, ReleasedColumn
from ppdm_sql.policy.domain import Grid
from ppdm_sql.policy.domain_words import describe_point

MOST_COUNTS = 6
MOST_MEANS = 3
MOST_GROUPS = 4
_LITERALS = {"date": "DATE", "timestamp": "TIMESTAMP"}


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
        return self.low <= self.truth <= self.high


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
        f"CAST({quote_name(original.name(c.name))} AS {c.type.name}) AS {quote_name(c.name)}"
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
    """What queries may name: of mechanisms that conditions know, and of types that need no care."""
    kept = [c for c in manifest.columns if isinstance(c.perturbed, BoundColumn) or c.perturbed is None]
    return [c for c in kept if c.type.family != "other" and c.name.casefold() in original.names]


def questions(original: Original, manifest: Manifest) -> Iterator[Question]:
    """Counts by one column each, means, counts by two and three columns, and by a group of an exact column."""
    bounds = [c for c in manifest.perturbed if isinstance(c, BoundColumn) and c.domain.size > 1]
    conditions = [_condition(bound) for bound in bounds]
    for words, sql in conditions[:MOST_COUNTS]:
        yield _count([(words, sql)])
    numeric = [bound for bound in bounds if bound.type.family in ("integer", "decimal", "real")]
    for bound in numeric[:MOST_MEANS]:
        name = bound.name
        yield Question(
            f"the mean of {name}", f"SELECT avg({_braced(quote_name(name))}) AS n FROM {{table}}", count=False
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


def _condition(bound: BoundColumn) -> tuple[str, str]:
    """The middle half of a range; the first value of a list."""
    name, domain = _braced(quote_name(bound.name)), bound.domain
    if isinstance(domain, Grid):
        first = domain.size // 4
        places = (first, first + (domain.size + 1) // 2 - 1)
        low, high = (describe_point(bound, domain.low + place * domain.step) for place in places)
        literal = _LITERALS.get(bound.type.family)
        ends = [f"{literal} '{end}'" if literal else end for end in (low, high)]
        return f"{bound.name} from {low} to {high}", f"{name} BETWEEN {ends[0]} AND {ends[1]}"
    value = domain.values[0]
    if isinstance(value, bool):
        return f"{bound.name} {'true' if value else 'false'}", name if value else f"NOT {name}"
    return f"{bound.name} {value}", f"{name} = {_braced(constant(value))}"


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
            name = _braced(quote_name(column.name))
            best = [(f"{column.name} {value}", f"{name} = {_braced(constant(value))}") for (value,) in rows]
    yield from best[:MOST_GROUPS]


def _braced(sql: str) -> str:
    """Names and values may hold braces, which `{table}` must not be taken for."""
    return sql.replace("{", "{{").replace("}", "}}")
