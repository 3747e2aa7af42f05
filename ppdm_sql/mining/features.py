"""What a tree may split on: a released column, cut into bins or taken value by value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ppdm_sql.connection.connection import Connection
from ppdm_sql.domain.domain import Grid, Values
from ppdm_sql.domain.grid_values import grid_value
from ppdm_sql.domain.types import SqlType
from ppdm_sql.errors import QueryError
from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.policy.manifest import Manifest, ReleasedColumn
from ppdm_sql.syntax.quoting import quote_name, quote_text

BINS = 32
"""Bins of an ordered feature: 31 places to split at."""
FINE_BINS = 512
"""A large domain is first counted in so many parts, to find where its values lie."""
MAX_CLASSES = 20
"""Classes of a target: what a split is tested with grows with their square."""
MAX_CATEGORIES = 256
ORDERED = ("integer", "decimal", "real", "date", "timestamp")


@dataclass(frozen=True)
class Feature:
    """A column and how it is cut: `cuts` are SQL constants between bins; `values`, likewise, are categories."""

    name: str
    cuts: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def ordered(self) -> bool:
        """Whether it is split at a cut, rather than into two sets of values."""
        return not self.values

    @property
    def bins(self) -> int:
        """The number of bins, that of NULL not counted."""
        return len(self.values) or len(self.cuts) + 1

    @property
    def bin(self) -> str:
        """SQL for the number of a row's bin; NULL for NULL and for values that are no category."""
        name = quote_name(self.name)
        if self.values:
            whens = [f"WHEN {name} = {value} THEN {i}" for i, value in enumerate(self.values)]
            return f"CASE {' '.join(whens)} END"
        whens = [f"WHEN {name} < {cut} THEN {i}" for i, cut in enumerate(self.cuts)]
        return f"CASE WHEN {name} IS NULL THEN NULL {' '.join(whens)} ELSE {len(self.cuts)} END"

    def condition(self, left: Sequence[int]) -> str:
        """SQL that is TRUE for the rows of some bins; NULL goes with the others."""
        name = quote_name(self.name)
        if self.values:
            return f"{name} IN ({', '.join(self.values[i] for i in sorted(left))})"
        return f"{name} < {self.cuts[max(left)]}"


def find_features(
    con: Connection, table: str, manifest: Manifest, names: Sequence[str] | None, target: str
) -> list[Feature]:
    """The features to split on: those named, or every released column that can be one and does not name rows."""
    if names is not None:
        columns = [_column(manifest, name) for name in names]
    else:
        columns = [c for c in manifest.columns if c.name.casefold() != target.casefold()]
        columns = [c for c in columns if not _names_rows(con, table, c)]
    found = [_feature(con, table, column, asked=names is not None) for column in columns]
    features = [feature for feature in found if feature is not None]
    if not features:
        raise QueryError(f"{manifest.table} has no column that a tree could split on.")
    return features


def find_classes(con: Connection, table: str, manifest: Manifest, target: str) -> tuple[str, ...]:
    """The classes to tell apart, as SQL constants."""
    column = _column(manifest, target)
    classes = _categories(con, table, column)
    if classes is None or not 2 <= len(classes) <= MAX_CLASSES:
        many = f", not {len(classes)}" if classes is not None else ""
        raise QueryError(
            f"the target {column.name!r} must have from 2 to {MAX_CLASSES} classes{many}. Use a column with a short "
            "list of values, or publish one with fewer, such as ranges of this one."
        )
    return classes


def _column(manifest: Manifest, name: str) -> ReleasedColumn:
    for column in manifest.columns:
        if column.name.casefold() == name.casefold():
            return column
    known = ", ".join(column.name for column in manifest.columns)
    raise QueryError(f"{manifest.table} has no column {name!r}. Columns: {known}.")


def _names_rows(con: Connection, table: str, column: ReleasedColumn) -> bool:
    """Whether an exact column has another value in every row: what a tree learns of it holds for no other row."""
    if column.perturbed is not None or column.type.family in ("real", "other"):
        return False
    name = quote_name(column.name)
    [(values, rows)] = con.execute(f"SELECT count(DISTINCT {name}), count(*) FROM {table}").fetchall()
    return bool(rows > 1 and values == rows)


