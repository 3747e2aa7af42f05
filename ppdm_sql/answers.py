"""Carry out a plan: from observed states to the relation that the analyst's SELECT is evaluated on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from ppdm_sql.distributions import reconstruct_domain_groups
from ppdm_sql.engines.base import Engine
from ppdm_sql.item_supports import item_axis, reconstruct_item_groups
from ppdm_sql.quantiles import add_quantiles
from ppdm_sql.ranges import range_scan, reconstruct_ranges
from ppdm_sql.reconstruct import bayes_errors, solve
from ppdm_sql.rewrite.aggregates import native_name
from ppdm_sql.rewrite.answer import answer_statement, inversion_statement
from ppdm_sql.rewrite.domain_groups import group_scan, state_scan
from ppdm_sql.rewrite.grouping_sets import SET
from ppdm_sql.rewrite.groups import groups_select
from ppdm_sql.rewrite.item_groups import item_statement
from ppdm_sql.rewrite.noisy_ranges import DECONVOLUTION
from ppdm_sql.rewrite.parts import PARTS, added
from ppdm_sql.rewrite.plan import Plan
from ppdm_sql.rewrite.scan import Scan, covariance_name, estimate_name, key_name
from ppdm_sql.rewrite.states import GROUP, Observation, axes_of_answer, group_statement, observe, targets

Array = npt.NDArray[np.float64]
MANY_GROUPS = 20_000
"""From here on each further aggregate costs as much as a scan: the groups no longer fit the processor's cache."""

GROUPS = "ppdm_groups"
"""What the names of the relations of reconstructed groups begin with, that the last statement reads."""


@dataclass(frozen=True)
class Answer:
    """The statement that gives the answer, and the relation it reads besides the release (None for inversion)."""

    statement: exp.Select
    groups: pa.Table | None = None


def answer(engine: Engine, plans: Sequence[Plan], name: str = GROUPS) -> Answer:
    """Reconstruct by the plans' methods; several plans are those of grouping sets.

    `name` is what the groups will be called, unlike those of any other part of the statement.
    """
    if all(plan.one_statement for plan in plans):
        return Answer(inversion_statement(plans))
    if len(plans) == 1:
        groups = _groups(engine, plans[0])
    else:
        tables = [_groups(engine, plan) for plan in plans]
        numbered = [table.append_column(SET, pa.array([i] * len(table), pa.int64())) for i, table in enumerate(tables)]
        groups = _filled(plans[0], pa.concat_tables(numbered, promote_options="permissive"))
    return Answer(answer_statement(plans, exp.to_table(name)), groups)


def _groups(engine: Engine, plan: Plan) -> pa.Table:
    """The groups of a plan, with what the outer SELECT reads of each."""
    items = item_axis(plan)
    if items is not None:
        return reconstruct_item_groups(engine, plan, items)
    if plan.parts:
        tables = [_groups(engine, part) for part in plan.parts]
        below = pa.concat_tables([_decoded(table) for table in tables], promote_options="permissive")
        return engine.table(added(plan, exp.to_table(PARTS), below.column_names), {PARTS: below})
    if plan.method == DECONVOLUTION:
        found = reconstruct_ranges(engine, plan)
        return found.slice(0, 0) if plan.empty else found
    if plan.query.quantiles:
        return add_quantiles(engine, plan, engine.table(groups_select(plan)))
    if plan.key_axes:
        found = reconstruct_domain_groups(engine, plan)
        return found.slice(0, 0) if plan.empty and not plan.query.labels else found
    if plan.method == "inversion":
        return engine.table(groups_select(plan))
    found = reconstruct_groups(engine, plan)
    return found.slice(0, 0) if plan.empty else found


def _decoded(table: pa.Table) -> pa.Table:
    """ENUMs as text: those of two parts may differ."""
    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, table.column_names[place], column.cast(column.type.value_type))
    return table


