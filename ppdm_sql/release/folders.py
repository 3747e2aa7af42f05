"""Releases whose parts are the Parquet files of a folder."""

from __future__ import annotations

from pathlib import Path

from ppdm_sql.errors import ReleaseError
from ppdm_sql.syntax.file_patterns import PATTERN


def as_pattern(path: str) -> str:
    """The pattern of a folder's Parquet files; any other path as it is.

    >>> as_pattern("public.duckdb")
    'public.duckdb'
    """
    if not path or "://" in path or not Path(path).is_dir():
        return path
    if PATTERN & set(path):
        raise ReleaseError(
            f"{path!r} is a folder whose name would be read as a pattern: rename it, without *, ? and [."
        )
    if not any(Path(path).glob("*.parquet")):
        raise ReleaseError(f"{path!r} is a folder without Parquet files: name a release, or the folder of its parts.")
    return str(Path(path) / "*.parquet")
