"""Relations put below each other by UNION ALL: the names, types and perturbation of the columns that they make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.domain.types import INTEGERS, SqlType
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.policy.manifest import ReleasedColumn
from ppdm_sql.query.understand.query import Visible
from ppdm_sql.query.understand.relation import Relation, named_column
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.refuse import refuse


@dataclass(frozen=True)
class Member:
    """One of the relations: what each column of the union is there, and how the perturbed ones are perturbed."""

    relation: Relation
    values: Mapping[str, exp.Expr]
    perturbed: Mapping[str, PerturbedColumn]


@dataclass(frozen=True)
class United:
    """The columns of the union, and by which names they may be called; a column perturbed anywhere is perturbed."""

    columns: tuple[ReleasedColumn, ...]
    visible: tuple[Visible, ...]
    members: tuple[Member, ...]


def unite(sql: str, select: exp.Expr, relations: Sequence[Relation]) -> United:
    """The union of relations whose visible columns correspond by position; of one relation, itself."""
    first = relations[0]
    if len(relations) == 1:
        own = {column.name: named_column(column.name) for column in first.columns}
        bound_there = {column.name: column.perturbed for column in first.columns if column.perturbed is not None}
        return United(first.columns, first.visible, (Member(first, own, bound_there),))
    for relation in relations:
        for condition in relation.hidden:
            why = "a condition on a perturbed column inside a member of UNION ALL is not supported."
            refuse(sql, condition, why, "Put it into the WHERE around the union.")
    columns: list[ReleasedColumn] = []
    visible: list[Visible] = []
    values: list[dict[str, exp.Expr]] = [{} for _ in relations]
    perturbed: list[dict[str, PerturbedColumn]] = [{} for _ in relations]
    for place, one in enumerate(first.visible):
        name = _unlike(one.name, [column.name for column in columns])
        meant = [(relation, relation.visible[place].value) for relation in relations]
        bound = [_perturbed(sql, one, *part) for part in meant]
        kinds = [_type(*part) for part in meant]
        kind = kinds[0] or SqlType("", "other")
        if any(bound):
            kind = _common(sql, select, one, kinds)
        for number, (_, value) in enumerate(meant):
            here, column = kinds[number], bound[number]
            cast = any(bound) and (here is None or here.name != kind.name)
            to = exp.DataType.build(kind.name, dialect=ANALYST) if cast else None
            values[number][name] = value if to is None else exp.Cast(this=value.copy(), to=to)
            if column is not None:
                perturbed[number][name] = replace(column, name=name, type=kind)
        found = [part[name] for part in perturbed if name in part]
        columns.append(ReleasedColumn(name, kind, found[0] if found else None))
        visible.append(replace(one, value=named_column(name)))
    members = (Member(*parts) for parts in zip(relations, values, perturbed, strict=True))
    return United(tuple(columns), tuple(visible), tuple(members))


def _unlike(name: str, others: Sequence[str]) -> str:
    taken = {other.casefold() for other in others}
    number, found = 1, name
    while found.casefold() in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _perturbed(sql: str, visible: Visible, relation: Relation, value: exp.Expr) -> PerturbedColumn | None:
    """How a member perturbs a column of the union; it must be a column of its own then, not computed."""
    if not relation.is_perturbed(value):
        return None
    if not isinstance(value, exp.Column):
        why = f"{visible.name} is computed from a perturbed column inside a member of UNION ALL."
        refuse(sql, value, why, "Select the column itself, and compute around the union.")
    return next(column.perturbed for column in relation.columns if column.name == value.parts[0].name)


def _type(relation: Relation, value: exp.Expr) -> SqlType | None:
    if not isinstance(value, exp.Column) or len(value.parts) > 1:
        return None
    return next(column.type for column in relation.columns if column.name == value.name)


def _common(sql: str, select: exp.Expr, visible: Visible, kinds: Sequence[SqlType | None]) -> SqlType:
    """The type that a perturbed column has in the union: that of all members, or one that holds all whole numbers."""
    known = {kind.name.upper(): kind for kind in kinds if kind is not None}
    if len(known) == 1 and None not in kinds:
        return next(iter(known.values()))
    if all(kind.family == "integer" for kind in known.values()):
        ranges = [INTEGERS[name] for name in known]
        for name, (low, high) in INTEGERS.items():
            if all(low <= least and most <= high for least, most in ranges):
                return SqlType(name, "integer")
    if {kind.family for kind in known.values()} <= {"text", "enum"}:
        return SqlType("VARCHAR", "text")
    names = " and ".join(known)
    why = f"{visible.name} is perturbed, and its members have different types ({names})."
    refuse(sql, select, why, "Publish them with one type.")