def _filled(plan: Plan, groups: pa.Table) -> pa.Table:
    """The covariances that a grouping set does not have, because its totals are exact, are zero."""
    for pair in plan.query.squares:
        name = covariance_name(*pair)
        if name in groups.column_names:
            place = groups.column_names.index(name)
            groups = groups.set_column(place, name, pc.fill_null(groups.column(name), 0.0))
    return groups


def together(tree: exp.Expr, groups: Mapping[str, pa.Table]) -> tuple[str, pa.Table] | None:
    """The one relation that a statement reads besides the release, and its name; None where it reads none.

    Several are put into one, each as a column of structs, and `tree` gets a query of WITH for each: DuckDB keeps one
    Arrow table alive for a result that is read later, not several.
    """
    if len(groups) < 2:
        return next(iter(groups.items()), None)
    parts = [pa.table({name: table.to_struct_array()}) for name, table in groups.items()]
    queries = []
    for name in groups:
        own = exp.Not(this=exp.Is(this=exp.column(name), expression=exp.Null()))
        fields = exp.select(exp.Unnest(expressions=[exp.column(name)])).from_(GROUPS).where(own)
        queries.append(exp.CTE(this=fields, alias=exp.TableAlias(this=exp.to_identifier(name))))
    clause = tree.args.get("with_") or exp.With()
    clause.set("expressions", [*queries, *clause.expressions])
    tree.set("with_", clause)
    return GROUPS, pa.concat_tables(parts, promote_options="default")


def sized(engine: Engine, plan: Plan) -> Plan:
    """The plan with what the engine knows of the number of groups; of an expression, of the columns in it."""
    query = plan.query
    if query.piecewise or not query.exact_keys or query.settings.portable or query.manifest.rows <= MANY_GROUPS:
        return plan
    columns = {column: None for i in query.exact_keys for column in query.keys[i].find_all(exp.Column)}
    keys = tuple(columns) or (exp.true(),)
    groups = Scan(replace(query, keys=keys, labels={}, absent=frozenset())).select()
    return replace(plan, many_groups=engine.estimated_rows(groups) > MANY_GROUPS)


def statements(plan: Plan) -> list[exp.Expr]:
    """What will run on the perturbed table, for an analyst who wants to see it; of a grouping set, its groups."""
    if plan.query.sets and plan.one_statement:
        return [groups_select(plan)]
    items = item_axis(plan)
    if items is not None:
        return [item_statement(plan, items), answer_statement([plan], exp.to_table(GROUPS))]
    if plan.parts and not plan.one_statement:
        return [statement for part in plan.parts for statement in statements(part)]
    if plan.method == DECONVOLUTION:
        return [range_scan(plan), answer_statement([plan], exp.to_table(GROUPS))]
    if plan.key_axes:
        others = tuple(axis for axis in axes_of_answer(plan) if axis not in plan.key_axes)
        scan = state_scan(plan, others) if plan.method == "bayes" else group_scan(plan).statement
        return [scan, answer_statement([plan], exp.to_table(GROUPS))]
    if plan.query.quantiles:
        return [groups_select(plan), answer_statement([plan], exp.to_table(GROUPS))]
    if plan.method == "inversion":
        return [inversion_statement([plan])]
    return [observe(plan).statement, answer_statement([plan], exp.to_table(GROUPS))]


def reconstruct_groups(engine: Engine, plan: Plan) -> pa.Table:
    """Every group with its Bayes estimates and their covariances."""
    found = engine.table(group_statement(plan))
    columns = {key_name(i): found.column(key_name(i)) for i in plan.query.exact_keys}
    for i, node in enumerate(plan.query.natives):
        columns[native_name(i)] = found.column(len(plan.query.exact_keys) + plan.query.natives.index(node))
    columns |= {name: pa.array(values) for name, values in _bayes(engine, plan, found.num_rows).items()}
    columns[GROUP] = pa.array(range(found.num_rows), pa.int64())  # a group may have nothing else
    return pa.table(columns)


def _bayes(engine: Engine, plan: Plan, groups: int) -> dict[str, Array]:
    observation = observe(plan)
    observed = _observed(engine, observation, groups)
    axes = [axis.axis for axis in observation.axes]
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
