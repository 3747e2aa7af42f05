"""What stored baskets cannot be: too large, or with what is no item."""

from __future__ import annotations

from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.base import RowCheck
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.retained.stored_rows import LISTED
from ppdm_sql.syntax.quoting import quote_name


def strange(column: BasketColumn) -> str:
    """SQL that is true of such a basket."""
    name, size = quote_name(column.name), quote_name(column.size_column)
    null = f"{name} IS NULL OR " if column.nulls == "error" else ""
    return f"{null}{size} NOT BETWEEN 0 AND {column.largest}{_strange_items(name, column)}"


def _strange_items(name: str, column: BasketColumn) -> str:
    """SQL that is true of a basket with an item that is none, or of a seed of another length."""
    if column.code is not None:
        return f" OR octet_length({name}) <> {column.code.seed_bytes}"
    if column.items.size > LISTED:
        return ""
    items = ", ".join(constant(column.item(number)) for number in range(column.items.size))
    return f" OR NOT list_has_all(CAST([{items}] AS {column.item_type.name}[]), {name})"


MECHANISMS = {"select_a_size": RowCheck(strange)}
