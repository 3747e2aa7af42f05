"""Which tables of a DuckDB connection are releases, and which views and macros read one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import duckdb
from sqlglot import exp

from ppdm_sql.engines.domains import quote, text
from ppdm_sql.policy.manifest import MANIFEST_TABLE, METADATA_KEY, Manifest

Name = tuple[str, str, str]
"""Database, schema and table, lower-cased."""


@dataclass(frozen=True)
class Catalog:
    """What a connection can see of releases at one moment; `views` has the SQL of the views among the `readers`."""

    releases: Mapping[Name, Manifest] = field(default_factory=dict)
    readers: frozenset[str] = frozenset()
    views: Mapping[str, str] = field(default_factory=dict)
    shadows: frozenset[str] = frozenset()
    current: tuple[str, str] = ("memory", "main")

    def release(self, table: exp.Table) -> Manifest | None:
        """The release that a table name means here."""
        schema, database = table.db.casefold(), table.catalog.casefold()
        name = table.name.casefold()
        if not schema and name in self.shadows:
            return None
        found = [key for key in self.releases if key[2] == name and _fits(key, schema, database)]
        if not found:
            return None
        here = [key for key in found if key[:2] == self.current]
        return self.releases[(here or found)[0]]

    @property
    def names(self) -> frozenset[str]:
        """Every name behind which perturbed values stand."""
        return frozenset(key[2] for key in self.releases) | self.readers


def _fits(key: Name, schema: str, database: str) -> bool:
    """`a.t` may name a schema or a database."""
    if database:
        return key[:2] == (database, schema)
    return not schema or schema in key[:2]


def read_catalog(con: duckdb.DuckDBPyConnection, extra: Mapping[Name, Manifest]) -> Catalog:
    """Look for manifests in every attached database; `extra` are releases known otherwise (Parquet files)."""
    places = con.execute(
        f"SELECT database_name, schema_name FROM duckdb_tables() WHERE table_name = {text(MANIFEST_TABLE)}"
    ).fetchall()
    releases = dict(extra)
    for database, schema in places:
        source = f"{quote(database)}.{quote(schema)}.{quote(MANIFEST_TABLE)}"
        for table, manifest in con.execute(f"SELECT table_name, manifest FROM {source}").fetchall():
            releases[(database.casefold(), schema.casefold(), table.casefold())] = Manifest.from_json(manifest)
    if not releases:
        return Catalog()
    database, schema = con.execute("SELECT current_database(), current_schema()").fetchall()[0]
    names = {key[2] for key in releases}
    known = {key[2] for key in extra}
    temporary = con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary UNION ALL "
        "SELECT view_name FROM duckdb_views() WHERE temporary AND NOT internal"
    ).fetchall()
    shadows = frozenset(name.casefold() for (name,) in temporary) - known
    found = con.execute("SELECT view_name, sql FROM duckdb_views() WHERE NOT internal").fetchall()
    views = {name.casefold(): sql or "" for name, sql in found if name.casefold() not in known}
    macros = con.execute(
        "SELECT function_name, macro_definition FROM duckdb_functions() "
        "WHERE NOT internal AND macro_definition IS NOT NULL"
    ).fetchall()
    readers = _readers({name.casefold(): sql or "" for name, sql in macros} | views, names)
    reading = {name: sql for name, sql in views.items() if name in readers}
    return Catalog(releases, readers, reading, shadows - readers, (database.casefold(), schema.casefold()))


def _readers(definitions: Mapping[str, str], names: Iterable[str]) -> frozenset[str]:
    """Views and macros whose text mentions a release, directly or through another."""
    tainted = set(names)
    readers: set[str] = set()
    grown = True
    while grown:
        new = {n for n, d in definitions.items() if n not in readers and any(t in d.casefold() for t in tainted)}
        grown = bool(new)
        readers |= new
        tainted |= new
    return frozenset(readers)


def parquet_manifest(con: duckdb.DuckDBPyConnection, path: str) -> Manifest | None:
    """The manifest in the metadata of a Parquet file or glob, if there is one."""
    try:
        rows = con.execute(
            f"SELECT DISTINCT value FROM parquet_kv_metadata({text(path)}) WHERE decode(key) = {text(METADATA_KEY)}"
        ).fetchall()
    except duckdb.Error:
        return None
    return Manifest.from_json(bytes(rows[0][0]).decode()) if rows else None
