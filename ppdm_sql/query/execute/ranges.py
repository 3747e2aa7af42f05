"""Counts of ranges of a column with Gaussian noise, by deconvolution over bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.formula import target_tensor
from ppdm_sql.query.plan.noisy_counting import NoisyCounting
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.plan.range_widths import check_widths, outcomes_of
from ppdm_sql.query.sql.domain_groups import possible_cells
from ppdm_sql.query.sql.states import GROUP, ROWS, axes_of_answer, group_statement, rank
from ppdm_sql.query.understand.aggregates import native_name
from ppdm_sql.query.understand.noisy_ranges import DECONVOLUTION
from ppdm_sql.query.understand.scan import (
    Scan,
    cell_name,
    count_rows,
    covariance_name,
    estimate_name,
    inner,
    key_name,
    named,
    number,
)
from ppdm_sql.reconstruct.deconvolution import Smooth, deconvolution_errors, deconvolve

Array = npt.NDArray[np.float64]

MAX_CHANCES = 2**24
"""Intervals times bins, whose chances are all in memory."""

MAX_FITS = 2_000
"""Groups, times the exact conditions that are told apart, beyond which deconvolution would take too long."""

MAX_FITS_WITH_ERRORS = 200


def range_scan(plan: Plan) -> exp.Select:
    """The statement that counts noisy numbers by interval, in every group and exact cell."""
    counting = _counting(plan)
    column = exp.column(exp.to_identifier(counting.name, quoted=True))
    offset = exp.Paren(this=exp.Sub(this=column, expression=number(counting.origin)))
    interval = exp.cast(exp.Floor(this=exp.Div(this=offset, expression=number(counting.width))), "BIGINT")
    cells = (*(plan.axes[i].cell_number() for i in _exact_axes(plan)), interval)
    scan = Scan(plan.query)
    scan.add(count_rows())
    keys = [exp.column(key_name(i)) for i in plan.query.exact_keys]
    columns = [named(rank(keys), GROUP), *(exp.column(cell_name(i)) for i in range(len(cells)))]
    return exp.Select(
        expressions=[*columns, named(exp.column("ppdm_n0"), ROWS)],
        from_=exp.From(this=inner(scan.select(cells), "ppdm_scan")),
    )


class Ranges:
    """Deconvolution, of each group and exact state by itself."""

    def applies(self, plan: Plan) -> bool:
        """Where there are conditions on a column with noise, or groups of one."""
        return plan.method == DECONVOLUTION

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The count of noisy numbers, where no range is too narrow."""
        check_widths(plan)
        _check_fineness(_counting(plan))
        return [range_scan(plan)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Every group with its counts and their covariances."""
        found = _reconstructed(engine, plan)
        return found.slice(0, 0) if plan.empty else found


def _reconstructed(engine: Engine, plan: Plan) -> pa.Table:
    axis = plan.noisy_axis
    assert axis is not None
    check_widths(plan)
    counting = _counting(plan)
    _check_fineness(counting)
    groups = engine.table(group_statement(plan))
    exact = _exact_axes(plan)
    states = math.prod(len(plan.axes[i].cells) for i in exact)
    _check_size(plan, groups.num_rows * states)
    seen, nulls = _observed(engine.table(range_scan(plan)), plan, counting, groups.num_rows)
    outcomes = _outcomes(plan, plan.axes[axis])
    asked = sorted(plan.query.answered)
    wanted = {i: _targets(plan, i, (*exact, axis)).reshape(states, 1, -1) * outcomes.inside for i in asked}
    matrix = counting.matrix
    fit = deconvolve(seen.reshape(-1, counting.intervals), matrix)
    x = fit.x.reshape(groups.num_rows, states, len(matrix))
    of_bin = counting.cell
    null = [i for i, cell in enumerate(plan.axes[axis].cells) if cell.fixed]
    results = {}
    for i, target in wanted.items():
        if plan.certain(plan.totals[i]):
            rows = seen.sum(axis=2) + nulls
            results[estimate_name(i)] = np.einsum("gs,so->go", rows, target[:, :, 0])
        else:
            found = np.einsum("gsb,sob->go", x, target[:, :, of_bin])
            results[estimate_name(i)] = found + np.einsum("gs,so->go", nulls, target[:, :, null].sum(axis=2))
    if plan.query.squares:
        results |= _covariances(plan, fit, matrix, counting, {i: t[:, :, of_bin] for i, t in wanted.items()}, x.shape)
    return _table(plan, groups, outcomes, results)


def _counting(plan: Plan) -> NoisyCounting:
    axis = plan.noisy_axis
    assert axis is not None
    return plan.axes[axis].counting()


def _check_fineness(counting: NoisyCounting) -> None:
    """Refuse what would fill memory: noise that is very small beside how far the column's numbers reach."""
    bins = len(counting.bins.edges) - 1
    if counting.intervals * bins > MAX_CHANCES:
        raise Unsupported(
            f"Unsupported: ranges of {counting.name}, whose noise is so small beside how far its numbers reach "
            f"that they would be counted in {counting.intervals:,} intervals, for {bins:,} bins; at most "
            f"{MAX_CHANCES:,} of both together are looked at. Ask for sums and averages of it."
        )


def _exact_axes(plan: Plan) -> tuple[int, ...]:
    return tuple(i for i in axes_of_answer(plan) if i != plan.noisy_axis)


def _check_size(plan: Plan, fits: int) -> None:
    most = MAX_FITS_WITH_ERRORS if plan.query.squares else MAX_FITS
    if fits > most:
        errors = " with error bars" if plan.query.squares else ""
        raise Unsupported(
            f"Unsupported: ranges of a column with Gaussian noise in {fits:,} groups; at most {most:,} are "
            f"reconstructed{errors}. Group by fewer values, or ask for some of them."
        )


def _observed(table: pa.Table, plan: Plan, counting: NoisyCounting, groups: int) -> tuple[Array, Array]:
    """Rows by group, exact state and interval; and those that are NULL, by group and state."""
    exact = _exact_axes(plan)
    shape = tuple(len(plan.axes[i].cells) for i in exact)
    columns = [table.column(name).to_numpy() for name in (GROUP, *(cell_name(i) for i in range(len(exact))))]
    places = [column.astype(np.int64) for column in columns]
    state = np.ravel_multi_index(tuple(places[1:]), shape) if exact else np.zeros(len(table), dtype=np.int64)
    interval = np.asarray(table.column(cell_name(len(exact))).to_numpy(), dtype=float)
    rows = table.column(ROWS).to_numpy().astype(float)
    known = ~np.isnan(interval)
    seen, nulls = np.zeros((groups, math.prod(shape), counting.intervals)), np.zeros((groups, math.prod(shape)))
    inside = np.clip(interval[known].astype(np.int64), 0, counting.intervals - 1)
    np.add.at(seen, (places[0][known], state[known], inside), rows[known])
    np.add.at(nulls, (places[0][~known], state[~known]), rows[~known])
    return seen, nulls


@dataclass(frozen=True)
class _Outcomes:
    """The groups that labels of the column make of its cells: one cell of each, and which cells each holds."""

    cells: npt.NDArray[np.int64]
    inside: Array


def _outcomes(plan: Plan, axis: PlannedAxis) -> _Outcomes:
    if not plan.query.labels:
        return _Outcomes(np.zeros(1, dtype=np.int64), np.ones((1, 1, len(axis.cells))))
    told = outcomes_of(plan, axis)
    possible = possible_cells(plan)
    shown = list(dict.fromkeys(text for text, may in zip(told, possible, strict=True) if may))
    inside = np.array([[float(text == one) for text in told] for one in shown]).reshape(1, len(shown), len(told))
    return _Outcomes(np.array([told.index(text) for text in shown], dtype=np.int64), inside)


def _targets(plan: Plan, total: int, order: Sequence[int]) -> Array:
    formula = plan.totals[total].counted
    assert formula is not None
    return target_tensor(formula, order, plan.cell_counts).astype(float)


def _covariances(
    plan: Plan, fit: Smooth, matrix: Array, counting: NoisyCounting, wanted: dict[int, Array], shape: tuple[int, ...]
) -> dict[str, Array]:
    """Of every pair of totals in each group; exact states are independent of each other, so that theirs add up."""
    numbers = sorted({i for pair in plan.query.squares for i in pair})
    outcomes = next(iter(wanted.values())).shape[1]
    total = {pair: np.zeros((shape[0], outcomes)) for pair in itertools.combinations_with_replacement(numbers, 2)}
    for state in range(shape[1]):
        targets = np.concatenate([wanted[i][state] for i in numbers])
        part = Smooth(fit.x.reshape(shape)[:, state], fit.early.reshape(shape)[:, state])
        found = deconvolution_errors(part, matrix, targets, counting.bins.edges, counting.deviation)
        for one, other in total:
            rows, columns = (numbers.index(i) * outcomes + np.arange(outcomes) for i in (one, other))
            total[one, other] += found[:, rows, columns]
    return {covariance_name(*pair): total[pair] for pair in plan.query.squares}


def _table(plan: Plan, groups: pa.Table, outcomes: _Outcomes, results: dict[str, Array]) -> pa.Table:
    count = len(outcomes.cells)
    of_group = pa.array(np.repeat(np.arange(groups.num_rows), count))
    of_cell = pa.array(np.tile(outcomes.cells, groups.num_rows))
    axis = plan.axes[plan.noisy_axis or 0]
    columns = {}
    for i in plan.query.present_keys:
        label = plan.query.labels.get(i)
        exact = label is None
        source = groups.column(key_name(i)) if label is None else axis.label_values[label.index]
        columns[key_name(i)] = source.take(of_group if exact else of_cell)
    for i in range(len(plan.query.natives)):
        columns[native_name(i)] = groups.column(len(plan.query.exact_keys) + i).take(of_group)
    columns |= {name: pa.array(values.reshape(-1)) for name, values in results.items()}
    columns[GROUP] = pa.array(range(groups.num_rows * count), pa.int64())  # a group may have nothing else
    return pa.table(columns)
