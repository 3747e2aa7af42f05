"""What the passes hand on to each other: a query on one release, understood step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.query.understand.noise import Powers
from ppdm_sql.query.understand.settings import Settings
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare, settled
from ppdm_sql.syntax.refuse import misread

TOTAL = "ppdm_e"
"""What the name of a total begins with, in an expression over totals."""

ALIAS = "ppdm_alias"
"""Marks a name that means an item of the SELECT list by its alias."""


@dataclass(frozen=True)
class Test:
    """A leaf before cells are known: the axis's term has this truth value, or (`otherwise`) has not."""

    axis: int
    term: int
    truth: bool
    otherwise: bool = False


@dataclass(frozen=True)
class Junction:
    """AND (`every`) or OR of its parts."""

    every: bool
    parts: tuple[Condition, ...] = ()


Condition: TypeAlias = Test | Junction


@dataclass(frozen=True)
class QueryAxis:
    """One perturbed column with what a query asks of it, or one exact predicate, which has no `columns`.

    `terms` are conditions, `values` numbers: the expressions of this column alone that are summed; `labels` are those
    that rows are grouped by. Where an expression spans two columns they have one axis together. Of a column that holds
    items, each term asks for one item.
    """

    columns: tuple[PerturbedColumn, ...]
    terms: tuple[exp.Expr, ...]
    values: tuple[exp.Expr, ...] = ()
    labels: tuple[exp.Expr, ...] = ()


@dataclass(frozen=True)
class Value:
    """A number that a row adds, or a factor of it: one of an axis's values."""

    axis: int
    index: int


@dataclass(frozen=True)
class Label:
    """A grouping expression of one perturbed column: one of an axis's labels."""

    axis: int
    index: int


@dataclass(frozen=True)
class Product:
    """Part of a total: over the rows that meet the condition, values of perturbed columns times an exact factor.

    `powers` is a product of columns with Gaussian noise, one more factor.
    """

    condition: Condition
    values: tuple[Value, ...] = ()
    factor: exp.Expr | None = None
    powers: Powers = ()

    @property
    def is_one(self) -> bool:
        """Whether each row adds one."""
        return not self.values and self.factor is None and not self.powers


@dataclass(frozen=True)
class Total:
    """A sum over rows, the one thing that is reconstructed; a count where its products have no values."""

    products: tuple[Product, ...]
    of_occurrences: bool = False

    @property
    def is_count(self) -> bool:
        """Whether every row adds one or nothing, or (`of_occurrences`) how often it occurs."""
        return self.of_occurrences or (len(self.products) == 1 and self.products[0].is_one)


@dataclass(frozen=True)
class Visible:
    """A name by which the analyst may call a value: `value` is written in the names of the query's table.

    Without its qualifier it is only meant where it is `bare`: of two columns that USING joins, one is not.
    """

    qualifier: str
    name: str
    value: exp.Expr
    bare: bool = True


