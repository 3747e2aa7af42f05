"""Whether ranges of a column with Gaussian noise are wide enough against it to be counted."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from ppdm_sql.query.plan.formula import target_tensor
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import Flags, PlannedAxis


def check_widths(plan: Plan) -> None:
    """Refuse a count of stretches that the noise blurs: one value, or a range much narrower than the noise is wide."""
    number = plan.noisy_axis
    assert number is not None
    plan.axes[number].check_counted(plan.query.sql, _counted(plan, number))


def outcomes_of(plan: Plan, axis: PlannedAxis) -> list[str]:
    """What the labels of the query say of each cell, as text: a label may be a list or a struct."""
    used = sorted({label.index for label in plan.query.labels.values()})
    if not used:
        return [""] * len(axis.cells)
    return [repr(row) for row in zip(*(axis.label_values[i].to_pylist() for i in used), strict=True)]


def _counted(plan: Plan, noisy: int) -> Iterator[Flags]:
    """For every count of the answer, exact state and group: which cells it counts."""
    axis = plan.axes[noisy]
    outcomes = np.array(outcomes_of(plan, axis))
    seen: set[bytes] = set()
    for i in sorted(plan.query.answered):
        total = plan.totals[i]
        assert total.counted is not None
        order = (*(one for one in total.axes if one != noisy), noisy)
        states = target_tensor(total.counted, order, plan.cell_counts).reshape(-1, len(axis.cells))
        for state, outcome in itertools.product(states, dict.fromkeys(outcomes.tolist())):
            counted = state & (outcomes == outcome)
            if counted.tobytes() not in seen:
                seen.add(counted.tobytes())
                yield counted
