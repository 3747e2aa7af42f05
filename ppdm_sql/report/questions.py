"""What the queries of a page ask of a column."""

from __future__ import annotations

from ppdm_sql.auditing.tables import Original
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.registry import capability, has

Question = tuple[str, str]
"""A condition, in words and in SQL."""


def question_on(original: Original, column: PerturbedColumn) -> Question | None:
    """What a count asks of a column, by its mechanism; None where nothing can be asked of it."""
    if not has(column.mechanism, "questions"):
        return None
    found: Question | None = capability(column.mechanism, "questions")(original, column)
    return found


def braced(sql: str) -> str:
    """Names and values may hold braces, which `{table}` must not be taken for."""
    return sql.replace("{", "{{").replace("}", "}}")
