"""Pass: what kind of statement it is, and a refusal of everything that would read perturbed values as true ones."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from ppdm_sql.rewrite.query import Query, conjuncts
from ppdm_sql.rewrite.refuse import refuse

PPDM_FUNCTIONS = ("ppdm_error", "ppdm_low", "ppdm_high")
NOT_YET = {
    "joins": "joins with a release are not supported yet.",
    "laterals": "LATERAL on a release is not supported yet.",
    "with_": "WITH is not supported in a query on a release yet.",
    "sample": "a sample of perturbed rows has another law than the release.",
    "windows": "windows on a release are not supported yet.",
    "pivots": "PIVOT on a release is not supported yet.",
    "connect": "CONNECT BY on a release is not supported.",
}


def check_structure(query: Query) -> Query:
    """Refuse what is not one SELECT from one release; runs before names are resolved."""
    tree = query.tree
    for part, why in NOT_YET.items():
        found = tree.args.get(part)
        if found:
            node = found[0] if isinstance(found, list) else found
            refuse(query.sql, node, why, "Ask the release by itself, in one SELECT.")
    for nested in tree.find_all(exp.Subquery, exp.Select):
        if nested is not tree:
            refuse(query.sql, nested, "subqueries are not supported in a query on a release yet.", "")
    for part in ("pivots", "joins", "sample", "laterals", "when"):
        if query.table.args.get(part):
            refuse(query.sql, query.table, "only the table itself can be read from a release yet.", "")
    if query.table.args.get("alias") is not None and query.table.args["alias"].args.get("columns"):
        refuse(query.sql, query.table, "renaming a release's columns is not supported yet.", "Name them in SELECT.")
    return query


def split_where(query: Query) -> Query:
    """Sort the WHERE conditions into those that only touch exact columns and those that touch perturbed ones.

    Before: `WHERE sex = 'F' AND age > 30`; after: exact `sex = 'F'`, hidden `age > 30`.
    """
    where = query.tree.args.get("where")
    parts = conjuncts(where.this if where is not None else None)
    exact = tuple(part for part in parts if not query.perturbed_in(part))
    hidden = tuple(part for part in parts if query.perturbed_in(part))
    return replace(query, exact=exact, hidden=hidden)


def is_aggregate(query: Query) -> bool:
    """Whether the SELECT aggregates; otherwise it reads rows."""
    outer = [*query.tree.expressions, query.tree.args.get("having"), query.tree.args.get("order")]
    return bool(query.tree.args.get("group")) or any(
        aggregate.find_ancestor(exp.Window) is None
        for node in outer
        if node is not None
        for aggregate in node.find_all(exp.AggFunc, exp.Filter)
    )


def touches_perturbed(query: Query) -> bool:
    """Whether any perturbed column, or one of our functions, takes part; without one the text can run as it is."""
    tree = query.tree
    ours = any(node.name.lower() in PPDM_FUNCTIONS for node in tree.find_all(exp.Anonymous))
    star = any(not isinstance(node.parent, exp.Count) for node in tree.find_all(exp.Star))
    whole = any(tree.find_all(exp.Columns))
    return ours or star or whole or bool(query.perturbed_in(tree))


def check_rows(query: Query) -> Query:
    """Rows may be read as they are, perturbed; picking or ordering them by a perturbed value is refused."""
    tree = query.tree
    if query.hidden:
        column = query.perturbed_in(query.hidden[0])[0].name
        refuse(
            query.sql,
            query.hidden[0],
            f"no row's {column} can be trusted, so rows cannot be picked by it: those found would not be those meant.",
            "Count them instead (SELECT count(*) ...), or read rows without this condition.",
        )
    for part, why in (
        ("order", "rows cannot be put in order by a value that is perturbed."),
        ("distinct", "the distinct values of a perturbed column are not those of the original."),
        ("qualify", "QUALIFY on a perturbed column would read it as if it were true."),
    ):
        node = tree.args.get(part)
        everything = part == "distinct" and (query.perturbed_in(tree) or any(tree.find_all(exp.Star)))
        if node is not None and (everything or query.perturbed_in(node)):
            refuse(query.sql, tree if part == "distinct" else node, why, "Use exact columns there, or count.")
    for window in tree.find_all(exp.Window):
        if query.perturbed_in(window):
            refuse(query.sql, window, "a window over a perturbed column would read it as if it were true.", "")
    return query


def check_aggregation(query: Query) -> Query:
    """Refuse the parts of an aggregate SELECT that cannot be reconstructed yet."""
    tree = query.tree
    for part, why in (
        ("distinct", "DISTINCT over estimates is not supported yet."),
        ("qualify", "QUALIFY is not yet."),
    ):
        node = tree.args.get(part)
        if node is not None:
            refuse(query.sql, tree, why, "")
    for window in tree.find_all(exp.Window):
        refuse(query.sql, window, "window functions are not supported in a query on a release yet.", "")
    for key in query.keys:
        if query.perturbed_in(key):
            refuse(
                query.sql,
                key,
                "grouping by a perturbed column is not supported yet.",
                "Group by exact columns, or count one group at a time in WHERE.",
            )
    return query
