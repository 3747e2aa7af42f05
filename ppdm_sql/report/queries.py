"""Typical queries, asked of the release and of the original."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.auditing.views import whole_domain
from ppdm_sql.connection.connection import Connection
from ppdm_sql.domain.domain import Grid
from ppdm_sql.errors import PpdmError
from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_point
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.policy import Manifest, PerturbedColumn, ReleasedColumn, RetainedColumn
from ppdm_sql.syntax.quoting import quote_name, quote_text

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
    conditions = [found for c in manifest.perturbed if (found := _condition_on(original, c)) is not None]
    for words, sql in conditions[:MOST_COUNTS]:
        yield _count([(words, sql)])
    noisy = [c for c in manifest.perturbed if isinstance(c, NoisyColumn)]
    numeric = [bound for bound in bounds if bound.type.family in ("integer", "decimal", "real")]
    for bound in [*noisy, *numeric][:MOST_MEANS]:
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


def _condition_on(original: Original, column: PerturbedColumn) -> tuple[str, str] | None:
    """What a count asks of a column, by its mechanism; None where nothing can be asked of it."""
    if isinstance(column, SelfReplacedColumn):
        return _commonest(original, column)
    if isinstance(column, SmallDomainColumn):
        column = whole_domain(column)
    if isinstance(column, RetainedColumn):
        return _condition(column) if column.domain.size > 1 else None
    name = _braced(quote_name(column.name))
    if isinstance(column, NoisyColumn):
        return f"{column.name} above {column.centre:g}", f"{name} > {column.centre:g}"
    if isinstance(column, BasketColumn) and not column.cut:  # answers are of baskets as they were cut
        item = column.item(0)
        return f"{item} in {column.name}", f"list_contains({name}, {_braced(constant(item))})"
    return None


def _commonest(original: Original, column: SelfReplacedColumn) -> tuple[str, str] | None:
    """The value that most rows have: no other is less of a secret."""
    select = f"CAST({quote_name(original.name(column.name))} AS {column.type.name}) AS v"
    found = original.ask(
        select, f"SELECT v FROM {SCANNED} WHERE v IS NOT NULL GROUP BY v ORDER BY count(*) DESC, v LIMIT 1"
    )
    if not found or isinstance(found[0][0], bool):
        return (column.name, _braced(quote_name(column.name))) if found else None
    value, name = found[0][0], _braced(quote_name(column.name))
    literal = f"CAST({quote_text(str(value))} AS {column.type.name})"
    return f"{column.name} {value}", f"{name} = {_braced(literal)}"


def _condition(bound: RetainedColumn) -> tuple[str, str]:
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
