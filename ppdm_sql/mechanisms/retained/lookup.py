"""A number for each value of a column, as SQL: what a row's value stands for on average over another column's draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.domain.domain import Grid, Scalar
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.query.plan.grid_places import grid_constant, grid_place
from ppdm_sql.query.understand.scan import number, typed
from ppdm_sql.syntax.dialects import ANALYST

FEW_STEPS = 16
"""Up to here choosing by comparisons is as quick as a list of all values; 75 steps were measured at four times it."""

MAX_LISTED = 16_384
"""Values of a domain that are written into a statement one by one."""

MAX_STEPS = 1_024
"""Steps chosen by comparisons, for large domains and for engines without lists of numbers."""

Array = npt.NDArray[np.float64]


def lookup(column: RetainedColumn, numbers: Array, sql_type: str, portable: bool) -> exp.Expr:
    """SQL for `numbers` at a row's value; they follow the order of the domain, and then NULL if there may be any."""
    chosen = _chosen(column, numbers, sql_type, portable)
    # One node of text: a tree of thousands of numbers would be copied and written again for every pair of totals.
    return chosen if portable else exp.Var(this=f"({chosen.sql(dialect=ANALYST)})")


def _chosen(column: RetainedColumn, numbers: Array, sql_type: str, portable: bool) -> exp.Expr:
    size = column.domain.size
    shown = numbers[:size]
    if isinstance(column.domain, Grid):
        starts = [0, *(np.nonzero(np.diff(shown))[0] + 1).tolist()]
        if len(starts) > FEW_STEPS and size <= MAX_LISTED and not portable:
            found = _by_place(column, shown, sql_type)
        elif len(starts) <= MAX_STEPS:
            found = _by_steps(column, starts, [float(shown[i]) for i in starts], sql_type)
        else:
            more = "" if portable else f", or a domain of {MAX_LISTED:,} values"
            raise Unsupported(
                f"Unsupported: a condition or sum that spans {column.name} and another perturbed column needs a number "
                f"for each of {len(starts):,} steps among the {size:,} values of {column.name}, and a statement holds "
                f"at most {MAX_STEPS:,} steps{more}. Compare each column with constants."
            )
    else:
        found = _by_value(column, column.domain.values, shown, sql_type)
    if len(numbers) == size:
        return found
    is_null = exp.Is(this=_column(column), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=is_null, true=typed(number(float(numbers[size])), sql_type))], default=found)


def _by_steps(column: RetainedColumn, starts: Sequence[int], numbers: Sequence[float], sql_type: str) -> exp.Expr:
    """Halving: on average as many comparisons as the logarithm of the number of steps."""
    if len(starts) == 1:
        return typed(number(numbers[0]), sql_type)
    half = len(starts) // 2
    below = exp.LT(this=_column(column), expression=grid_constant(column, starts[half]))
    low = _by_steps(column, starts[:half], numbers[:half], sql_type)
    return exp.Case(
        ifs=[exp.If(this=below, true=low)], default=_by_steps(column, starts[half:], numbers[half:], sql_type)
    )


def _by_place(column: RetainedColumn, numbers: Array, sql_type: str) -> exp.Expr:
    """An element of a list; lists count from 1."""
    listed = exp.Array(expressions=[number(float(value)) for value in numbers])
    kind = exp.DataType.build(f"{sql_type}[]", dialect=ANALYST)
    place = exp.Add(this=grid_place(column), expression=exp.Literal.number(1))
    return exp.Anonymous(this="list_extract", expressions=[exp.Cast(this=listed, to=kind), place])


def _by_value(column: RetainedColumn, values: Sequence[Scalar], numbers: Array, sql_type: str) -> exp.Expr:
    """Values with the same number together; the last need no test."""
    if len(values) > MAX_STEPS:
        raise Unsupported(
            f"Unsupported: {column.name} has {len(values):,} listed values, and a condition that spans two perturbed "
            f"columns takes at most {MAX_STEPS:,}. Compare each column with constants."
        )
    pairs = sorted(zip(numbers.tolist(), range(len(values)), strict=True))
    together = [
        (value, [values[i] for _, i in members])
        for value, members in itertools.groupby(pairs, key=lambda pair: pair[0])
    ]
    ifs = [
        exp.If(
            this=exp.In(this=_column(column), expressions=[_constant(member) for member in members]),
            true=typed(number(value), sql_type),
        )
        for value, members in together[:-1]
    ]
    last = typed(number(together[-1][0]), sql_type)
    return exp.Case(ifs=ifs, default=last) if ifs else last


def _constant(value: Scalar) -> exp.Expr:
    return exp.convert(value)


def _column(column: RetainedColumn) -> exp.Column:
    return exp.column(exp.to_identifier(column.name, quoted=True))
