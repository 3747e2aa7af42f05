"""What stored rows of a column in parts cannot be: a value outside of the domain of the row's part."""

from __future__ import annotations

from ppdm_sql.mechanisms.base import RowCheck
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.stored_rows import LISTED, outside
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.syntax.quoting import quote_name


def outside_parts(column: SmallDomainColumn) -> str:
    """SQL that is true of a value outside the domain of its row's part."""
    whole = RetainedColumn(column.name, column.type, column.domain, 1.0, column.nulls, column.outside)
    part = quote_name(column.part_column)
    found = f"{outside(whole)} OR {part} IS NULL OR {part} NOT BETWEEN 0 AND {len(column.parts) - 1}"
    if sum(len(one.places) for one in column.parts) > LISTED:
        return found
    inside = (f" OR ({part} = {i} AND ({outside(one)}))" for i, one in enumerate(column.bound_parts))
    return found + "".join(inside)


MECHANISMS = {"small_domain": RowCheck(outside_parts)}
