"""A released column of randomized baskets, whose parameters are all public."""

from __future__ import annotations

from dataclasses import dataclass, field

from ppdm_sql.domain.domain import Grid, Scalar, Values
from ppdm_sql.domain.types import SqlType
from ppdm_sql.itemsets import Operator
from ppdm_sql.mechanisms.base import PerturbedColumn

SELECT_A_SIZE = "select_a_size"


@dataclass(frozen=True)
class SeedCode:
    """The code of a compressed column; itemsets of at most `itemsets` items can be told from its seeds."""

    degree: int
    powers: int
    bits: int
    itemsets: int

    @property
    def seed_bytes(self) -> int:
        """The length of a seed."""
        return -(-self.degree * self.powers // 8)


@dataclass(frozen=True)
class BasketColumn(PerturbedColumn):
    """Baskets of items; ``operators[m]`` is for those of m items, larger ones were cut to the last size.

    `code` is None for lists; `cut` is the number of baskets that were cut.
    """

    items: Grid | Values
    item_type: SqlType
    operators: tuple[Operator, ...]
    gamma: float
    nulls: str = "error"
    code: SeedCode | None = None
    cut: int = 0
    mechanism: str = field(default=SELECT_A_SIZE, kw_only=True)

    @property
    def holds_items(self) -> bool:
        """Each value is a basket."""
        return True

    @property
    def whole_items(self) -> bool:
        """Whether items are whole numbers."""
        return self.item_type.family == "integer"

    @property
    def keeps_null(self) -> bool:
        """Whether the NULLs of the release are those of the original."""
        return self.nulls == "keep"

    @property
    def largest(self) -> int:
        """The size to which larger baskets are cut."""
        return len(self.operators) - 1

    @property
    def size_column(self) -> str:
        """The exact column that holds the size of each basket, after cutting."""
        return size_column(self.name)

    def number(self, item: Scalar) -> int | None:
        """The number of an item in the item set, None where it is none."""
        if isinstance(self.items, Values):
            return self.items.values.index(item) if item in self.items.values else None
        if not isinstance(item, int):
            return None
        place, rest = divmod(item - self.items.low, self.items.step)
        return place if rest == 0 and 0 <= place < self.items.size else None

    def item(self, number: int) -> Scalar:
        """The item with a number."""
        if isinstance(self.items, Values):
            return self.items.values[number]
        return self.items.low + number * self.items.step


def size_column(name: str) -> str:
    """The name of the column that goes with a column of baskets."""
    return f"{name}_size"
