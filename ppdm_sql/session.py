"""What all cursors of one connection share: the releases in sight, and the settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engines.catalog import Catalog, Name, parquet_manifest, read_catalog
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.rewrite.parse import parse
from ppdm_sql.rewrite.settings import Settings

SQL_TEXT_FUNCTIONS = ("query", "query_table")
"""Table functions of DuckDB that take SQL or a table's name as text."""

PARQUET_FUNCTIONS = ("read_parquet", "parquet_scan")


@dataclass
class Session:
    """The catalog is read again after every statement that may have changed it."""

    settings: Settings = field(default_factory=Settings)
    files: dict[Name, Manifest] = field(default_factory=dict)
    key: Path | None = None
    _catalog: Catalog | None = None

    def catalog(self, con: duckdb.DuckDBPyConnection) -> Catalog:
        """The releases in sight of the connection."""
        if self._catalog is None:
            self._catalog = read_catalog(con, self.files)
        return self._catalog

    def forget(self) -> None:
        """Read the catalog again before the next query."""
        self._catalog = None

    def copy(self) -> Session:
        """For a cursor: the same files and key file, settings of its own."""
        return Session(self.settings, self.files, self.key)

    def releases(self, con: duckdb.DuckDBPyConnection, tree: exp.Expr) -> list[tuple[exp.Table, Manifest | None]]:
        """The tables of a statement that hold perturbed values; None for a view, macro or text that reads one."""
        catalog = self.catalog(con)
        ctes = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
        return [
            (table, manifest)
            for table in tree.find_all(exp.Table)
            for manifest in _manifests(con, catalog, table, ctes)
        ]

    def reads_release(self, con: duckdb.DuckDBPyConnection, sql: str) -> bool:
        """Whether a query reads a release; where it cannot be read as a tree, whether it names one."""
        tree = parse(sql)
        return self.mentions_release(con, sql) if tree is None else bool(self.releases(con, tree))

    def mentions_release(self, con: duckdb.DuckDBPyConnection, sql: str) -> bool:
        """Whether a text that could not be read as a tree names a release, or something that reads one."""
        text = sql.casefold()
        return any(name in text for name in self.catalog(con).names)


def _manifests(
    con: duckdb.DuckDBPyConnection, catalog: Catalog, table: exp.Table, ctes: set[str]
) -> Iterator[Manifest | None]:
    function = table.this
    if isinstance(function, exp.Func):
        name = function.name.lower() if isinstance(function, exp.Anonymous) else "read_parquet"
        texts = [literal.this for literal in function.find_all(exp.Literal) if literal.is_string]
        if name in PARQUET_FUNCTIONS:
            yield from (m for path in texts if (m := parquet_manifest(con, path)) is not None)
        elif name in catalog.readers or (
            name in SQL_TEXT_FUNCTIONS and any(known in t.casefold() for t in texts for known in catalog.names)
        ):
            yield None
        return
    if not table.db and table.name.casefold() in ctes:
        return
    release = catalog.release(table)
    if release is not None:
        yield release
    elif table.name.casefold() in catalog.readers:
        yield None
    elif not table.db and ("." in table.name or "*" in table.name):
        manifest = parquet_manifest(con, table.name)
        if manifest is not None:
            yield manifest
