"""The values of a grid and their places, as SQL."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.understand.scan import number, typed
from ppdm_sql.syntax.parentheses import grouped


def grid_constant(column: PerturbedColumn, place: int) -> exp.Expr:
    """The value at a place of a grid, exactly as it is released."""
    grid, family = column.declared_grid, column.type.family
    assert grid is not None
    units = grid.low + place * grid.step
    if family == "integer":
        return _signed(str(abs(units)), units < 0)
    if family == "decimal":
        value = Decimal(units).scaleb(-grid.scale)
        return _signed(f"{abs(value):f}", units < 0)
    if family == "real":
        real = float(units) / float(10**grid.scale)
        return number(float(np.float32(real)) if column.type.name.upper() == "FLOAT" else real)
    if family == "date":
        return typed(exp.Literal.string((date(1970, 1, 1) + timedelta(days=units)).isoformat()), "DATE")
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=units)
    zoned = column.type.name.upper() == "TIMESTAMP WITH TIME ZONE"
    text = moment.isoformat(sep=" ") if zoned else moment.replace(tzinfo=None).isoformat(sep=" ")
    return typed(exp.Literal.string(text), "TIMESTAMPTZ" if zoned else "TIMESTAMP")


def grid_place(column: PerturbedColumn) -> exp.Expr:
    """The place of a row's value on its grid, in DuckDB's SQL; whole numbers throughout."""
    grid, family = column.declared_grid, column.type.family
    assert grid is not None
    wide = "BIGINT" if grid.low >= -(2**63) and grid.high < 2**63 else "INT128"
    value: exp.Expr = exp.column(exp.to_identifier(column.name, quoted=True))
    if family in ("decimal", "real"):
        scaled = exp.Mul(this=value, expression=exp.Literal.number(10**grid.scale))
        value = exp.Round(this=scaled)
    elif family == "date":
        value = exp.Sub(this=value, expression=typed(exp.Literal.string("1970-01-01"), "DATE"))
    elif family == "timestamp":
        value = exp.Anonymous(this="epoch_us", expressions=[value])
    units = exp.Sub(this=typed(value, wide), expression=_signed(str(abs(grid.low)), grid.low < 0))
    return exp.IntDiv(this=exp.Paren(this=units), expression=exp.Literal.number(grid.step))


def _signed(text: str, negative: bool) -> exp.Expr:
    literal = exp.Literal.number(text)
    return grouped(exp.Neg(this=literal)) if negative else literal
