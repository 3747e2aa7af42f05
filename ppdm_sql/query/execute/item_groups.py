"""Groups by the items of baskets: the supports of all items, from one statement."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import BasketAxis
from ppdm_sql.query.sql.basket_weights import item_masks
from ppdm_sql.query.sql.item_groups import ITEMS, item_statement

MAX_SEED_BITS = 20_000_000_000
"""Seeds times items times bits that are looked at: some minutes."""


def item_axis(plan: Plan) -> BasketAxis | None:
    """The column of baskets by whose items a plan groups, None where it does not."""
    axes = (plan.axes[axis] for axis in plan.key_axes)
    return next((axis for axis in axes if isinstance(axis, BasketAxis)), None)


class ItemGroups:
    """All items at once, by one sum of weights each."""

    def applies(self, plan: Plan) -> bool:
        """Where a query groups by the items of baskets."""
        return item_axis(plan) is not None

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The one, where there are not too many seeds to look at."""
        axis = _item_axis(plan)
        code = axis.basket.code
        if code is not None and plan.query.manifest.rows * axis.basket.items.size * code.bits > MAX_SEED_BITS:
            raise Unsupported(
                f"Unsupported: each of {plan.query.manifest.rows:,} seeds would be asked for each of "
                f"{axis.basket.items.size:,} items. Ask for single items, list_contains({axis.basket.name}, ..)."
            )
        return [item_statement(plan, axis)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Every group with its totals and their covariances."""
        [statement] = self.statements(plan)
        return engine.table(statement, {ITEMS: _items(_item_axis(plan).basket)})


def _item_axis(plan: Plan) -> BasketAxis:
    axis = item_axis(plan)
    assert axis is not None
    return axis


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
