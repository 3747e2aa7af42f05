"""Counts by item: `SELECT item, count(*) FROM baskets, unnest(items) AS t(item) GROUP BY item`.

The pass puts one mark in the place of the item, wherever a query unnests a column of baskets. The statement adds up,
for every item at once, what baskets add that show it, and what all baskets add whether they show it or not.
"""

from __future__ import annotations

from sqlglot import exp, parse_one

from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import BasketAxis
from ppdm_sql.query.sql.basket_weights import by_size, inverse_contrasts, rhos, seed_value
from ppdm_sql.query.sql.weights import RowWeights
from ppdm_sql.query.understand.memberships import ITEM, is_item
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import Scan, covariance_name, estimate_name, key_name, number
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare
from ppdm_sql.syntax.refuse import refuse

UNNESTED = "ppdm_unnested"
"""Marks a SELECT that unnests a column of baskets."""
ITEMS = "ppdm_items"
"""The relation of all items, with their numbers, and of seeds the masks of their bits."""


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


def _mark(node: exp.Expr, basket: BasketColumn) -> exp.Expr:
    mark = exp.Anonymous(this=ITEM, expressions=[exp.column(exp.to_identifier(basket.name, quoted=True))])
    starts = [below.meta["start"] for below in node.walk() if "start" in below.meta]
    if starts:
        mark.meta["start"] = min(starts)
    return mark


def _unnested(query: Query) -> tuple[BasketColumn | None, set[tuple[str, str]]]:
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


def _basket(query: Query, node: exp.Expr) -> BasketColumn | None:
    if not isinstance(node, exp.Column) or node.table.casefold() not in ("", query.table.alias_or_name.casefold()):
        return None
    released = query.column(node.name)
    perturbed = released.perturbed if released is not None else None
    return perturbed if isinstance(perturbed, BasketColumn) else None


def item_statement(plan: Plan, axis: BasketAxis) -> exp.Expr:
    """Every group of exact keys with every item: its totals and their covariances."""
    query, basket = plan.query, axis.basket
    if len(query.labels) > 1:
        raise Unsupported(
            f"Unsupported: groups by the items of {basket.name} and by another perturbed column at once. Group by "
            "items and exact columns, and pick rows by the other column."
        )
    if any(plan.axes[i] is axis for total in plan.totals for i in total.axes):
        raise Unsupported(
            f"Unsupported: counts by item of baskets that are picked by their items. Count the itemset itself: "
            f"list_has_all({basket.name}, ['milk', 'bread'])."
        )
    weights = RowWeights(plan)
    pairs = query.squares
    wanted = sorted({*query.answered, *(i for pair, square in pairs.items() for i in (*pair, square))})
    rows = {i: weights.of_total(plan.totals[i]) for i in wanted}
    contrasts, rho = inverse_contrasts(basket, 1), rhos(basket)
    seen, always = Scan(query), Scan(query)

    def part(scan: Scan, factor: list[float], *totals: int) -> str:
        bodies = [by_size(basket, factor, portable=False), *(exp.Paren(this=rows[i].body) for i in totals)]
        body = " * ".join(one.sql(dialect=ANALYST) for one in bodies)
        scale = 1.0
        for i in totals:
            scale *= rows[i].scale
        column = scan.add(parse_one(f"coalesce(sum({body}), 0e0)", dialect=ANALYST))
        return f"{number(scale).sql()} * coalesce({'seen' if scan is seen else 'always'}.{column.name}, 0e0)"

    def both(on_seen: list[float], on_all: list[float], *totals: int) -> str:
        return f"{part(seen, on_seen, *totals)} + {part(always, on_all, *totals)}"

    shifts = [-r * c for r, c in zip(rho, contrasts, strict=True)]
    gains = [((1 - r) ** 2 - r**2) * c**2 for r, c in zip(rho, contrasts, strict=True)]
    squares = [(r * c) ** 2 for r, c in zip(rho, contrasts, strict=True)]
    estimates = {i: both(contrasts, shifts, i) for i in wanted}
    columns = [f"{estimates[i]} AS {estimate_name(i)}" for i in sorted(query.answered)]
    for (one, other), square in pairs.items():
        columns.append(f"{both(gains, squares, one, other)} - ({estimates[square]}) AS {covariance_name(one, other)}")
    keys = [key_name(i) for i in query.exact_keys]
    (label,) = query.labels
    selected = [*(f"always.{key}" for key in keys), f"i.item AS {key_name(label)}", *columns]
    same = ["seen.ppdm_c0 = i.number", *(f"seen.{key} IS NOT DISTINCT FROM always.{key}" for key in keys)]
    return parse_one(
        f"WITH seen AS ({_seen(seen, plan, basket)}), always AS ({always.select().sql(dialect=ANALYST)}) "
        f"SELECT {', '.join(selected)} FROM always CROSS JOIN {ITEMS} AS i LEFT JOIN seen ON {' AND '.join(same)}",
        dialect=ANALYST,
    )


def _seen(scan: Scan, plan: Plan, basket: BasketColumn) -> str:
    """The scan of baskets with each item that they show, by its number."""
    statement = scan.select((exp.column("ppdm_number"),))
    table = plan.query.table.copy()
    table.set("alias", None)
    source, items = table.sql(dialect=ANALYST), exp.to_identifier(basket.name, quoted=True).sql(dialect=ANALYST)
    if basket.code is None:
        inner = (
            f"SELECT ppdm_b.*, i.number AS ppdm_number FROM (SELECT *, unnest({items}) AS ppdm_unnested FROM {source}) "
            f"AS ppdm_b JOIN {ITEMS} AS i ON i.item = ppdm_b.ppdm_unnested"
        )
    else:
        bits = [f"i.mask{bit}" for bit in range(basket.code.bits)]
        threshold = by_size(basket, [r * (1 << basket.code.bits) for r in rhos(basket)], portable=False)
        inner = (
            f"SELECT ppdm_b.*, i.number AS ppdm_number FROM {source} AS ppdm_b CROSS JOIN {ITEMS} AS i "
            f"WHERE {seed_value(items, bits)} < {threshold.sql(dialect=ANALYST)}"
        )
    alias = exp.TableAlias(this=exp.to_identifier(plan.query.table.alias_or_name, quoted=True))
    statement.set("from_", exp.From(this=exp.Subquery(this=parse_one(inner, dialect=ANALYST), alias=alias)))
    return str(statement.sql(dialect=ANALYST))
