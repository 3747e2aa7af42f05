"""Totals of groups of a perturbed column: every group of its domain, nobody in it or not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.channels.axis import Axis
from ppdm_sql.engine.base import Engine
from ppdm_sql.errors import Unsupported
from ppdm_sql.query.execute.group_tensors import Outcomes, Scanned
from ppdm_sql.query.execute.group_variance import MAX_ENTRIES, GroupVariance
from ppdm_sql.query.execute.own_value_variance import OwnValueVariance
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.domain_groups import (
    CELLS,
    Branch,
    group_scan,
    possible_cells,
    state_scan,
    whole_scan,
)
from ppdm_sql.query.sql.states import GROUP, MAX_STATES, axes_of_answer, group_statement, solved_axes, targets
from ppdm_sql.query.understand.aggregates import native_name
from ppdm_sql.query.understand.scan import covariance_name, estimate_name, key_name
from ppdm_sql.reconstruct import bayes_errors, invert, solve

Array = npt.NDArray[np.float64]


class DomainGroups:
    """From the counted cells of the columns that rows are grouped by, or whose distribution is read off the release."""

    def applies(self, plan: Plan) -> bool:
        """Where cells have to be told apart."""
        return bool(plan.key_axes)

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The count, or the sums, of each combination of cells, where there are not too many."""
        _check_size(plan)
        others = tuple(axis for axis in axes_of_answer(plan) if axis not in plan.key_axes)
        return [state_scan(plan, others) if plan.method == "bayes" else group_scan(plan).statement]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Every group with its totals and their covariances."""
        found = _reconstructed(engine, plan)
        return found.slice(0, 0) if plan.empty and not plan.query.labels else found


def _reconstructed(engine: Engine, plan: Plan) -> pa.Table:
    _check_size(plan)
    outcomes = _outcomes(plan)
    by = _by_bayes if plan.method == "bayes" else _by_inversion
    scanned, results = by(engine, plan, outcomes)
    shown = outcomes.merge(possible_cells(plan).astype(float), 0) > 0
    if not plan.query.labels:
        shown = np.ones_like(shown)  # an aggregate over all rows, or over an exact group, is there in any case
    rows = np.broadcast_to(shown, (scanned.groups, *shown.shape))
    places = np.nonzero(rows)
    columns = _keys(plan, scanned, outcomes, places) | _natives(engine, plan, places[0])
    columns[GROUP] = pa.array(places[0], pa.int64())  # a group may have nothing else
    return pa.table(columns | {name: pa.array(values[places]) for name, values in results.items()})


def _check_size(plan: Plan) -> None:
    """Refuse what would fill memory: all combinations of cells are looked at, whether anybody is in them or not."""
    axes = {*plan.key_axes, *(axes_of_answer(plan) if plan.method == "bayes" else ())}
    states = math.prod(len(axis.cells) for axis in solved_axes(plan, sorted(axes)))
    if states > MAX_STATES:
        raise Unsupported(
            f"Unsupported: the groups and conditions on perturbed columns have {states:,} combinations, and at most "
            f"{MAX_STATES:,} are reconstructed. Group by coarser expressions, or by fewer."
        )


def _keys(
    plan: Plan, scanned: Scanned, outcomes: Outcomes, places: Sequence[npt.NDArray[np.int64]]
) -> dict[str, pa.Array]:
    """The keys of every row of the result."""
    _, first = np.unique(scanned.group, return_index=True)
    columns = {}
    for i in plan.query.present_keys:
        label = plan.query.labels.get(i)
        if label is None:
            columns[key_name(i)] = scanned.table.column(key_name(i)).take(pa.array(first[places[0]]))
        else:
            place = plan.key_axes.index(label.axis)
            values = plan.axes[label.axis].label_values[label.index]
            columns[key_name(i)] = values.take(pa.array(outcomes.cells[place][places[1 + place]]))
    return columns


def _natives(engine: Engine, plan: Plan, groups: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
    """The aggregates that are exact as they stand, of every row of the result."""
    if not plan.query.natives:
        return {}
    found = engine.table(group_statement(plan))
    first = len(plan.query.exact_keys)
    places = pa.array(groups)
    return {native_name(i): found.column(first + i).take(places) for i in range(len(plan.query.natives))}


def _outcomes(plan: Plan) -> Outcomes:
    of_cell, firsts = [], []
    for axis in plan.key_axes:
        planned = plan.axes[axis]
        used = sorted({label.index for label in plan.query.labels.values() if label.axis == axis})
        if not used:  # told apart, and not grouped by: all cells are one outcome
            of_cell.append(np.zeros(len(planned.cells), dtype=np.int64))
            firsts.append(np.zeros(1, dtype=np.int64))
            continue
        rows = zip(*(planned.label_values[i].to_pylist() for i in used), strict=True)
        numbers: dict[str, int] = {}  # by text, for a label may be a list or a struct
        index = np.array([numbers.setdefault(repr(row), len(numbers)) for row in rows], dtype=np.int64)
        of_cell.append(index)
        firsts.append(np.unique(index, return_index=True)[1])
    return Outcomes(tuple(of_cell), tuple(firsts))


def numbered_cells(plan: Plan) -> dict[str, pa.Table]:
    """The relations that number the cells of the key axes, by name."""
    return {f"{CELLS}{place}": plan.axes[axis].cells_table() for place, axis in enumerate(plan.key_axes)}


def _by_inversion(engine: Engine, plan: Plan, outcomes: Outcomes) -> tuple[Scanned, dict[str, Array]]:
    scan = group_scan(plan)
    axes = [plan.axes[axis].channel for axis in plan.key_axes]
    shape = tuple(axis.cells for axis in axes)
    whole = not plan.query.labels and not plan.query.exact_keys
    scanned = Scanned(engine.table(scan.statement, numbered_cells(plan)), shape, int(whole))
    inverted: dict[str, Array] = {}

    def total(branches: Sequence[Branch]) -> Array:
        parts = []
        for branch in branches:
            if any(one is not None for one in branch.maps):
                found = _mapped(scanned.tensor(branch.column), axes, branch.maps)
            elif branch.column in inverted:
                found = inverted[branch.column]
            else:
                found = inverted[branch.column] = invert(scanned.tensor(branch.column), axes)
            parts.append(outcomes.merge(found * branch.cells) * branch.scale)
        return sum(parts, start=np.zeros((scanned.groups, *outcomes.shape)))

    totals = {i: total(branches) for i, branches in scan.branches.items()}
    results = {estimate_name(i): totals[i] for i in plan.query.answered}
    if plan.query.squares and plan.own_axes:
        released = engine.table(whole_scan(plan), numbered_cells(plan))
        own = OwnValueVariance(
            [plan.axes[axis] for axis in plan.key_axes],
            Scanned(released, shape, 1).tensor("ppdm_n0")[0],
            outcomes.of_cell,
        )
        sums = {branch.column: scanned.tensor(branch.column) for found in scan.branches.values() for branch in found}
        products = {pair: scanned.tensor(name) for pair, name in scan.products.items()}
        for (one, other), square in plan.query.squares.items():
            pair = (scan.branches[one], scan.branches[other])
            results[covariance_name(one, other)] = own.covariance(*pair, sums, products, totals[square])
    elif plan.query.squares:
        spread = GroupVariance(scanned, axes, outcomes, scan.products)
        for (one, other), square in plan.query.squares.items():
            observed = spread.of(scan.branches[one], scan.branches[other])
            results[covariance_name(one, other)] = observed - totals[square]
    return scanned, results


def _mapped(observed: Array, axes: Sequence[Axis], maps: Sequence[Array | None]) -> Array:
    """From observed cells to true ones: by the maps, and by inversion along the axes without one."""
    still = [axis if one is None else replace(axis, retain=1.0) for axis, one in zip(axes, maps, strict=True)]
    result = invert(observed, still)
    for place, one in enumerate(maps):
        if one is not None:
            result = np.moveaxis(np.tensordot(result, one, axes=(1 + place, 0)), -1, 1 + place)
    return result


def _by_bayes(engine: Engine, plan: Plan, outcomes: Outcomes) -> tuple[Scanned, dict[str, Array]]:
    used = axes_of_answer(plan)
    others = tuple(axis for axis in used if axis not in plan.key_axes)
    order = (*plan.key_axes, *others)
    axes = [axis.channel for axis in solved_axes(plan, order)]
    scanned = Scanned(engine.table(state_scan(plan, others), numbered_cells(plan)), tuple(axis.cells for axis in axes))
    observed = scanned.tensor("ppdm_n0")
    fit = solve(observed, axes)
    rest = tuple(range(1 + len(plan.key_axes), observed.ndim))
    wanted = targets(plan, order)
    merged = {i: outcomes.merge((fit.x * target).sum(axis=rest)) for i, target in wanted.items()}
    results = {estimate_name(i): values for i, values in merged.items()}
    if plan.query.squares and observed.size:
        if math.prod(outcomes.shape) * math.prod(observed.shape[1:]) > MAX_ENTRIES:
            raise Unsupported(
                "Unsupported: error bars of so many groups by Bayes. Group by a coarser expression, or leave them out."
            )
        results |= _bayes_covariances(plan, outcomes, wanted, (fit, observed, axes))
    elif plan.query.squares:
        empty = np.zeros((0, *outcomes.shape))
        results |= {covariance_name(one, other): empty for one, other in plan.query.squares}
    return scanned, results


def _bayes_covariances(
    plan: Plan, outcomes: Outcomes, wanted: dict[int, Array], fitted: tuple[object, ...]
) -> dict[str, Array]:
    """Variances by replicates of the release; the error of a sum tells the covariance of its parts."""
    fit, observed, axes = fitted
    keys = len(plan.key_axes)
    chosen = np.zeros((int(np.prod(outcomes.shape)), *(len(index) for index in outcomes.of_cell)))
    for number, group in enumerate(np.ndindex(*outcomes.shape)):
        inside = np.ix_(*(outcomes.of_cell[place] == group[place] for place in range(keys)))
        chosen[number][inside] = 1.0
    chosen = chosen.reshape(*chosen.shape, *[1] * (observed.ndim - 1 - keys))  # type: ignore[attr-defined]

    def variance(target: Array) -> Array:
        errors, _ = bayes_errors(fit, observed, axes, chosen * target)  # type: ignore[arg-type]
        return np.reshape(errors**2, (len(errors), *outcomes.shape))

    alone = {i: variance(wanted[i]) for i in sorted({i for pair in plan.query.squares for i in pair})}
    results = {}
    for one, other in plan.query.squares:
        if one == other:
            results[covariance_name(one, other)] = alone[one]
        else:
            both = variance(wanted[one] + wanted[other])
            results[covariance_name(one, other)] = (both - alone[one] - alone[other]) / 2
    return results
