"""Open a release, or any DuckDB database, for queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from ppdm_sql.connection.connection import Connection
from ppdm_sql.connection.dbapi import as_dbapi
from ppdm_sql.connection.locked import lock
from ppdm_sql.engine.duckdb.limits import Limits
from ppdm_sql.errors import ReleaseError, SettingError
from ppdm_sql.query.session import Session
from ppdm_sql.release.folders import as_pattern
from ppdm_sql.release.parquet_release import parquet_manifest
from ppdm_sql.release.signature import Verified, verify_release
from ppdm_sql.release.signing_keys import Given
from ppdm_sql.syntax.quoting import quote_name, quote_text

MEMORY = ":memory:"
OWN_DATABASES = ("memory", "system", "temp")
"""Names of databases that every instance of DuckDB has."""


def connect(
    database: str | Path = MEMORY,
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
    *,
    verify: Given | None = None,
    locked: bool = False,
    timeout: float | None = None,
    max_rows: int | None = None,
    max_memory: str | None = None,
) -> Connection:
    """Open a release (or any DuckDB database, or a Parquet release) for queries.

    A Parquet file, a pattern of them, or a folder of them appears as a view with the name of the published table.

    Parameters
    ----------
    verify
        The publisher's public key, a PEM file, its bytes, or the key itself: only a release that it has signed, as it
        is, is opened, for reading only. All of it is read for that. `release/signature.py` says what this covers.
    locked
        For SQL of strangers: it may ask the release, and reach no file, extension, setting or variable beside it.
    timeout
        Seconds that each call of `execute` or `sql` may take, fetching the rows included.
    max_rows
        Rows that a result may have; one with more is an error.
    max_memory
        What DuckDB may take, such as '2GB'.
    """
    with as_dbapi():
        path = as_pattern(str(database))
        session = Session(limits=Limits(timeout, max_rows, max_memory), locked=locked)
        settings = dict(config or {}) | ({} if max_memory is None else {"memory_limit": max_memory})
        if path == MEMORY and verify is not None:
            raise ReleaseError("verify is for a release in a file, which is signed: name the file.")
        verified = None if verify is None else verify_release(path, verify)
        if path.lower().endswith(".parquet"):
            return _connect_parquet(path, settings, session, verified)
        if (read_only or locked) and path != MEMORY and not Path(path).exists():
            raise ReleaseError(f"there is no file {path!r}.")
        if locked or verified is not None:
            return _connect_apart(path, settings, session, verified)
        return Connection(_opened(path, settings, read_only), session)


def _connect_parquet(path: str, config: dict[str, Any], session: Session, verified: Verified | None) -> Connection:
    con = _opened(MEMORY, config)
    manifest = parquet_manifest(con, path if verified is None else [str(file) for file in verified.files])
    if manifest is None:
        con.close()
        raise ReleaseError(f"{path!r} is not a release: there is no such Parquet file, or it carries no manifest.")
    if verified is None:
        found = con.execute(f"SELECT file FROM glob({quote_text(path)})").fetchall()
        files = [Path(file).absolute() for (file,) in found]
    else:
        files = list(verified.files)
        session.verified = verified
    # a locked connection can look into no folder, so there it reads the files that are there now, as a verified one
    listed = f"[{', '.join(quote_text(str(file)) for file in files)}]"
    read = listed if session.locked or verified is not None else quote_text(path)
    con.execute(
        f"CREATE VIEW {quote_name(manifest.table)} AS SELECT * FROM read_parquet({read}, hive_partitioning = false)"
    )
    _check_unchanged(con, verified)
    if session.locked:
        lock(con, files)
    session.files[("memory", "main", manifest.table.casefold())] = manifest
    return Connection(con, session)


def _connect_apart(path: str, config: dict[str, Any], session: Session, verified: Verified | None) -> Connection:
    """An instance of DuckDB of its own: settings of one are those of all connections to it, and so is what it read."""
    con = _opened(MEMORY, config)
    if path != MEMORY:
        stem = Path(path).stem
        session.home = f"{stem}_release" if stem.casefold() in OWN_DATABASES else stem
        try:
            file = path if verified is None else str(verified.files[0])
            con.execute(f"ATTACH {quote_text(file)} AS {quote_name(session.home)} (READ_ONLY)")
        except duckdb.Error as error:
            con.close()
            raise ReleaseError(f"{path!r} cannot be opened: {error}") from None
        con.execute(f"USE {quote_name(session.home)}")
    _check_unchanged(con, verified)
    if session.locked:
        try:
            session.withheld = lock(con, [])
        except ReleaseError:
            con.close()
            raise
    return Connection(con, session)


def _check_unchanged(con: duckdb.DuckDBPyConnection, verified: Verified | None) -> None:
    """Refuse files that were changed between being verified and being opened."""
    try:
        if verified is not None:
            verified.check()
    except ReleaseError:
        con.close()
        raise


def _opened(path: str, config: dict[str, Any], read_only: bool = False) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(path, read_only=read_only, config=config)
    except duckdb.ParserException as error:
        raise SettingError(f"max_memory={config.get('memory_limit')!r} must be a size such as '2GB'. {error}") from None
    except duckdb.Error as error:
        raise ReleaseError(f"{path!r} cannot be opened: {error}") from None
