"""Rows that their exact columns single out: whoever knows these of a person finds the person's row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.syntax.quoting import quote_name

IDENTIFYING = 0.9
"""A column with so many distinct values a row names rows by itself."""
SMALL_GROUP = 5


@dataclass(frozen=True)
class Uniqueness:
    """How the exact columns tell rows apart.

    `identifying` columns name most rows by themselves. By all `columns` other than these, `unique` rows are alone, and
    `few` rows share their values with at most three others; `smallest` is the size of the smallest group.
    """

    identifying: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int
    unique: int
    few: int
    smallest: int


def uniqueness(original: Original, exact: Sequence[str]) -> Uniqueness:
    """Count the groups of rows that agree in every exact column."""
    names = [original.name(name) for name in exact]
    if not names:
        (rows,) = original.ask("1 AS one", f"SELECT count(*) FROM {SCANNED}")[0]
        return Uniqueness((), (), rows, 0, 0, rows)
    select = ", ".join(f"hash({quote_name(name)}) AS c{i}" for i, name in enumerate(names))
    distinct = ", ".join(f"count(DISTINCT c{i})" for i in range(len(names)))
    rows, *found = original.ask(select, f"SELECT count(*), {distinct} FROM {SCANNED}")[0]
    naming = [i for i, count in enumerate(found) if rows and count >= IDENTIFYING * rows and count > 1]
    others = [i for i in range(len(names)) if i not in naming]
    identifying, columns = tuple(names[i] for i in naming), tuple(names[i] for i in others)
    if not others or not rows:
        return Uniqueness(identifying, columns, rows, 0, 0, rows)
    select = f"hash({', '.join(quote_name(names[i]) for i in others)}) AS c"
    unique, few, smallest = original.ask(
        select,
        f"SELECT count(*) FILTER (n = 1), COALESCE(sum(n) FILTER (n < {SMALL_GROUP}), 0)::BIGINT, min(n) "
        f"FROM (SELECT count(*) AS n FROM {SCANNED} GROUP BY c)",
    )[0]
    return Uniqueness(identifying, columns, rows, unique, few, smallest)
