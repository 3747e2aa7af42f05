"""What all cursors of one connection share: the releases in sight, and the settings."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engine.duckdb.catalog import Catalog, Name, read_catalog
from ppdm_sql.engine.duckdb.limits import Limits
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.query.release_references import located, touched
from ppdm_sql.query.statement_text import may_reach_release, read, unseen_tables
from ppdm_sql.query.understand.settings import Settings
from ppdm_sql.release.signature import Verified
from ppdm_sql.release.stored_rows import Checked


@dataclass
class CatalogCache:
    """The releases in sight, read when they are asked for; one for all cursors of a connection.

    `checked` are those whose rows were compared with their manifests.
    """

    catalog: Catalog | None = None
    checked: Checked = field(default_factory=set)


@dataclass
class Session:
    """The catalog is read again after every statement that may have changed it.

    `home` is the database that a cursor begins in, where it is not the first one of the connection. `verified` are
    files whose signatures were verified, and which DuckDB opens again for every statement. `withheld` are names that
    no statement may use, where the connection is locked.
    """

    settings: Settings = field(default_factory=Settings)
    files: dict[Name, Manifest] = field(default_factory=dict)
    key: Path | None = None
    sight: CatalogCache = field(default_factory=CatalogCache)
    limits: Limits = field(default_factory=Limits)
    locked: bool = False
    home: str | None = None
    verified: Verified | None = None
    withheld: frozenset[str] = frozenset()

    def catalog(self, con: duckdb.DuckDBPyConnection) -> Catalog:
        """The releases in sight of the connection."""
        if self.sight.catalog is None:
            self.sight.catalog = read_catalog(con, self.files, self.sight.checked)
        return self.sight.catalog

    def check_files(self) -> None:
        """Refuse to go on where files that were verified have changed since."""
        if self.verified is not None:
            self.verified.check()

    def forget(self) -> None:
        """Read the catalog again before the next query."""
        self.sight.catalog = None

    def copy(self) -> Session:
        """For a cursor: the same files and key file, settings of its own."""
        return replace(self)

    def releases(self, con: duckdb.DuckDBPyConnection, tree: exp.Expr) -> list[tuple[exp.Table, Manifest | None]]:
        """The tables of a statement that hold perturbed values; None for what reads one and cannot be rewritten."""
        return touched(con, self.catalog(con), tree)

    def located(self, con: duckdb.DuckDBPyConnection, tree: exp.Expr) -> exp.Expr:
        """A statement with the names under which the rows of releases are stored."""
        return located(self.catalog(con), tree)

    def reads_release(self, con: duckdb.DuckDBPyConnection, sql: str) -> bool:
        """Whether a statement reads or changes a release; where it cannot be read as a tree, whether it could."""
        tree = read(sql)
        if tree is None:
            return self.may_reach_release(con, sql)
        return bool(self.releases(con, tree)) or self.unseen(con, sql, tree) is not None

    def unseen(self, con: duckdb.DuckDBPyConnection, sql: str, tree: exp.Expr) -> exp.Table | None:
        """A table that only DuckDB sees in a query, where it is a release, or anything at all if this is locked."""
        tables = unseen_tables(con, sql, tree)
        return next((table for table in tables if self.locked or self.releases(con, table)), None)

    def may_reach_release(self, con: duckdb.DuckDBPyConnection, text: str) -> bool:
        """Whether a text that could not be read as a tree may lead to a release."""
        return may_reach_release(con, self.catalog(con), text)
