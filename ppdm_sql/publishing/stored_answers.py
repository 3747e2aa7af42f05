"""Answers that are stored in a database as views: those to a release that gives way to another are no answers to it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import duckdb

from ppdm_sql.engine.duckdb.catalog import RECONSTRUCTED
from ppdm_sql.errors import AnswersDropped
from ppdm_sql.syntax.quoting import quote_name
from ppdm_sql.syntax.words import tokens_of

View = tuple[str, str]
"""Schema and name."""


def answers_to(con: duckdb.DuckDBPyConnection, database: str, table: str) -> list[View]:
    """The stored answers in a database whose text mentions a release."""
    found = con.execute(
        "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = ? AND comment = ?",
        [database, RECONSTRUCTED],
    ).fetchall()
    return [(schema, name) for schema, name, sql in found if _mentions(sql or "", table)]


def dropping(database: str, views: Sequence[View]) -> list[str]:
    """The statements that drop them."""
    return [f"DROP VIEW {quote_name(database)}.{quote_name(schema)}.{quote_name(name)}" for schema, name in views]


def warn_of_dropped(where: str, table: str, views: Sequence[View]) -> None:
    """Say which answers are gone."""
    if views:
        names = ", ".join(repr(name) for _, name in views)
        one = len(views) == 1
        warnings.warn(
            AnswersDropped(
                f"{where}: {'the view' if one else 'the views'} {names} held {'an answer' if one else 'answers'} to "
                f"the earlier release of {table!r}, by its retention and its domains, and {'is' if one else 'are'} "
                "dropped with it. CREATE RECONSTRUCTED VIEW again."
            ),
            stacklevel=2,
        )


def _mentions(sql: str, table: str) -> bool:
    """Whether a view's text has the name of a table; in doubt it has."""
    tokens = tokens_of(sql)
    return tokens is None or any(str(token.text).casefold() == table.casefold() for token in tokens)