def _feature(con: Connection, table: str, column: ReleasedColumn, *, asked: bool) -> Feature | None:
    bound = column.perturbed
    listed = isinstance(bound, RetainedColumn) and isinstance(bound.domain, Values)
    if bound is not None and not isinstance(bound, RetainedColumn):
        values = None  # what is not kept or replaced value by value has no counts by value
    elif column.type.family in ORDERED and not listed:
        cuts = _cuts(con, table, column)
        if cuts:
            return Feature(column.name, cuts=cuts)
    elif column.type.family != "other":
        values = _categories(con, table, column)
        if values:
            return Feature(column.name, values=values)
    if asked:
        raise QueryError(
            f"column {column.name!r} ({column.type.name}) cannot be split on: it has one value, more than "
            f"{MAX_CATEGORIES} categories, or a type or mechanism without counts by value."
        )
    return None


def _categories(con: Connection, table: str, column: ReleasedColumn) -> tuple[str, ...] | None:
    """The values of a column as constants; of an exact one as they occur, where they are few."""
    bound = column.perturbed
    if bound is not None:
        if not isinstance(bound, RetainedColumn):
            return None
        if isinstance(bound.domain, Values):
            return tuple(_constant(value, column.type) for value in bound.domain.values)
        if bound.domain.size > MAX_CATEGORIES:
            return None
        return tuple(grid_point(bound.domain, i, column.type) for i in range(bound.domain.size))
    name = quote_name(column.name)
    limit = f"ORDER BY 1 LIMIT {MAX_CATEGORIES + 1}"
    query = f"SELECT DISTINCT CAST({name} AS VARCHAR) FROM {table} WHERE {name} IS NOT NULL {limit}"
    found = [text for (text,) in con.execute(query).fetchall()]
    return None if len(found) > MAX_CATEGORIES else tuple(_quoted(text, column.type) for text in found)


def _cuts(con: Connection, table: str, column: ReleasedColumn) -> tuple[str, ...]:
    """Places that divide the values of a column into bins of about the same number of rows."""
    bound, name = column.perturbed, quote_name(column.name)
    if bound is None:
        shares = ", ".join(str(i / BINS) for i in range(2, BINS, 2))
        halves = (f"FROM {table}", f"FROM (SELECT DISTINCT {name} FROM {table})")  # of rows, and of values: see below
        quantiles = (f"SELECT unnest(quantile_disc({name}, [{shares}])) AS cut {half}" for half in halves)
        smallest = f"(SELECT min({name}) FROM {table})"
        cuts = f"SELECT DISTINCT cut FROM ({' UNION ALL '.join(quantiles)}) WHERE cut > {smallest} ORDER BY cut"
        found = con.execute(f"SELECT CAST(cut AS VARCHAR) FROM ({cuts})").fetchall()
        return tuple(_quoted(text, column.type) for (text,) in found)
    grid = bound.domain if isinstance(bound, RetainedColumn) else None
    assert isinstance(grid, Grid)
    if grid.size <= BINS:
        return tuple(grid_point(grid, i, column.type) for i in range(1, grid.size))
    parts = min(grid.size, FINE_BINS)
    edges = [grid.size * i // parts for i in range(1, parts)]
    fine = Feature(column.name, cuts=tuple(grid_point(grid, i, column.type) for i in edges))
    counts = np.zeros(parts)
    for part, rows in con.execute(f"SELECT {fine.bin}, count(*) FROM {table} GROUP BY 1").fetchall():
        if part is not None:
            counts[part] = max(rows, 0.0)
    for _ in range(BINS):  # a heap of equal values takes one bin, not most of them
        counts = np.minimum(counts, 2 * counts.sum() / BINS)
    below = np.cumsum(counts)[:-1] / max(counts.sum(), 1e-9)
    places = np.searchsorted(below, np.arange(1, BINS) / BINS)
    return tuple(fine.cuts[i] for i in sorted(set(places.tolist())) if i < len(fine.cuts))


def grid_point(grid: Grid, index: int, kind: SqlType) -> str:
    """A point of a grid as an SQL constant of the column's type."""
    return _constant(grid_value(grid, index, kind), kind)


def _constant(value: Any, kind: SqlType) -> str:
    text = constant(value)
    if kind.family in ("date", "timestamp", "enum"):
        return f"CAST({text} AS {kind.name})"
    return text


def _quoted(text: str, kind: SqlType) -> str:
    if kind.family in ("integer", "boolean"):
        return text.upper()
    return quote_text(text) if kind.family == "text" else f"CAST({quote_text(text)} AS {kind.name})"
