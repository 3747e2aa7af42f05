"""Counts by iterative Bayes, from the counted states of each group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.states import GROUP, Observation, axes_of_answer, group_statement, observe, targets
from ppdm_sql.query.understand.aggregates import native_name
from ppdm_sql.query.understand.scan import covariance_name, estimate_name, key_name
from ppdm_sql.reconstruct import bayes_errors, solve

Array = npt.NDArray[np.float64]


class BayesGroups:
    """Groups of exact keys, or all rows."""

    def applies(self, plan: Plan) -> bool:
        """Where nothing before applies."""
        return plan.method == "bayes"

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The count of the states."""
        return [observe(plan).statement]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Every group with its estimates and their covariances."""
        found = engine.table(group_statement(plan))
        columns = {key_name(i): found.column(key_name(i)) for i in plan.query.exact_keys}
        for i, node in enumerate(plan.query.natives):
            columns[native_name(i)] = found.column(len(plan.query.exact_keys) + plan.query.natives.index(node))
        columns |= {name: pa.array(values) for name, values in _estimates(engine, plan, found.num_rows).items()}
        columns[GROUP] = pa.array(range(found.num_rows), pa.int64())  # a group may have nothing else
        groups = pa.table(columns)
        return groups.slice(0, 0) if plan.empty else groups


def _estimates(engine: Engine, plan: Plan, groups: int) -> dict[str, Array]:
    observation = observe(plan)
    observed = _observed(engine, observation, groups)
    axes = [axis.channel for axis in observation.axes]
    wanted = targets(plan, axes_of_answer(plan))
    if not axes:
        return {estimate_name(i): observed.reshape(groups) * float(target) for i, target in wanted.items()}
    fit = solve(observed, axes)
    flat = tuple(range(1, observed.ndim))
    results = {estimate_name(i): (fit.x * target).sum(axis=flat) for i, target in wanted.items()}
    pairs = list(plan.query.squares)
    if pairs:
        single = {pair[0] for pair in pairs} | {pair[1] for pair in pairs}
        asked = [wanted[i] for i in sorted(single)] + [wanted[i] + wanted[j] for i, j in pairs if i != j]
        errors, _ = bayes_errors(fit, observed, axes, np.stack(asked))
        variances = iter(np.moveaxis(errors**2, -1, 0))
        alone = {i: next(variances) for i in sorted(single)}
        for i, j in pairs:
            # The error of a sum tells the covariance of its parts.
            both = alone[i] if i == j else (next(variances) - alone[i] - alone[j]) / 2
            results[covariance_name(i, j)] = both
    return results


def _observed(engine: Engine, observation: Observation, groups: int) -> Array:
    table = engine.table(observation.statement)
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names if "_k" not in name}
    return observation.tensor(columns, groups)
