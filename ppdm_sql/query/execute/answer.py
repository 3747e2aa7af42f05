"""The answer of a SELECT on releases: a statement, and the groups that it reads, reconstructed when it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.query.execute.strategies import strategy_of
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.answer import answer_statement, inversion_statement
from ppdm_sql.query.sql.groups import groups_select
from ppdm_sql.query.understand.grouping_sets import SET
from ppdm_sql.query.understand.scan import Scan, covariance_name

MANY_GROUPS = 20_000
"""From here on each further aggregate costs as much as a scan: the groups no longer fit the processor's cache."""

GROUPS = "ppdm_groups"
"""What the names of the relations of reconstructed groups begin with, that the last statement reads."""


@dataclass(frozen=True)
class Groups:
    """The relation of reconstructed groups that a statement reads under a name; several plans are grouping sets."""

    name: str
    engine: Engine
    plans: tuple[Plan, ...]

    def table(self) -> pa.Table:
        """Run what reads the release, and reconstruct."""
        tables = [strategy_of(plan).run(self.engine, plan) for plan in self.plans]
        if len(tables) == 1:
            return tables[0]
        numbered = [table.append_column(SET, pa.array([i] * len(table), pa.int64())) for i, table in enumerate(tables)]
        return _filled(self.plans[0], pa.concat_tables(numbered, promote_options="permissive"))


@dataclass(frozen=True)
class Answer:
    """The statement that gives the answer, and the groups it reads besides the release (None where it reads none)."""

    statement: exp.Select
    groups: Groups | None = None


def answer(engine: Engine, plans: Sequence[Plan], name: str = GROUPS) -> Answer:
    """How plans are answered, by their methods; nothing is run, and what no strategy can do is refused.

    `name` is what the groups will be called, unlike those of any other part of the statement.
    """
    if all(plan.one_statement for plan in plans):
        return Answer(inversion_statement(plans))
    for plan in plans:
        strategy_of(plan).statements(plan)
    return Answer(answer_statement(plans, exp.to_table(name)), Groups(name, engine, tuple(plans)))


def statements(plan: Plan) -> list[exp.Expr]:
    """What will run, for an analyst who wants to see it; of a grouping set, its groups."""
    if plan.one_statement:
        return [groups_select(plan) if plan.query.sets else inversion_statement([plan])]
    if plan.parts:
        return [statement for part in plan.parts for statement in statements(part)]
    return [*strategy_of(plan).statements(plan), answer_statement([plan], exp.to_table(GROUPS))]


def as_one_relation(tree: exp.Expr, groups: Sequence[Groups]) -> None:
    """Let a statement read several relations of groups from one, each a column of structs: see `relation`."""
    if len(groups) < 2:
        return
    queries = []
    for one in groups:
        own = exp.Not(this=exp.Is(this=exp.column(one.name), expression=exp.Null()))
        fields = exp.select(exp.Unnest(expressions=[exp.column(one.name)])).from_(GROUPS).where(own)
        queries.append(exp.CTE(this=fields, alias=exp.TableAlias(this=exp.to_identifier(one.name))))
    clause = tree.args.get("with_") or exp.With()
    clause.set("expressions", [*queries, *clause.expressions])
    tree.set("with_", clause)


def relation(groups: Sequence[Groups]) -> tuple[str, pa.Table]:
    """The one relation that a statement reads besides the release, and its name.

    DuckDB keeps one Arrow table alive for a result that is read later, not several.
    """
    if len(groups) == 1:
        return groups[0].name, groups[0].table()
    parts = [pa.table({one.name: one.table().to_struct_array()}) for one in groups]
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


def _filled(plan: Plan, groups: pa.Table) -> pa.Table:
    """The covariances that a grouping set does not have, because its totals are exact, are zero."""
    for pair in plan.query.squares:
        name = covariance_name(*pair)
        if name in groups.column_names:
            place = groups.column_names.index(name)
            groups = groups.set_column(place, name, pc.fill_null(groups.column(name), 0.0))
    return groups
