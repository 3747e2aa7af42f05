"""Pass over a whole statement: plain queries of WITH are put where a condition on a release names them.

What depends on a perturbed column is evaluated on the column's domain, in a statement that has no WITH.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.syntax.refuse import refuse
from ppdm_sql.syntax.scopes import with_query

MAX_DEPTH = 64


def settle_with(sql: str, tree: exp.Expr, is_release: Callable[[exp.Table], bool]) -> None:
    """Before: `WITH w AS (..) .. WHERE age > (SELECT v FROM w)`; after: `.. WHERE age > (SELECT v FROM (..) AS w)`."""
    if tree.find(exp.CTE) is None:
        return
    for select in [one for one in tree.find_all(exp.Select) if _reads(one, is_release)]:
        for _ in range(MAX_DEPTH):
            named = list(_named_from_outside(select))
            if not named:
                break
            for table, query in named:
                _put(sql, table, query)


def _reads(select: exp.Select, is_release: Callable[[exp.Table], bool]) -> bool:
    source = select.args.get("from_")
    table = source.this if source is not None else None
    return isinstance(table, exp.Table) and with_query(table) is None and is_release(table)


def _named_from_outside(select: exp.Select) -> list[tuple[exp.Table, exp.CTE]]:
    """The tables in subqueries of a SELECT that mean a query of WITH which is not part of the same subquery."""
    found = []
    for table in select.find_all(exp.Table):
        query = with_query(table) if table.find_ancestor(exp.Select) is not select else None
        if query is None:
            continue
        owner = query.find_ancestor(exp.Select, exp.SetOperation)
        around = owner
        while around is not None and around is not select:
            around = around.find_ancestor(exp.Select, exp.SetOperation)
        if owner is select or around is None:
            found.append((table, query))
    return found


def _put(sql: str, table: exp.Table, query: exp.CTE) -> None:
    clause = query.parent
    if clause is not None and clause.args.get("recursive"):
        refuse(sql, table, "a recursive query cannot be evaluated on the domain of a column.", "Ask for it first.")
    own = query.args["alias"]
    alias = exp.TableAlias(
        this=exp.to_identifier(table.alias_or_name, quoted=True),
        columns=[column.copy() for column in own.args.get("columns") or []],
    )
    table.replace(exp.Subquery(this=query.this.copy(), alias=alias))
