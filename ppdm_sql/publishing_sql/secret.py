"""The key file that a connection publishes with: named once, read when it is needed, never kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing.keyfile import key_in, read_key


def key_path(con: duckdb.DuckDBPyConnection, text: str) -> Path:
    """The path if a key may be there; it is made absolute, for another directory would mean another key."""
    try:
        path = Path(text).absolute()
        there, parent, folder = path.exists(), path.parent.is_dir(), path.is_dir()
    except (OSError, ValueError):
        raise KeyFileError(f"key {text!r} is not a path that can be used.") from None
    if not text or folder:
        raise KeyFileError(f"key {text!r} is not a file: name one, such as 'my.key'.")
    if path.resolve() in database_files(con):
        raise KeyFileError(f"key {text!r} is a database of this connection: name another file.")
    if not parent:
        raise KeyFileError(f"key {text!r}: the directory does not exist. Make it first.")
    if there:
        read_key(path)  # so that a bad key is known before anything is published with it
    return path


@contextmanager
def secret_in(path: Path | None) -> Iterator[bytes]:
    """The secret, made where there is none."""
    if path is None:
        raise KeyFileError(
            "publishing needs a key: say SET ppdm_key = 'my.key' first. It is a file that only you may read, made "
            "where there is none yet; keep it apart from what you publish."
        )
    with key_in(path) as secret:
        yield secret


def database_files(con: duckdb.DuckDBPyConnection) -> list[Path]:
    """The files that the connection has open."""
    found = con.execute("SELECT path FROM duckdb_databases() WHERE path IS NOT NULL AND NOT internal").fetchall()
    return [Path(path).resolve() for (path,) in found]
