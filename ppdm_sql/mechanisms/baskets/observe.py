"""Columns of baskets, in queries: cells are sets of the items that are asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from ppdm_sql.channels.cells import Cell, Cells
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.baskets.weights import basket_weight
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.observing import AxisQuestion, Observer
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.plan.weight import Weight, WeightStyle
from ppdm_sql.query.understand.memberships import asked_item

MAX_BASKET_ITEMS = 8
"""Items of one column of baskets in one query: its cells are 2**items."""


@dataclass(frozen=True)
class BasketAxis(PlannedAxis):
    """A column of baskets: a cell is a set of the items asked for, by their numbers in the item set."""

    basket: BasketColumn
    items: tuple[int, ...]
    labels: tuple[exp.Expr, ...] = ()
    label_values: tuple[Any, ...] = ()

    @property
    def columns(self) -> tuple[BasketColumn, ...]:
        """The one column."""
        return (self.basket,)

    def described(self) -> list[str]:
        """The column, and the items that are asked for."""
        basket = self.basket
        items = ", ".join(str(basket.item(number)) for number in self.items) or "every one"
        stored = "lists" if basket.code is None else f"seeds, for itemsets of up to {basket.code.itemsets} items"
        return [
            f"column: {basket.name}, baskets of up to {basket.largest} of {basket.items.size:,} items, as {stored}",
            f"  items asked for: {items}",
        ]

    @property
    def perturbed(self) -> bool:
        """Items come and go in every basket."""
        return True

    @property
    def only_method(self) -> str:
        """Itemsets are not states of one channel."""
        return "inversion"

    @property
    def bayes_refusal(self) -> str:
        """Bayes knows nothing of items."""
        return (
            f"Unsupported: baskets ({self.basket.name}) are reconstructed by inversion only. Use SET ppdm_method = "
            "'auto'."
        )

    def refusal_beside(self, others: Iterable[PlannedAxis]) -> str | None:
        """Groups of a distribution that is read off the release are inverted by cells, which baskets have none of."""
        columns = [column for axis in others for column in axis.columns]
        own = [column.name for column in columns if column.drawn_from_release and not column.exact]
        if not own:
            return None
        return (
            f"Unsupported: {self.basket.name} holds baskets, which are not reconstructed together with {own[0]}, whose "
            "replacing distribution is read off the release. Ask for one of them at a time."
        )

    @property
    def can_be_counted(self) -> bool:
        """What is observed of an itemset depends on the basket's size."""
        return False

    @property
    def fits_float(self) -> bool:
        """Contrasts of several items are small."""
        return False

    def weight(self, inside: frozenset[int], style: WeightStyle) -> Weight:
        """A polynomial in what the basket shows of each item."""
        fixed = any(self.cells[i].fixed for i in inside)
        masks = [i for i in inside if not self.cells[i].fixed]
        return Weight(1.0, *basket_weight(self.basket, self.items, masks, fixed, style.portable))


class Baskets(Observer):
    """Columns of baskets, whose cells need no measuring."""

    def planned(self, question: AxisQuestion, engine: Measuring, found: Cells | None) -> PlannedAxis:
        """A cell for each set of the items asked for, and one for NULL where there may be one."""
        axis = question.axis
        basket = axis.columns[0]
        assert isinstance(basket, BasketColumn)
        numbers = [basket.number(item) if (item := asked_item(term)) is not None else None for term in axis.terms]
        items = tuple(dict.fromkeys(number for number in numbers if number is not None))
        if len(items) > MAX_BASKET_ITEMS:
            raise Unsupported(
                f"Unsupported: {len(items)} items of {basket.name} in one query, with at most {MAX_BASKET_ITEMS} "
                "allowed. Ask for fewer at a time."
            )

        def truth(term: int, mask: int) -> bool:
            number = numbers[term]
            return number is not None and bool(mask >> items.index(number) & 1)

        masks = range(1 << len(items))
        cells = [Cell(tuple(truth(term, mask) for term in range(len(numbers))), 1) for mask in masks]
        if basket.keeps_null:
            fixed = tuple(True if asked_item(term) is None else None for term in axis.terms)
            cells.append(Cell(fixed, 0, fixed=True))
        return BasketAxis(tuple(cells), axis.terms, basket, items, axis.labels)


MECHANISMS = {"select_a_size": Baskets()}
