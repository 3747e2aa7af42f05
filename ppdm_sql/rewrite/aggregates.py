"""Pass: find the aggregates, and say for each which rows it counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.rewrite.query import Aggregate, Junction, Query, Test
from ppdm_sql.rewrite.refuse import refuse
from ppdm_sql.rewrite.terms import Terms

REMEDIES: dict[type[exp.Expr], str] = {
    exp.Min: "An extreme value belongs to one row, and no row can be trusted: count a range instead.",
    exp.Max: "An extreme value belongs to one row, and no row can be trusted: count a range instead.",
}
COUNTS_ONLY = "Only COUNT is reconstructed yet."


def collect_aggregates(query: Query) -> Query:
    """Before: `SELECT count(*) FILTER (WHERE age > 30) .. WHERE hours > 40`; after: one formula, both conditions."""
    terms = Terms(query)
    hidden = [terms.formula(condition) for condition in query.hidden]
    aggregates = tuple(_aggregate(query, terms, hidden, node) for node in aggregate_nodes(query.tree))
    return replace(query, aggregates=aggregates, axes=terms.axes)


def aggregate_nodes(tree: exp.Select) -> Iterator[exp.Expr]:
    """The outermost aggregates of the SELECT list, HAVING and ORDER BY, each text once."""
    seen: set[str] = set()
    for root in (*tree.expressions, tree.args.get("having"), tree.args.get("order")):
        if root is None:
            continue
        for node in root.find_all(exp.AggFunc, exp.Filter):
            inside = node.find_ancestor(exp.AggFunc, exp.Filter)
            text = node.sql(dialect="duckdb")
            if inside is None and text not in seen:
                seen.add(text)
                yield node


def _aggregate(query: Query, terms: Terms, hidden: list[Test | Junction], node: exp.Expr) -> Aggregate:
    if not hidden and not query.perturbed_in(node):
        return Aggregate(node)
    conditions = list(hidden)
    function = node
    if isinstance(node, exp.Filter):
        function = node.this
        conditions.append(terms.formula(node.expression.this))
    counted = _counted(query, function)
    if counted is not None:
        conditions.append(terms.formula(counted))
    return Aggregate(node, Junction(True, tuple(conditions)))


def _counted(query: Query, function: exp.Expr) -> exp.Expr | None:
    """The condition a row must meet to be counted by the function itself; None where every row counts."""
    if isinstance(function, exp.CountIf):
        condition: exp.Expr = function.this
        return condition
    if isinstance(function, exp.Count) and not function.expressions:
        argument = function.this
        if argument is None or isinstance(argument, exp.Star):
            return None
        if isinstance(argument, exp.Distinct):
            refuse(
                query.sql,
                function,
                "the distinct values that survive perturbation are not those of the original.",
                "Count the rows of one value at a time.",
            )
        return exp.Not(this=exp.Is(this=argument.copy(), expression=exp.Null()))
    perturbed = query.perturbed_in(function)
    why = (
        f"{perturbed[0].name} is perturbed and this aggregate of it cannot be reconstructed."
        if perturbed
        else f"the rows it runs over are picked by {query.perturbed_in(query.hidden[0])[0].name}, which is perturbed."
        if query.hidden
        else "its FILTER is on a perturbed column."
    )
    refuse(query.sql, function, why, REMEDIES.get(type(function), COUNTS_ONLY))
