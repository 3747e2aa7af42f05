"""A domain that was bound to a type, as a policy would declare it."""

from __future__ import annotations

from typing import Any

from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.grid_values import decimal, grid_value
from ppdm_sql.domain.step import describe_microseconds
from ppdm_sql.domain.types import SqlType


def declared_domain(domain: Grid | Values, sql_type: SqlType) -> dict[str, Any]:
    """The mapping under `domain`.

    >>> from ppdm_sql.domain.types import parse_type
    >>> declared_domain(Grid(0, 25, 201, 2), parse_type("DOUBLE"))
    {'min': Decimal('0.00'), 'max': Decimal('50.00'), 'step': Decimal('0.25')}
    """
    if isinstance(domain, Values):
        return {"values": list(domain.values)}
    low, high = (grid_value(domain, place, sql_type) for place in (0, domain.size - 1))
    step = _step(domain, sql_type)
    return {"min": low, "max": high} if step is None else {"min": low, "max": high, "step": step}


def _step(grid: Grid, sql_type: SqlType) -> Any:
    """None where it is the type's own."""
    if sql_type.family == "timestamp":
        return describe_microseconds(grid.step)
    if grid.step == 1 and sql_type.family != "real":
        return None
    if sql_type.family == "date":
        return f"{grid.step} days"
    return decimal(grid.step, grid.scale) if grid.scale else grid.step
