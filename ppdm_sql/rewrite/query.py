"""What the passes hand on to each other: a query on one release, understood step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from ppdm_sql.policy.binding import BoundColumn
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.rewrite.settings import Settings


@dataclass(frozen=True)
class Test:
    """A leaf before cells are known: the axis's term has this truth value."""

    axis: int
    term: int
    truth: bool


@dataclass(frozen=True)
class Junction:
    """AND (`every`) or OR of its parts."""

    every: bool
    parts: tuple[Test | Junction, ...]


@dataclass(frozen=True)
class QueryAxis:
    """One perturbed column with the terms a query asks of it, or one exact predicate (`column` is None)."""

    column: BoundColumn | None
    terms: tuple[exp.Expr, ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the query: a count to reconstruct (`formula`), or one that is exact as it stands."""

    node: exp.Expr
    formula: Test | Junction | None = None


@dataclass(frozen=True)
class Query:
    """A SELECT on one release.

    `tree` is our own copy. `keys` are the grouping expressions, `exact` the WHERE conditions that no perturbed
    column takes part in, `hidden` those that one does; `axes` and `aggregates` are filled by the later passes.
    """

    sql: str
    tree: exp.Select
    table: exp.Table
    manifest: Manifest
    settings: Settings = field(default_factory=Settings)
    keys: tuple[exp.Expr, ...] = ()
    exact: tuple[exp.Expr, ...] = ()
    hidden: tuple[exp.Expr, ...] = ()
    axes: tuple[QueryAxis, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()

    def column(self, name: str) -> ReleasedColumn | None:
        """The released column of that name; names do not depend on case."""
        for column in self.manifest.columns:
            if column.name.casefold() == name.casefold():
                return column
        return None

    def perturbed_in(self, node: exp.Expr) -> list[BoundColumn]:
        """The distinct perturbed columns below `node`."""
        found: dict[str, BoundColumn] = {}
        for column in node.find_all(exp.Column):
            released = None if column.meta.get("alias") else self.column(root_name(column))
            if released is not None and released.perturbed is not None:
                found[released.name] = released.perturbed
        return list(found.values())


def root_name(column: exp.Column) -> str:
    """The column's own name; for a field of a struct, the struct's."""
    return column.parts[0].name


def conjuncts(node: exp.Expr | None) -> Sequence[exp.Expr]:
    """The conditions that AND joins at the top."""
    if node is None:
        return ()
    node = node.unnest()
    if isinstance(node, exp.And):
        return (*conjuncts(node.left), *conjuncts(node.right))
    return (node,)
