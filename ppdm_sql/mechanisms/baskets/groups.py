"""Groups by the items of baskets: the supports of all items, from one statement.

It adds up, for every item at once, what baskets add that show it, and what all baskets add whether they show it or not.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp, parse_one

from ppdm_sql.engine.base import Engine
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.baskets.weights import by_size, inverse_contrasts, item_masks, rhos, seed_value
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.weights import RowWeights
from ppdm_sql.query.understand.scan import Scan, covariance_name, estimate_name, key_name, number
from ppdm_sql.syntax.dialects import ANALYST

ITEMS = "ppdm_items"
"""The relation of all items, with their numbers, and of seeds the masks of their bits."""

MAX_SEED_BITS = 20_000_000_000
"""Seeds times items times bits that are looked at: some minutes."""


class ItemGroups:
    """All items at once, by one sum of weights each."""

    def applies(self, plan: Plan) -> bool:
        """Where a query groups by the items of baskets."""
        return bool(_baskets(plan))

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The one, where there are not too many seeds to look at."""
        basket = _baskets(plan)[0]
        code = basket.code
        if code is not None and plan.query.manifest.rows * basket.items.size * code.bits > MAX_SEED_BITS:
            raise Unsupported(
                f"Unsupported: each of {plan.query.manifest.rows:,} seeds would be asked for each of "
                f"{basket.items.size:,} items. Ask for single items, list_contains({basket.name}, ..)."
            )
        return [_statement(plan, basket)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Every group with its totals and their covariances."""
        [statement] = self.statements(plan)
        return engine.table(statement, {ITEMS: _items(_baskets(plan)[0])})


def _baskets(plan: Plan) -> list[BasketColumn]:
    """The columns of baskets by whose items a plan groups."""
    columns = (column for axis in plan.key_axes for column in plan.axes[axis].columns)
    return [column for column in columns if isinstance(column, BasketColumn)]


def _items(basket: BasketColumn) -> pa.Table:
    numbers = range(basket.items.size)
    kind = pa.string() if basket.item_type.family == "text" else None
    columns = {
        "item": pa.array([basket.item(number) for number in numbers], kind),
        "number": pa.array(numbers, pa.int64()),
    }
    if basket.code is not None:
        masks = item_masks(basket, numbers)
        for bit in range(basket.code.bits):
            columns[f"mask{bit}"] = pa.array([item[bit] for item in masks], pa.binary())
    return pa.table(columns)


def _statement(plan: Plan, basket: BasketColumn) -> exp.Expr:
    """Every group of exact keys with every item: its totals and their covariances."""
    query = plan.query
    if len(query.labels) > 1:
        raise Unsupported(
            f"Unsupported: groups by the items of {basket.name} and by another perturbed column at once. Group by "
            "items and exact columns, and pick rows by the other column."
        )
    if any(basket in plan.axes[i].columns for total in plan.totals for i in total.axes):
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


MECHANISMS = {"select_a_size": ItemGroups()}
