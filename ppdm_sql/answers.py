"""Carry out a plan: from observed states to the relation that the analyst's SELECT is evaluated on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engines.base import Engine
from ppdm_sql.reconstruct import bayes_errors, solve
from ppdm_sql.rewrite.answer import answer_statement, inversion_statement, needs_error
from ppdm_sql.rewrite.formula import Formula
from ppdm_sql.rewrite.plan import Plan
from ppdm_sql.rewrite.scan import error_name, estimate_name, key_name
from ppdm_sql.rewrite.states import Observation, group_statement, observe

Array = npt.NDArray[np.float64]
GROUPS = "ppdm_groups"
"""The name under which the reconstructed groups are read by the last statement."""


@dataclass(frozen=True)
class Answer:
    """The statement that gives the answer, and the relation it reads besides the release (None for inversion)."""

    statement: exp.Select
    groups: pa.Table | None = None


def answer(engine: Engine, plan: Plan) -> Answer:
    """Reconstruct by the plan's method."""
    if plan.method == "inversion":
        return Answer(inversion_statement(plan))
    groups = reconstruct_groups(engine, plan)
    return Answer(answer_statement(plan, exp.to_table(GROUPS)), groups)


def statements(plan: Plan) -> list[exp.Expr]:
    """What will run on the perturbed table, for an analyst who wants to see it."""
    if plan.method == "inversion":
        return [inversion_statement(plan)]
    observed: list[exp.Expr] = [observe(plan, formula).statement for formula in plan.formulas if formula is not None]
    return [*observed, answer_statement(plan, exp.to_table(GROUPS))]


def reconstruct_groups(engine: Engine, plan: Plan) -> pa.Table:
    """Every group with its Bayes estimates and their standard errors."""
    found = engine.table(group_statement(plan))
    names = [key_name(i) for i in range(len(plan.query.keys))]
    columns = {name: found.column(name) for name in names}
    exact = iter(name for name in found.column_names if name not in names)
    for i, formula in enumerate(plan.formulas):
        if formula is None:
            columns[estimate_name(i)] = found.column(next(exact))
            continue
        estimate, error = _bayes(engine, plan, formula, found.num_rows, needs_error(plan, i))
        columns[estimate_name(i)] = pa.array(estimate)
        if error is not None:
            columns[error_name(i)] = pa.array(error)
    return pa.table(columns)


def _bayes(engine: Engine, plan: Plan, formula: Formula, groups: int, with_error: bool) -> tuple[Array, Array | None]:
    observation = observe(plan, formula)
    observed = _observed(engine, observation, groups)
    axes = [axis.axis for axis in observation.axes]
    flat = tuple(range(1, observed.ndim))
    if not axes:
        estimate = observed.reshape(groups) * float(observation.target)
        return estimate, np.zeros(groups)
    fit = solve(observed, axes)
    estimate = (fit.x * observation.target).sum(axis=flat)
    if not with_error:
        return estimate, None
    error, _ = bayes_errors(fit, observed, axes, observation.target[np.newaxis])
    return estimate, error[..., 0]


def _observed(engine: Engine, observation: Observation, groups: int) -> Array:
    table = engine.table(observation.statement)
    columns = {name: table.column(name).to_numpy().astype(np.int64) for name in table.column_names if "_k" not in name}
    return observation.tensor(columns, groups)
