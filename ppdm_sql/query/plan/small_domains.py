"""Queries on columns that are perturbed in parts of the table: each part is reconstructed by itself, then added up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.query.plan.measuring import Measuring
from ppdm_sql.query.plan.parts import Part, partitioned
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.understand.query import Query
from ppdm_sql.syntax.refuse import refuse

MAX_PARTS = 256
"""Several such columns in one query have as many parts as the product of theirs."""


def in_parts(manifest: Manifest) -> tuple[Manifest, tuple[PerturbedColumn, ...]]:
    """The manifest with a stand-in for each column of small domains, and these columns.

    A query is understood with the stand-in, whose domain is the whole; `plan_parts` puts the parts in its place.
    """
    small = tuple(column for column in manifest.perturbed if column.parted_by is not None)
    if not small:
        return manifest, ()
    return replace(manifest, columns=tuple(_stand_in(column) for column in manifest.columns)), small


def _stand_in(column: ReleasedColumn) -> ReleasedColumn:
    return column if column.perturbed is None else replace(column, perturbed=column.perturbed.whole)


def parted(query: Query, small: Sequence[PerturbedColumn]) -> tuple[Query, tuple[PerturbedColumn, ...]]:
    """The query ready for its parts, and the columns of small domains that take part in it."""
    names = {column.name for column in query.perturbed_in(query.tree)}
    names |= {column.name for key in query.keys for column in query.perturbed_in(key)}
    used = tuple(column for column in small if column.name in names)
    if not used:
        return query, ()
    parts = math.prod(len(column.in_each_part) for column in used)
    if parts > MAX_PARTS:
        said = " and ".join(column.name for column in used)
        refuse(
            query.sql,
            query.tree,
            f"{said} are perturbed in parts of the table, {parts} in all, and at most {MAX_PARTS} are added up.",
            "Ask for fewer of these columns at a time.",
        )
    return replace(query, piecewise=True), used


def plan_parts(used: Sequence[PerturbedColumn], query: Query, engine: Measuring) -> Plan:
    """The plan of a query whose aggregates are collected, part by part."""
    others = {column.name: column for column in query.manifest.perturbed}
    parts = []
    for numbers in itertools.product(*(range(len(column.in_each_part)) for column in used)):
        chosen = list(zip(used, numbers, strict=True))
        own = {column.name: column.in_each_part[number] for column, number in chosen}
        tests = tuple(_in_part(column, number) for column, number in chosen)
        parts.append(Part(query.table, {**others, **own}, query.manifest.rows, tests))
    return partitioned(query, parts, engine)


def _in_part(column: PerturbedColumn, number: int) -> exp.Expr:
    name = exp.column(exp.to_identifier(str(column.parted_by), quoted=True))
    return exp.EQ(this=name, expression=exp.Literal.number(number))
