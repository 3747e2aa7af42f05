"""Open a release, or any DuckDB database, for queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.connection import Connection
from ppdm_sql.dbapi import as_dbapi
from ppdm_sql.engines.catalog import parquet_manifest
from ppdm_sql.engines.quoting import quote_name, quote_text
from ppdm_sql.errors import ReleaseError
from ppdm_sql.session import Session


def connect(
    database: str | Path = ":memory:", read_only: bool = False, config: Mapping[str, Any] | None = None
) -> Connection:
    """Open a release (or any DuckDB database, or a Parquet release) for queries.

    A Parquet file, or a glob of them, appears as a view with the name of the published table.
    """
    path = str(database)
    with as_dbapi():
        if path.lower().endswith(".parquet"):
            return _connect_parquet(path, config)
        if read_only and path != ":memory:" and not Path(path).exists():
            raise ReleaseError(f"there is no file {path!r}.")
        try:
            con = duckdb.connect(path, read_only=read_only, config=dict(config or {}))
        except duckdb.Error as error:
            raise ReleaseError(f"{path!r} cannot be opened: {error}") from None
        return Connection(con, Session())


def _connect_parquet(path: str, config: Mapping[str, Any] | None) -> Connection:
    con = duckdb.connect(":memory:", config=dict(config or {}))
    manifest = parquet_manifest(con, path)
    if manifest is None:
        con.close()
        raise ReleaseError(f"{path!r} is not a release: there is no such Parquet file, or it carries no manifest.")
    con.execute(f"CREATE VIEW {quote_name(manifest.table)} AS SELECT * FROM read_parquet({quote_text(path)})")
    return Connection(con, Session(files={("memory", "main", manifest.table.casefold()): manifest}))
