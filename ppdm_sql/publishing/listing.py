"""SHOW PERTURBED TABLES and DESCRIBE PERTURBED as queries of constants, which DuckDB turns into any kind of result."""

from __future__ import annotations

import math
from collections.abc import Sequence

import duckdb

from ppdm_sql.engines.catalog import Catalog
from ppdm_sql.engines.quoting import quote_name, quote_text
from ppdm_sql.policy import BoundColumn, Manifest, ReleasedColumn
from ppdm_sql.policy.domain import Grid
from ppdm_sql.policy.retention import gamma_of_retention
from ppdm_sql.publishing.granularity import describe_point, describe_step
from ppdm_sql.publishing.views import PREFIX

_SHOWN_VALUES = 8
_TABLES = (
    ("table", "VARCHAR"),
    ("rows", "BIGINT"),
    ("perturbed", "VARCHAR"),
    ("kind", "VARCHAR"),
    ("database", "VARCHAR"),
    ("schema", "VARCHAR"),
)
_COLUMNS = (
    ("column", "VARCHAR"),
    ("type", "VARCHAR"),
    ("mechanism", "VARCHAR"),
    ("domain", "VARCHAR"),
    ("size", "BIGINT"),
    ("retention", "DOUBLE"),
    ("gamma", "DOUBLE"),
    ("epsilon", "DOUBLE"),
    ("nulls", "VARCHAR"),
    ("outside", "VARCHAR"),
)


def tables_query(con: duckdb.DuckDBPyConnection, catalog: Catalog) -> str:
    """A row for each release in sight."""
    found = con.execute("SELECT database_name, schema_name, view_name, sql FROM duckdb_views()").fetchall()
    views = {tuple(part.casefold() for part in row[:3]): row[3] or "" for row in found}
    rows = []
    for (database, schema, name), manifest in sorted(catalog.releases.items()):
        perturbed = ", ".join(column.name for column in manifest.perturbed)
        kind = _kind(views.get((database, schema, name)))
        rows.append((manifest.table, manifest.rows, perturbed, kind, database, schema))
    return _constants(_TABLES, rows)


def columns_query(manifest: Manifest) -> str:
    """A row for each column of a release."""
    return _constants(_COLUMNS, [_column(column) for column in manifest.columns])


def _kind(view: str | None) -> str:
    if view is None:
        return "table"
    return "view" if PREFIX in view else "file"


def _column(column: ReleasedColumn) -> tuple[object, ...]:
    bound = column.perturbed
    if bound is None:
        return (column.name, column.type.name, "exact", *[None] * 7)
    gamma = gamma_of_retention(bound.retain, bound.size)
    privacy = (bound.retain, gamma, math.log(gamma))
    return (
        column.name,
        column.type.name,
        "uniform",
        describe_domain(bound),
        bound.size,
        *privacy,
        bound.nulls,
        bound.outside,
    )


def describe_domain(column: BoundColumn) -> str:
    """A domain in words.

    >>> from ppdm_sql.policy.types import parse_type
    >>> describe_domain(BoundColumn("age", parse_type("INTEGER"), Grid(17, 1, 74), 0.3, "value", "error"))
    '17 to 90, or NULL'
    """
    domain = column.domain
    if isinstance(domain, Grid):
        text = f"{describe_point(column, domain.low)} to {describe_point(column, domain.high)}"
        unit = domain.step == 1 and domain.scale == 0 and column.type.family != "timestamp"
        text += "" if unit else f" by {describe_step(column, domain.step)}"
    else:
        shown = [str(v).lower() if isinstance(v, bool) else str(v) for v in domain.values[:_SHOWN_VALUES]]
        text = ", ".join(shown) + (", .." if domain.size > _SHOWN_VALUES else "")
    return f"{text}, or NULL" if column.nulls == "value" else text


def _constants(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]) -> str:
    """A SELECT of these rows; every value is written as text and cast, so that no rows have types too."""
    selected = ", ".join(f"CAST(c{i} AS {kind}) AS {quote_name(name)}" for i, (name, kind) in enumerate(columns))
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    lines = [f"({', '.join('NULL' if v is None else quote_text(str(v)) for v in row)})" for row in rows]
    nothing = f"({', '.join(['NULL'] * len(columns))})"
    where = "" if rows else " WHERE FALSE"
    return f"SELECT {selected} FROM (VALUES {', '.join(lines or [nothing])}) AS listed({names}){where}"
