"""The partitioned plan: totals of rows that fall into parts, each perturbed in a way of its own.

Parts share no rows and no coins, so the totals of the whole are the sums of the parts' totals, and so are their
covariances. Each part is planned and reconstructed by itself, by inversion or by Bayes; the keys, totals and
covariances of all are put below each other and added up by the keys, before the analyst's SELECT sees them. A group
that only some parts have appears.

Two uses: the members of a UNION ALL, each read from a table of its own; and a mechanism that perturbs rows in
different ways, told apart by an exact column of one table. Both go in by `partitioned`:

    query = replace(query, piecewise=True)         # before its aggregates are collected
    query = run(AGGREGATE, query)
    parts = [Part(query.table, {"age": weak}, 1000, (parse("level = 1"),)),
             Part(query.table, {"age": strong}, 500, (parse("level = 2"),))]
    plan = partitioned(query, parts, engine)

A perturbed column of the query that a part does not perturb is exact there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.plan import Plan, make_plan
from ppdm_sql.query.understand.aggregates import native_name
from ppdm_sql.query.understand.pieces import put_together
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import conjunction, covariance_name, estimate_name, key_name, named
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.refuse import refuse

PARTS = "ppdm_parts"
"""The name of the relation that has the parts' groups below each other."""


@dataclass(frozen=True)
class Part:
    """Rows with coins of their own.

    `table` is what they are read from, under the query's names, `columns` has how the perturbed ones among them are
    perturbed, by name, `exact` conditions that tell these rows from others of the table.
    """

    table: exp.Expr
    columns: Mapping[str, PerturbedColumn]
    rows: int
    exact: tuple[exp.Expr, ...] = ()


def partitioned(
    query: Query, parts: Sequence[Part], engine: Measuring, prepare: Callable[[int, Query], Query] | None = None
) -> Plan:
    """The plan of a query on parts; `prepare` may change the query of a part, by its number, before it is planned."""
    queries = [in_part(query, part) for part in parts]
    if prepare is not None:
        queries = [prepare(number, one) for number, one in enumerate(queries)]
    plans = [make_plan(one, engine) for one in queries]
    method = "bayes" if all(plan.method == "bayes" for plan in plans) else "inversion"
    plans = [replace(plan, method=method) for plan in plans]
    return replace(plans[0], query=query, parts=tuple(plans))


def in_part(query: Query, part: Part) -> Query:
    """The query on one part."""
    exact = (*query.exact, *part.exact)
    axes = []
    for axis in query.axes:
        ranges = [column.name for column in axis.columns if column.ranges_only]
        if ranges:
            why = f"{ranges[0]} has Gaussian noise, and ranges of it are not reconstructed part by part."
            refuse(query.sql, (*axis.terms, *axis.labels)[0], why, "Ask for the parts one by one.")
        if len(axis.columns) > 1 and any(column.name not in part.columns for column in axis.columns):
            refuse(
                query.sql,
                (axis.terms or axis.values)[0],
                "it spans two columns, of which a part of the rows has one exact and one perturbed, or both exact.",
                "Ask for the parts one by one, and add the answers up.",
            )
        axes.append(replace(axis, columns=tuple(_column(column, part, exact) for column in axis.columns)))
    manifest = replace(query.manifest, rows=part.rows)
    return replace(query, table=part.table, manifest=manifest, axes=tuple(axes), exact=exact)


def _column(column: PerturbedColumn, part: Part, exact: Sequence[exp.Expr]) -> PerturbedColumn:
    """A column as the part perturbs it; where it does not, its values are looked up."""
    if column.name in part.columns:
        return part.columns[column.name]
    name = exp.column(exp.to_identifier(column.name, quoted=True))
    values = exp.Select(expressions=[name], from_=exp.From(this=part.table.copy()), distinct=exp.Distinct())
    if exact:
        values.set("where", exp.Where(this=conjunction([grouped(condition.copy()) for condition in exact])))
    return column.exact_in(values.sql(dialect=ANALYST))


def added(plan: Plan, relation: exp.Expr, columns: Sequence[str]) -> exp.Select:
    """Totals, covariances and exact aggregates of the whole, from those of the parts; `columns` are what there is."""
    query = plan.query
    keys = [exp.column(key_name(i)) for i in range(len(query.keys)) if key_name(i) in columns]
    items: list[exp.Expr] = [key.copy() for key in keys]
    for i, node in enumerate(query.natives):
        if native_name(i) in columns:
            items.append(named(put_together(node, exp.column(native_name(i))), native_name(i)))
    sums = [estimate_name(i) for i in sorted(query.answered)] + [covariance_name(*pair) for pair in query.squares]
    items += [named(exp.Sum(this=exp.column(name)), name) for name in sums if name in columns]
    statement = exp.Select(expressions=items, from_=exp.From(this=relation))
    if keys:
        statement.set("group", exp.Group(expressions=keys))
    return statement
