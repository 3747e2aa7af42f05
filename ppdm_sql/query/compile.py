"""Answers as SQL text for another engine: one statement that reads the perturbed table and gives estimates."""

from __future__ import annotations

from dataclasses import replace

from sqlglot.errors import SqlglotError

from ppdm_sql.engine.duckdb.embedded import EmbeddedEngine
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.query.plan.varying import varying
from ppdm_sql.query.session import Session
from ppdm_sql.query.statement import understand
from ppdm_sql.syntax.dialects import ANALYST, COMPILED
from ppdm_sql.syntax.parse import Parameters
from ppdm_sql.syntax.shown import shown


def compile_statement(engine: EmbeddedEngine, session: Session, sql: str, parameters: Parameters, dialect: str) -> str:
    """The answer to a query on a release, by inversion, as one statement in a dialect of SQL."""
    if dialect not in COMPILED:
        raise QueryError(f"dialect {dialect!r} must be one of {', '.join(COMPILED)}.")
    settings = replace(session.settings, method="inversion", portable=dialect != ANALYST)
    statement = understand(engine, session, sql, parameters, settings)
    if any(plan.query.labels for plan in statement.plans):
        raise Unsupported(
            "Unsupported: groups of a perturbed column are reconstructed from states, not by one statement. "
            "Run the query with ppdm_sql, or ask for one group at a time."
        )
    if any(plan.own_axes for plan in statement.plans):
        raise Unsupported(
            "Unsupported: columns that are replaced by their own values are reconstructed from states, not by one "
            "statement. Run the query with ppdm_sql."
        )
    if any(plan.query.quantiles for plan in statement.plans):
        raise Unsupported(
            "Unsupported: a quantile is found from the whole distribution, not by one statement. Run the query with "
            "ppdm_sql, or ask for counts and sums."
        )
    if statement.tree is None:
        raise QueryError("only queries on perturbed columns of a release are compiled; this one runs as it is.")
    changing = varying(statement.plans)
    if changing is not None:
        raise Unsupported(
            f"Unsupported: {changing.sql(dialect=ANALYST)} may have another value when the statement runs later, and "
            "the share of a perturbed column's domain that is asked for would stay as it is now. Write a constant in "
            "its place, or run the query with ppdm_sql."
        )
    tree = statement.tree if dialect == engine.dialect else shown(statement.tree)  # another engine has its own schemas
    try:
        return tree.sql(dialect=dialect, pretty=True)
    except (SqlglotError, ValueError):  # which its generators raise where a dialect has no words for something
        raise Unsupported(
            f"Unsupported: something in this query cannot be said in the dialect {dialect!r}. Run the query with "
            "ppdm_sql, or write it without indexes and maps."
        ) from None
