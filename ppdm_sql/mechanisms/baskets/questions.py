"""What a page asks of baskets: how many hold the first item."""

from __future__ import annotations

from ppdm_sql.auditing.tables import Original
from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.report.questions import Question, braced
from ppdm_sql.syntax.quoting import quote_name


def first_item(original: Original, column: BasketColumn) -> Question | None:
    """None where baskets were cut: answers are of those as they were cut."""
    if column.cut:
        return None
    item = column.item(0)
    return f"{item} in {column.name}", f"list_contains({braced(quote_name(column.name))}, {braced(constant(item))})"


MECHANISMS = {"select_a_size": first_item}
