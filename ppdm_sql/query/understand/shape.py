"""Pass: what kind of statement it is, and a refusal of everything that would read perturbed values as true ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.query.understand.grouping_sets import CALLS
from ppdm_sql.query.understand.query import ALIAS, Query, conjuncts
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.refuse import refuse

PPDM_FUNCTIONS = ("ppdm_error", "ppdm_low", "ppdm_high")
PASSING = (
    *(exp.Column, exp.Identifier, exp.Star, exp.Alias, exp.Paren, exp.Literal, exp.Cast, exp.Case, exp.If),
    *(exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.DPipe),
    *(exp.Predicate, exp.Connector, exp.Not, exp.Boolean, exp.Null),
)
"""What may be done with the perturbed columns of a row that is read: arithmetic and comparisons."""

AGGREGATES = (exp.AggFunc, exp.Filter, exp.WithinGroup)

NOT_YET = {
    "joins": "joins with a release are not supported yet.",
    "laterals": "LATERAL on a release is not supported yet.",
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
    for part in ("pivots", "joins", "sample", "laterals", "when"):
        if query.table.args.get(part):
            refuse(query.sql, query.table, "only the table itself can be read from a release yet.", "Name it alone.")
    check_clear(query.sql, tree, query.aggregate_names)
    if query.table.args.get("alias") is not None and query.table.args["alias"].args.get("columns"):
        refuse(query.sql, query.table, "renaming a release's columns is not supported yet.", "Name them in SELECT.")
    return query


def check_clear(sql: str, tree: exp.Expr, aggregate_names: frozenset[str]) -> None:
    """Refuse what hides which columns are read, or what is done with them."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.casefold() in aggregate_names:
            why = "this aggregate, or macro, is not one that can be reconstructed."
            refuse(sql, call, why, "Use COUNT, SUM, AVG, VAR, STDDEV, COVAR, CORR or a quantile.")
    for dot in tree.find_all(exp.Dot):
        why = "a function called like a method hides what it is called on."
        refuse(sql, dot, why, "Write it as function(column).")
    for node in tree.find_all(exp.Columns, exp.PositionalColumn, exp.Star):
        if not _plain_star(node):
            refuse(sql, node, "it stands for columns without naming them.", "Name the columns.")


def _plain_star(node: exp.Expr) -> bool:
    """Whether a star is all of a row, or counts rows."""
    if not isinstance(node, exp.Star) or node.args.get("replace"):
        return False
    parent = node.parent.parent if isinstance(node.parent, exp.Column) else node.parent
    return isinstance(parent, exp.Select | exp.Count)


def split_where(query: Query) -> Query:
    """Sort the WHERE conditions into those that only touch exact columns and those that touch perturbed ones.

    Before: `WHERE sex = 'F' AND age > 30`; after: exact `sex = 'F'`, hidden `age > 30`.
    """
    where = query.tree.args.get("where")
    parts = conjuncts(where.this if where is not None else None)
    exact = tuple(part for part in parts if not query.perturbed_in(part))
    hidden = tuple(part for part in parts if query.perturbed_in(part))
    return replace(query, exact=exact, hidden=(*query.given, *hidden))


def is_aggregate(query: Query) -> bool:
    """Whether the SELECT aggregates; otherwise it reads rows."""
    outer = [*query.tree.expressions, query.tree.args.get("having"), query.tree.args.get("order")]
    return bool(query.tree.args.get("group")) or any(
        not is_windowed(aggregate)
        for node in outer
        if node is not None
        for aggregate in node.find_all(*AGGREGATES)
        if aggregate.find_ancestor(exp.Select) is query.tree
    )


def aggregate_nodes(tree: exp.Select) -> Iterator[exp.Expr]:
    """The outermost aggregates of the SELECT list, HAVING, QUALIFY and ORDER BY, each text once."""
    seen: set[str] = set()
    for root in (*tree.expressions, *(tree.args.get(part) for part in ("having", "qualify", "order"))):
        if root is None:
            continue
        for node in root.find_all(*AGGREGATES):
            if isinstance(node, CALLS) or node.find_ancestor(exp.Select) is not tree:
                continue
            if is_windowed(node) or _inside_aggregate(node):
                continue
            text = node.sql(dialect=ANALYST)
            if text not in seen:
                seen.add(text)
                yield node


def _inside_aggregate(node: exp.Expr) -> bool:
    """Whether an aggregate around it is of the same SELECT."""
    outer = node.find_ancestor(*AGGREGATES, exp.Select)
    while outer is not None and is_windowed(outer):
        outer = outer.find_ancestor(*AGGREGATES, exp.Select)
    return isinstance(outer, AGGREGATES)


def is_windowed(node: exp.Expr) -> bool:
    """Whether a function is that of a window, `sum(..) OVER (..)`, and not an aggregate of rows."""
    parent = node.parent
    while isinstance(parent, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and parent.this is node


def touches_perturbed(query: Query) -> bool:
    """Whether any perturbed column, or one of our functions, takes part; without one the text can run as it is."""
    tree = query.tree
    ours = any(node.name.lower() in PPDM_FUNCTIONS for node in tree.find_all(exp.Anonymous))
    star = any(item.is_star for item in tree.expressions)
    return ours or star or bool(query.given) or bool(query.perturbed_in(tree))


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
    order = tree.args.get("order")
    for item in order.expressions if order is not None else ():
        if any(query.perturbed_in(node) for node in _ordered_by(query, item)):
            why = "rows cannot be put in order by a value that is perturbed."
            refuse(query.sql, item, why, "Order by exact columns.")
    if tree.args.get("distinct") is not None:
        why = "the distinct values of a perturbed column are not those of the original."
        refuse(query.sql, tree, why, "Use exact columns there, or count.")
    if tree.args.get("qualify") is not None:
        refuse(
            query.sql, tree.args["qualify"], "QUALIFY on rows of a release is not supported yet.", "Aggregate first."
        )
    for item in tree.expressions:
        for node in item.walk():
            if not isinstance(node, PASSING) and query.perturbed_in(node):
                refuse(
                    query.sql,
                    node,
                    "computed from perturbed values, it would pass for a true one.",
                    "Read the column itself, or aggregate.",
                )
    return query


def _ordered_by(query: Query, item: exp.Expr) -> list[exp.Expr]:
    """What an item of ORDER BY stands for: a position, an alias, ALL, or itself."""
    items = query.tree.expressions
    by = item.this if isinstance(item, exp.Ordered) else item
    if isinstance(by, exp.Literal | exp.Var):
        if any(item.is_star for item in items):  # then any column may be meant
            return [exp.column(exp.to_identifier(column.name, quoted=True)) for column in query.manifest.perturbed]
        if isinstance(by, exp.Var):
            return list(items)
        return [items[int(by.this) - 1]] if by.this.isdigit() and 1 <= int(by.this) <= len(items) else []
    aliases = {i.alias.casefold(): i for i in items if isinstance(i, exp.Alias)}
    return [by, *(aliases[c.name.casefold()] for c in by.find_all(exp.Column) if c.meta.get(ALIAS))]