@dataclass(frozen=True)
class Query:
    """A SELECT on one release, or on the relation that several sources make.

    `tree` is our own copy. `keys` are the grouping expressions, `exact` the WHERE conditions that no perturbed
    column takes part in, `hidden` those that one does. The later passes fill the rest: `aggregates` maps the text of
    each aggregate to an expression over totals and `natives`, aggregates that are exact as they stand; `squares` says
    which total is the sum of the products of two others, for their covariance. `quantiles` are found later, from
    distributions. `labels` has the keys, by number, that are of perturbed columns, and `condition` is WHERE as far as
    it is hidden. `sets` has the keys of each grouping set, where there are several; the query of one set has the
    others `absent`. `present` is the total that counts a group's rows, where it is certain: a group without any is
    none.

    Of a relation, `visible` has the names of its columns, and `given` the conditions on perturbed columns that its
    subqueries make. `grouping` is what the scan groups by where that is not the keys as they stand. With `piecewise`,
    totals are put together from pieces, and so must be the aggregates that are exact.
    """

    sql: str
    tree: exp.Select
    table: exp.Expr
    manifest: Manifest
    settings: Settings = field(default_factory=Settings)
    aggregate_names: frozenset[str] = frozenset()
    keys: tuple[exp.Expr, ...] = ()
    sets: tuple[frozenset[int], ...] = ()
    absent: frozenset[int] = frozenset()
    exact: tuple[exp.Expr, ...] = ()
    hidden: tuple[exp.Expr, ...] = ()
    axes: tuple[QueryAxis, ...] = ()
    totals: tuple[Total, ...] = ()
    natives: tuple[exp.Expr, ...] = ()
    quantiles: tuple[Any, ...] = ()
    aggregates: Mapping[str, exp.Expr] = field(default_factory=dict)
    squares: Mapping[tuple[int, int], int] = field(default_factory=dict)
    labels: Mapping[int, Label] = field(default_factory=dict)
    condition: Condition = field(default_factory=lambda: Junction(True))
    present: int | None = None
    visible: tuple[Visible, ...] = ()
    given: tuple[exp.Expr, ...] = ()
    grouping: tuple[exp.Expr, ...] = ()
    piecewise: bool = False

    @cached_property
    def names(self) -> tuple[Visible, ...]:
        """The names by which columns may be called."""
        if self.visible:
            return self.visible
        columns = ((c.name, exp.Column(this=exp.to_identifier(c.name, quoted=True))) for c in self.manifest.columns)
        return tuple(Visible(self.table.alias_or_name, name, value) for name, value in columns)

    @property
    def exact_keys(self) -> tuple[int, ...]:
        """The numbers of the keys that no perturbed column takes part in."""
        return tuple(i for i in self.present_keys if i not in self.labels)

    @property
    def present_keys(self) -> tuple[int, ...]:
        """The numbers of the keys that rows are grouped by."""
        return tuple(i for i in range(len(self.keys)) if i not in self.absent)

    @property
    def answered(self) -> set[int]:
        """The totals that the answer itself needs; the others are needed for errors only."""
        present = set() if self.present is None else {self.present}
        return present | {i for value in self.aggregates.values() for i in totals_in(value)}

    def column(self, name: str) -> ReleasedColumn | None:
        """The released column of that name; names do not depend on case."""
        for column in self.manifest.columns:
            if column.name.casefold() == name.casefold():
                return column
        return None

    def noise_covariance(self, one: str, other: str) -> float:
        """The covariance of the Gaussian noise of two columns."""
        first, second = (next(c for c in self.manifest.perturbed if c.name == name) for name in (one, other))
        return first.noise_with(second)

    def perturbed_in(self, node: exp.Expr) -> list[PerturbedColumn]:
        """The distinct perturbed columns below `node`."""
        found: dict[str, PerturbedColumn] = {}
        for column in own_columns(node):
            released = None if column.meta.get(ALIAS) else self.column(root_name(column))
            if released is not None and released.perturbed is not None:
                found[released.name] = released.perturbed
        return list(found.values())


def find_visible(sql: str, visible: Sequence[Visible], column: exp.Column) -> Visible | None:
    """What a name means, if it is that of a column; two columns of one name need a qualifier."""
    name, table = column.name.casefold(), column.table.casefold()
    if table:
        found = [one for one in visible if one.name.casefold() == name and one.qualifier.casefold() == table]
        return found[0] if found else None
    found = [one for one in visible if one.bare and one.name.casefold() == name]
    if len({one.value.sql(dialect=ANALYST) for one in found}) > 1:
        choices = " or ".join(f"{one.qualifier}.{one.name}" for one in found)
        misread(sql, column, f"more than one table here has such a column: write {choices}.")
    return found[0] if found else None


def found_column(sql: str, visible: Sequence[Visible], column: exp.Column) -> exp.Expr | None:
    """What a column stands for, in parentheses where it could fall apart; None where there is no such column.

    A column may be a field of a struct.
    """
    found, fields = find_visible(sql, visible, column), list[exp.Expr]()
    if found is None and column.table:
        *path, field_name = column.parts
        owner = path_column(path)
        found, fields = find_visible(sql, visible, owner), [field_name]
    if found is None or (fields and not isinstance(found.value, exp.Column)):
        return None
    value = found.value.copy()
    first = next(value.find_all(exp.Identifier), None)
    if first is not None:  # where it stands in the text, for what may be said about it
        first.meta.update(column.parts[-1].meta)
    if fields:
        value = path_column([value.this, *fields])
    return settled(value)


def path_column(parts: Sequence[exp.Expr]) -> exp.Column:
    """A column by its path: the table's parts first, or a struct's, then the name."""
    return exp.Column(
        **dict(zip(("this", "table", "db", "catalog"), (part.copy() for part in reversed(parts)), strict=False))
    )


def own_columns(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns below a node, those of subqueries left out: they are another table's."""
    return (
        found
        for found in node.walk(
            prune=lambda below: below is not node and isinstance(below, exp.Select | exp.SetOperation)
        )
        if isinstance(found, exp.Column)
    )


def totals_in(node: exp.Expr) -> set[int]:
    """The numbers of the totals that an expression over totals mentions."""
    names = [column.name for column in node.find_all(exp.Column)]
    return {int(name.removeprefix(TOTAL)) for name in names if name.startswith(TOTAL)}


def root_name(column: exp.Column) -> str:
    """The column's own name; for a field of a struct, the struct's."""
    return column.parts[0].name


def conjuncts(node: exp.Expr | None) -> Sequence[exp.Expr]:
    """The conditions that AND joins at the top."""
    if node is None:
        return ()
    node = bare(node)
    if isinstance(node, exp.And):
        return (*conjuncts(node.left), *conjuncts(node.right))
    return (node,)
