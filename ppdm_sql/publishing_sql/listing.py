"""SHOW PERTURBED TABLES and DESCRIBE PERTURBED as queries of constants, which DuckDB turns into any kind of result."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from ppdm_sql.engine.duckdb.catalog import Catalog
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import Manifest, PerturbedColumn, ReleasedColumn
from ppdm_sql.publishing_sql.clause_text import clause_text
from ppdm_sql.publishing_sql.views import PREFIX
from ppdm_sql.syntax.quoting import quote_name, quote_text

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
    ("clause", "VARCHAR"),
)


def tables_query(con: duckdb.DuckDBPyConnection, catalog: Catalog) -> str:
    """A row for each release in sight."""
    found = con.execute("SELECT database_name, schema_name, view_name, sql FROM duckdb_views()").fetchall()
    views = {tuple(part.casefold() for part in row[:3]): row[3] or "" for row in found}
    homes = {shown: at for at, shown in catalog.stored.items()}
    rows = []
    for (database, schema, name), manifest in sorted(catalog.releases.items()):
        perturbed = ", ".join(column.name for column in manifest.perturbed)
        kind = _kind(views.get(homes.get((database, schema, name), (database, schema, name))))
        rows.append((manifest.table, manifest.rows, perturbed, kind, database, schema))
    return _constants(_TABLES, rows)


def columns_query(manifest: Manifest) -> str:
    """A row for each column of a release."""
    return _constants(_COLUMNS, [_column(column, manifest.perturbed) for column in manifest.columns])


def _kind(view: str | None) -> str:
    if view is None:
        return "table"
    return "view" if PREFIX in view else "file"


def _column(column: ReleasedColumn, perturbed: Sequence[PerturbedColumn]) -> tuple[object, ...]:
    bound = column.perturbed
    if bound is None:
        return (column.name, column.type.name, "exact", *[None] * 8)
    public = MECHANISMS[bound.mechanism].describe(bound)
    privacy = (public.retention, public.gamma, public.epsilon)
    rules = (public.nulls, public.outside)
    said = (*rules, clause_text(bound, perturbed))
    return (column.name, column.type.name, bound.mechanism, public.domain, public.size, *privacy, *said)


def _constants(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]) -> str:
    """A SELECT of these rows; every value is written as text and cast, so that no rows have types too."""
    selected = ", ".join(f"CAST(c{i} AS {kind}) AS {quote_name(name)}" for i, (name, kind) in enumerate(columns))
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    lines = [f"({', '.join('NULL' if v is None else quote_text(str(v)) for v in row)})" for row in rows]
    nothing = f"({', '.join(['NULL'] * len(columns))})"
    where = "" if rows else " WHERE FALSE"
    return f"SELECT {selected} FROM (VALUES {', '.join(lines or [nothing])}) AS listed({names}){where}"
