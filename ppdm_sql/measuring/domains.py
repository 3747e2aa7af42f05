"""Domains as SQL: the value at a place of a grid, the values of a list."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from ppdm_sql.domain.domain import Grid, Scalar, Values
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.quoting import quote_text


def point(column: RetainedColumn, index: str) -> str:
    """SQL for the grid point at `index` (SQL too), of the column's own type and bit for bit as the kernel draws it."""
    grid, kind = column.domain, column.type
    assert isinstance(grid, Grid)
    wide = "BIGINT" if grid.low >= -(2**63) and grid.high < 2**63 else "HUGEINT"
    units = f"(CAST({index} AS {wide}) * {grid.step} + ({grid.low}))"
    if kind.family == "integer":
        return f"CAST({units} AS {kind.name})"
    if kind.family == "real":
        return f"CAST(CAST({units} AS DOUBLE) / 1e{grid.scale} AS {kind.name})"
    if kind.family == "decimal":
        step, low = (Decimal(n).scaleb(-grid.scale) for n in (grid.step, grid.low))
        return f"CAST(CAST({index} AS DECIMAL(16, 0)) * {step:f} + ({low:f}) AS {kind.name})"
    if kind.family == "date":
        return f"(DATE '1970-01-01' + CAST({units} AS INTEGER))"
    if kind.name.upper() == "TIMESTAMP WITH TIME ZONE":
        return f"make_timestamptz({units})"
    return f"CAST(make_timestamp({units}) AS {kind.name})"


def listed(column: RetainedColumn) -> str:
    """A relation with every value of a listed domain, `ppdm_value`, and its weight, `ppdm_w`."""
    values = column.domain
    assert isinstance(values, Values)
    if column.weights is None:
        rows = ", ".join(f"({constant(value)})" for value in values.values)
        return f"SELECT CAST(v AS {column.type.name}) AS ppdm_value, 1 AS ppdm_w FROM (VALUES {rows}) AS t(v)"
    pairs = zip(values.values, column.weights, strict=False)  # the weight of NULL, if it has one, is left over
    rows = ", ".join(f"({constant(value)}, {weight!r}::DOUBLE)" for value, weight in pairs)
    return f"SELECT CAST(v AS {column.type.name}) AS ppdm_value, w AS ppdm_w FROM (VALUES {rows}) AS t(v, w)"


def places(column: RetainedColumn) -> str:
    """A relation with every place of a grid, `ppdm_i`, and the weight of its value, `ppdm_w`."""
    size = column.domain.size
    if column.weights is None:
        return f"SELECT ppdm_i, 1 AS ppdm_w FROM range({size}) AS t(ppdm_i)"
    weights = ", ".join(repr(weight) for weight in column.weights[:size])
    return f"SELECT unnest(range({size})) AS ppdm_i, unnest([{weights}]::DOUBLE[]) AS ppdm_w"


def constant(value: Scalar) -> str:
    """A constant of a domain."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, date | datetime):
        return quote_text(value.isoformat(sep=" ") if isinstance(value, datetime) else value.isoformat())
    return quote_text(value)
