"""What a SELECT reads, as one relation: releases and exact tables, joined and nested, each column under one name.

`from_clause.py` makes it of FROM, `joining.py` puts its sources together. Everything behind it then sees one table with
perturbed and exact columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.domain.types import SqlType
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.query.understand.query import Visible, found_column, own_columns, path_column
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.refuse import misread

ROW = "ppdm_row"
"""The number of a release's row, where its occurrences in a join have to be told from those of other rows."""


@dataclass(frozen=True)
class SchemaLookup:
    """What has to be asked of the connection: which release a table is, the columns of an exact source, and what
    functions pass for plain ones but are not.
    """

    manifest: Callable[[exp.Table], Manifest | None]
    columns: Callable[[exp.Expr], Sequence[tuple[str, SqlType]]]
    aggregates: frozenset[str] = frozenset()

    def is_release(self, table: exp.Table) -> bool:
        """Whether a table is a release."""
        return self.manifest(table) is not None


@dataclass(frozen=True)
class Source:
    """A table or subquery of FROM: `columns` has, by the relation's name of each of its columns, its own.

    `missing` is the outer join that may leave it out of a row, whose values are then NULL.
    """

    name: str
    node: exp.Expr
    columns: Mapping[str, str]
    manifest: Manifest | None = None
    missing: exp.Expr | None = None


@dataclass(frozen=True)
class Relation:
    """`select` gives the rows. `exact` are conditions that hold for them, `hidden` those yet to be met.

    Both, and what is `visible`, are written in the relation's own names.
    """

    select: exp.Select
    columns: tuple[ReleasedColumn, ...]
    visible: tuple[Visible, ...]
    sources: tuple[Source, ...]
    exact: tuple[exp.Expr, ...] = ()
    hidden: tuple[exp.Expr, ...] = ()

    def is_perturbed(self, node: exp.Expr) -> bool:
        """Whether a perturbed column takes part in an expression over the relation's columns."""
        names = {column.name for column in self.columns if column.perturbed is not None}
        return any(column.parts[0].name in names for column in own_columns(node))


def resolved(sql: str, visible: Sequence[Visible], node: exp.Expr) -> exp.Expr:
    """An expression of the analyst in a relation's own names."""
    holder = exp.Paren(this=node.copy())
    for column in list(own_columns(holder)):
        value = found_column(sql, visible, column)
        if value is None:
            misread(sql, column, "no table here has such a column.")
        column.replace(value)
    return holder.this  # type: ignore[no-any-return]


def put_in(node: exp.Expr, values: Mapping[str, exp.Expr]) -> exp.Expr:
    """A copy of an expression with others in the place of columns, by their (unqualified) names."""
    holder = exp.Paren(this=node.copy())
    for column in list(own_columns(holder)):
        value = values.get(column.parts[0].name)
        if value is None:
            continue
        if len(column.parts) == 1:
            column.replace(grouped(value.copy()))
        else:  # a field of a struct: its path gets longer
            assert isinstance(value, exp.Column)
            column.replace(path_column([*value.parts, *column.parts[1:]]))
    return holder.this  # type: ignore[no-any-return]


def named_column(name: str, table: str | None = None) -> exp.Column:
    """A column by its name, quoted."""
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True) if table else None)
