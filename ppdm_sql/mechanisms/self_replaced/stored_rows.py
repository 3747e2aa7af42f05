"""What stored rows of a column of its own values cannot be: NULL, where there is none."""

from __future__ import annotations

from ppdm_sql.mechanisms.base import RowCheck
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.syntax.quoting import quote_name


def null(column: SelfReplacedColumn) -> str | None:
    """SQL that is true of NULL."""
    return f"{quote_name(column.name)} IS NULL" if column.nulls == "error" else None


_CHECK = RowCheck(null)
MECHANISMS = {"identity": _CHECK, "swap": _CHECK}
