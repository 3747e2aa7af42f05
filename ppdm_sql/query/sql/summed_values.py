"""Values of a perturbed column that are summed: what a row shows, and what draws are expected to show."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sqlglot import exp

from ppdm_sql.channels.cells import total_weight
from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.understand.scan import number
from ppdm_sql.syntax.dialects import ANALYST


def drawn_mean(axis: PlannedAxis, index: int, inside: Iterable[int]) -> float:
    """The mean over draws of a value where it lies in some cells, and 0 elsewhere."""
    weight = total_weight(axis.cells)
    if not weight:  # of a release without rows: there is nothing to draw
        return 0.0
    mean = math.fsum(axis.cells[i].sums[index] for i in inside) / weight
    if not math.isfinite(mean):
        assert axis.column is not None
        text = axis.values[index].sql(dialect=ANALYST)
        raise Unsupported(f"Unsupported: {text} is infinite somewhere in the domain of {axis.column.name}.")
    return mean


def value_inside(axis: PlannedAxis, index: int, inside: frozenset[int]) -> exp.Expr:
    """The value where the row lies in some cells, else 0."""
    body: exp.Expr = exp.Coalesce(this=axis.values[index].copy(), expressions=[number(0.0)])
    if len(inside) < len(axis.cells):
        body = exp.Case(ifs=[exp.If(this=axis.test(inside), true=body)], default=number(0.0))
    return body
