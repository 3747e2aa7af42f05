"""Groups with their totals and covariances: the scan that counts, and what turns its counts into totals."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.query.plan.formula import FALSE, TRUE
from ppdm_sql.query.plan.parts import PARTS, added
from ppdm_sql.query.plan.plan import Plan, PlannedTotal
from ppdm_sql.query.sql.counts import can_be_counted, covariance_by_counts, estimate_by_counts
from ppdm_sql.query.sql.weights import covariance_by_weights, estimate_by_weights
from ppdm_sql.query.understand.aggregates import native_name
from ppdm_sql.query.understand.grouping_sets import absent_key
from ppdm_sql.query.understand.scan import (
    Scan,
    count_rows,
    covariance_name,
    estimate_name,
    inner,
    key_name,
    named,
    number,
    typed,
)

Counted = Callable[..., bool]


def groups_select(plan: Plan) -> exp.Select:
    """The groups with their totals and covariances; of a grouping set, with the columns that all of them have."""
    if plan.parts:
        parts = [groups_select(part) for part in plan.parts]
        below: exp.Expr = parts[0]
        for part in parts[1:]:
            below = exp.Union(this=below, expression=part, distinct=False)
        return added(plan, inner(below, PARTS), [item.alias_or_name for item in parts[0].expressions])
    scan, columns = _scanned(plan, can_be_counted)
    if plan.many_groups:  # one sum of weights may do the work of several counts
        other, summed = _scanned(plan, _never_counted)
        scan, columns = (other, summed) if len(other) < len(scan) else (scan, columns)
    counted = scan.select()
    if plan.condition == FALSE:
        counted = counted.where(exp.false(), append=False)  # COUNT_IF over no row at all is NULL
    middle = exp.Select(expressions=columns, from_=exp.From(this=inner(counted, "ppdm_scan")))
    if plan.empty:
        middle.set("where", exp.Where(this=exp.false()))
    return middle


def _scanned(plan: Plan, counted: Counted) -> tuple[Scan, list[exp.Expr]]:
    """The scan, and over its columns the keys, totals and covariances; `counted` says which totals are from counts."""
    scan = Scan(plan.query)
    keys = range(len(plan.query.keys))
    columns: list[exp.Expr] = [
        absent_key(plan.query, i) if i in plan.query.absent else exp.column(key_name(i)) for i in keys
    ]
    for i, node in enumerate(plan.query.natives):
        columns.append(named(scan.add(node), native_name(i)))
    columns.extend(
        named(typed(_answered(scan, plan, i, counted), "DOUBLE"), estimate_name(i)) for i in sorted(plan.query.answered)
    )
    for (one, other), square in plan.query.squares.items():
        covariance = _covariance(scan, plan, (one, other, square), counted)
        if covariance is not None:
            columns.append(named(typed(covariance, "DOUBLE"), covariance_name(one, other)))
        elif plan.query.sets or plan.query.piecewise:
            columns.append(named(number(0.0), covariance_name(one, other)))
    return scan, columns


def _never_counted(plan: Plan, *totals: PlannedTotal) -> bool:
    return False


def _answered(scan: Scan, plan: Plan, index: int, counted: Counted) -> exp.Expr:
    """The estimate of a total; a sum that nobody can add to is NULL, as in SQL."""
    if not plan.totals[index].products and not plan.query.totals[index].is_count:
        return exp.Null()
    return _estimate(scan, plan, plan.totals[index], counted)


def _estimate(scan: Scan, plan: Plan, planned: PlannedTotal, counted: Counted) -> exp.Expr:
    if planned.counted == TRUE:
        return scan.add(count_rows())
    if planned.counted == FALSE:
        scan.add(count_rows())
        return number(0.0)
    if counted(plan, planned):
        return estimate_by_counts(scan, plan, planned)
    return estimate_by_weights(scan, plan, planned)


def _covariance(scan: Scan, plan: Plan, pair: tuple[int, int, int], counted: Counted) -> exp.Expr | None:
    """The covariance of two totals, the third that of their products; None where one of them is certain."""
    first, second, both = (plan.totals[i] for i in pair)
    if plan.certain(first) or plan.certain(second):
        return None
    if counted(plan, first, second):
        return covariance_by_counts(scan, plan, first, second, both)
    return covariance_by_weights(scan, plan, first, second, _estimate(scan, plan, both, counted))
