"""Whether ranges of a column with Gaussian noise are wide enough against it to be counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.query.plan.formula import target_tensor
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.understand.noisy_ranges import refuse_blurred

Flags = npt.NDArray[np.bool_]


def check_widths(plan: Plan) -> None:
    """Refuse a count of stretches that the noise blurs: one value, or a range much narrower than the noise is wide."""
    number = plan.noisy_axis
    assert number is not None
    axis = plan.axes[number]
    column, runs = axis.noisy, axis.runs
    assert column is not None and runs is not None
    least = column.narrowest * (1 - 1e-9)
    for counted in _counted(plan, number):
        changes = [place for place in range(1, len(runs.cell)) if counted[place] != counted[place - 1]]
        for one, other in itertools.pairwise(changes):
            if runs.bounds[other - 1] - runs.bounds[one - 1] < least:
                refuse_blurred(plan.query.sql, _changing(axis, one), column)


def outcomes_of(plan: Plan, axis: PlannedAxis) -> list[str]:
    """What the labels of the query say of each cell, as text: a label may be a list or a struct."""
    used = sorted({label.index for label in plan.query.labels.values()})
    if not used:
        return [""] * len(axis.cells)
    return [repr(row) for row in zip(*(axis.label_values[i].to_pylist() for i in used), strict=True)]


def _counted(plan: Plan, noisy: int) -> Iterator[Flags]:
    """For every count of the answer, exact state and group: which stretches it counts."""
    axis = plan.axes[noisy]
    assert axis.runs is not None
    of_run = np.array(axis.runs.cell, dtype=np.int64)
    outcomes = np.array(outcomes_of(plan, axis))
    seen: set[bytes] = set()
    for i in sorted(plan.query.answered):
        total = plan.totals[i]
        assert total.counted is not None
        order = (*(one for one in total.axes if one != noisy), noisy)
        states = target_tensor(total.counted, order, plan.cell_counts).reshape(-1, len(axis.cells))
        for state, outcome in itertools.product(states, dict.fromkeys(outcomes.tolist())):
            counted = (state & (outcomes == outcome))[of_run]
            if counted.tobytes() not in seen:
                seen.add(counted.tobytes())
                yield counted


def _changing(axis: PlannedAxis, place: int) -> exp.Expr:
    """The term, or else the label, that changes where a stretch begins."""
    assert axis.runs is not None
    after, before = (axis.cells[axis.runs.cell[i]] for i in (place, place - 1))
    changed = [term for i, term in enumerate(axis.terms) if after.truth[i] is not before.truth[i]]
    return (*changed, *axis.labels, *axis.terms)[0]
