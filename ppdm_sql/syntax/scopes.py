"""Which WITH query a table's name means: those in sight where it stands, the nearest first."""

from __future__ import annotations

from sqlglot import exp


def with_query(table: exp.Table) -> exp.CTE | None:
    """The query of a WITH clause that a table's name means, or None where it means a table.

    A query of WITH sees those before it, and itself only where the clause is RECURSIVE.
    """
    if table.db:
        return None
    name = table.name.casefold()
    below: exp.Expr = table
    node = table.parent
    while node is not None:
        clause = node.args.get("with_") if isinstance(node, exp.Expr) else None
        if clause is not None and below is not clause:
            found = _named(clause.expressions, name)
            if found is not None:
                return found
        if isinstance(node, exp.With):
            recursive = bool(node.args.get("recursive"))
            place = next(i for i, cte in enumerate(node.expressions) if cte is below)
            found = _named(node.expressions if recursive else node.expressions[:place], name)
            if found is not None:
                return found
        below, node = node, node.parent
    return None


def in_sight(node: exp.Expr) -> list[exp.With]:
    """The WITH clauses whose queries can be named where a node stands, the outermost first; none where it is in one."""
    found: list[exp.With] = []
    below, around = node, node.parent
    while around is not None:
        clause = around.args.get("with_")
        if clause is not None and below is not clause:
            found.insert(0, clause)
        below, around = around, around.parent
    own = node.args.get("with_")
    return [*found, own] if own is not None else found


def _named(queries: list[exp.CTE], name: str) -> exp.CTE | None:
    return next((cte for cte in reversed(queries) if cte.alias.casefold() == name), None)
