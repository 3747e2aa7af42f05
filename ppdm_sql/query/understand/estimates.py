"""Pass: refuse estimates inside what is reconstructed.

A subquery that was answered by reconstruction gives an estimate. Beside the answer it may stand as any number. Inside a
condition, a group or an aggregate it would decide by the release's coins which rows, or how much of them, are weighed
by the same coins: the answer would be biased, and its error bar know nothing of it.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.query.understand.names import ANSWERED
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.shape import aggregate_nodes
from ppdm_sql.syntax.refuse import refuse

REMEDY = "Ask for the estimate first, and put the number in."


def holds_estimate(node: exp.Expr) -> bool:
    """Whether a subquery below a node is an answer by reconstruction."""
    return any(select.meta.get(ANSWERED) for select in node.find_all(exp.Select))


def refuse_estimates_inside(query: Query) -> Query:
    """Refuse `WHERE weight > (SELECT avg(age) FROM people)` where the SELECT itself must be reconstructed."""
    for node in (*query.exact, *query.hidden, *query.keys, *aggregate_nodes(query.tree), query.table):
        if holds_estimate(node):
            what = "compares a perturbed column with" if node in query.hidden else "depends on"
            why = f"it {what} an estimate from a release, which depends on the same coins."
            refuse(query.sql, as_written(node), why, REMEDY)
    return query


def as_written(node: exp.Expr) -> exp.Expr:
    """The node with answers as the questions that they were."""

    def written(below: exp.Expr) -> exp.Expr:
        question = below.meta.get(ANSWERED)
        return below if question is None else question.copy()

    return node.copy().transform(written)
