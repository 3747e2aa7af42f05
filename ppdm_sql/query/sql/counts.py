"""Inversion from the counts of states, for few states: exact integers out of one scan.

The scan counts conjunctions of cells, leaving out one cell of each axis (measured: such counts cost less than the
same number of groups, and for up to eight states less than the query itself). A linear function of the states is then
a linear function of these counts.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.query.plan.formula import target_tensor
from ppdm_sql.query.plan.plan import Plan, PlannedTotal
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.understand.scan import Scan, conjunction, count_rows, number, total
from ppdm_sql.reconstruct.inversion import invert_adjoint
from ppdm_sql.syntax.parentheses import grouped

MAX_COUNTED_STATES = 8
"""Measured: up to here counting conjunctions beats summing weights."""

Tensor = npt.NDArray[np.float64]


def estimate_by_counts(scan: Scan, plan: Plan, total: PlannedTotal) -> exp.Expr:
    """The estimate of a count as a linear combination of the scan's counts."""
    return _functional(scan, plan, total.axes, _weights(plan, total, total.axes))


def covariance_by_counts(
    scan: Scan, plan: Plan, one: PlannedTotal, other: PlannedTotal, square: PlannedTotal
) -> exp.Expr:
    """The covariance of two counts, likewise: with weights v and w of a state, sum((v w - u) y), u for both at once."""
    used = tuple(sorted({*one.axes, *other.axes}))
    v, w, u = (_weights(plan, total, used) for total in (one, other, square))
    return _functional(scan, plan, used, v * w - u)


def can_be_counted(plan: Plan, *totals: PlannedTotal) -> bool:
    """Whether the totals are counts over few enough states, each of which a condition tells from the others."""
    used = [plan.axes[place] for place in {place for total in totals for place in total.axes}]
    if not all(axis.can_be_counted for axis in used):
        return False
    few = states(used) <= MAX_COUNTED_STATES
    return few and all(total.counted is not None for total in totals)


def _weights(plan: Plan, total: PlannedTotal, used: tuple[int, ...]) -> Tensor:
    assert total.counted is not None
    target = target_tensor(total.counted, used, plan.cell_counts).astype(float)
    return invert_adjoint(target, [plan.axes[i].channel for i in used])


def _functional(scan: Scan, plan: Plan, used: tuple[int, ...], weights: Tensor) -> exp.Expr:
    axes = [plan.axes[i] for i in used]
    columns = [scan.add(count) for count in conjunction_counts(axes)]
    return _combination(columns, conjunction_weights(weights, axes))


def states(axes: Sequence[PlannedAxis]) -> int:
    """The number of states over some axes, which is also the number of counts."""
    return int(np.prod([len(axis.cells) for axis in axes], dtype=object)) if axes else 1


def conjunction_counts(axes: Sequence[PlannedAxis]) -> Iterator[exp.Expr]:
    """COUNT of every choice of a cell, or of no condition, on each axis; the rows' number first."""
    choices = [[None, *_tested(axis)] for axis in axes]
    for chosen in itertools.product(*choices):
        tests = [axis.test(frozenset({cell})) for axis, cell in zip(axes, chosen, strict=True) if cell is not None]
        # DuckDB's COUNT_IF over nothing but NULL, or over no row at all, is NULL.
        counted = exp.CountIf(this=conjunction([grouped(test) for test in tests] if len(tests) > 1 else tests))
        yield exp.Coalesce(this=counted, expressions=[exp.Literal.number(0)]) if tests else count_rows()


def conjunction_weights(weights: Tensor, axes: Sequence[PlannedAxis]) -> Tensor:
    """From a weight for each state to a weight for each count of `conjunction_counts`, in its order."""
    for place, axis in enumerate(axes):
        rest = weights.take([left_out(axis)], axis=place)
        tested = weights.take(_tested(axis), axis=place) - rest
        weights = np.concatenate([rest, tested], axis=place)
    # Differences that are zero but for their last bit would only clutter the statement.
    negligible = 1e-13 * float(np.abs(weights).max(initial=0.0))
    return np.where(np.abs(weights) > negligible, weights, 0.0).ravel()


def counts_to_states(counts: Tensor, axes: Sequence[PlannedAxis]) -> Tensor:
    """From the counts of `conjunction_counts`, along the last axis, to the state counts."""
    shape = tuple(len(axis.cells) for axis in axes)
    tensor = counts.reshape(*counts.shape[:-1], *shape)
    lead = counts.ndim - 1
    for place, axis in enumerate(axes):
        along = lead + place
        everything, tested = np.split(tensor, [1], axis=along)
        rest = everything - tested.sum(axis=along, keepdims=True)
        ordered = np.empty_like(tensor)
        _put(ordered, _tested(axis), tested, along)
        _put(ordered, [left_out(axis)], rest, along)
        tensor = ordered
    return tensor


def _put(target: Tensor, indices: list[int], values: Tensor, along: int) -> None:
    place: list[slice | list[int]] = [slice(None)] * target.ndim
    place[along] = indices
    target[tuple(place)] = values


def left_out(axis: PlannedAxis) -> int:
    """The cell that is never tested: the one in which most terms are not TRUE, whose test would be longest."""
    return max(range(len(axis.cells)), key=lambda i: (sum(t is not True for t in axis.cells[i].truth), i))


def _tested(axis: PlannedAxis) -> list[int]:
    return [i for i in range(len(axis.cells)) if i != left_out(axis)]


def _combination(columns: Sequence[exp.Expr], weights: Tensor) -> exp.Expr:
    return total(
        [
            exp.Mul(this=number(weight), expression=column.copy())
            for column, weight in zip(columns, weights, strict=True)
            if weight != 0
        ]
    )
