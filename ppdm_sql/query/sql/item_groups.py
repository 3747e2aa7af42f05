"""Counts by item: `SELECT item, count(*) FROM baskets, unnest(items) AS t(item) GROUP BY item`.

The pass puts one mark in the place of the item, wherever a query unnests a column of baskets.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.understand.memberships import ITEM, is_item
from ppdm_sql.query.understand.query import Query
from ppdm_sql.syntax.parentheses import bare
from ppdm_sql.syntax.refuse import refuse

UNNESTED = "ppdm_unnested"
"""Marks a SELECT that unnests a column of baskets."""


def group_items(query: Query) -> None:
    """Before: `SELECT item, count(item) FROM b, unnest(items) t(item)`; after: `SELECT ppdm_item(items), count(*)`."""
    tree = query.tree
    basket, named = _unnested(query)
    if basket is not None:
        tree.set("joins", None)
        for column in list(tree.find_all(exp.Column)):
            if column.find_ancestor(exp.Select) is tree and (column.table.casefold(), column.name.casefold()) in named:
                _put(column, _mark(column, basket), column.name)
    for call in list(tree.find_all(exp.Explode)):
        found = _basket(query, call.this) if call.find_ancestor(exp.Select) is tree else None
        if found is not None:
            _put(call, _mark(call, found), f"unnest({call.this.name})")
    for count in list(tree.find_all(exp.Count)):
        if is_item(count.this):
            count.set("this", exp.Star())
    if basket is not None or any(is_item(node) for node in tree.find_all(exp.Anonymous)):
        tree.meta[UNNESTED] = True


def _put(node: exp.Expr, mark: exp.Expr, name: str) -> None:
    """Put an item in a node's place; a column of the result keeps the name that it had."""
    is_result = isinstance(node.parent, exp.Select) and node.arg_key == "expressions"
    node.replace(exp.alias_(mark, name, quoted=True) if is_result else mark)


def check_grouped(query: Query) -> None:
    """Rows of a basket and an item are told of by counts of each item alone."""
    if query.tree.meta.get(UNNESTED) and (query.sets or not any(is_item(bare(key)) for key in query.keys)):
        why = "items of randomized baskets are told of by counts of each item alone."
        remedy = "GROUP BY the item, without grouping sets; all items together are the sum of the column of sizes."
        refuse(query.sql, query.tree, why, remedy)


def _mark(node: exp.Expr, basket: PerturbedColumn) -> exp.Expr:
    mark = exp.Anonymous(this=ITEM, expressions=[exp.column(exp.to_identifier(basket.name, quoted=True))])
    starts = [below.meta["start"] for below in node.walk() if "start" in below.meta]
    if starts:
        mark.meta["start"] = min(starts)
    return mark


def _unnested(query: Query) -> tuple[PerturbedColumn | None, set[tuple[str, str]]]:
    """The column that FROM unnests, and how the query may call its items."""
    joins = query.tree.args.get("joins") or []
    if len(joins) != 1 or joins[0].args.get("on") or joins[0].args.get("using") or joins[0].side:
        return None, set()
    source = joins[0].this
    unnest = source.this if isinstance(source, exp.Lateral) else source
    if not isinstance(unnest, exp.Unnest) or len(unnest.expressions) != 1:
        return None, set()
    basket = _basket(query, unnest.expressions[0])
    alias = source.args.get("alias") or unnest.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if basket is None or len(columns) > 1:
        return None, set()
    name = (columns[0] if columns else "unnest").casefold()
    table = (alias.name if alias is not None else "").casefold()
    return basket, {("", name), (table, name)}


def _basket(query: Query, node: exp.Expr) -> PerturbedColumn | None:
    if not isinstance(node, exp.Column) or node.table.casefold() not in ("", query.table.alias_or_name.casefold()):
        return None
    released = query.column(node.name)
    perturbed = released.perturbed if released is not None else None
    return perturbed if perturbed is not None and perturbed.holds_items else None
