"""Releases whose parts are the Parquet files of a folder."""

from __future__ import annotations

from pathlib import Path

from ppdm_sql.errors import ReleaseError

SIGNS = frozenset("*?[")
"""What makes a path a pattern."""


def as_pattern(path: str) -> str:
    """The pattern of a folder's Parquet files; any other path as it is.

    >>> as_pattern("public.duckdb")
    'public.duckdb'
    """
    if not path or "://" in path or "\\0" in path or not Path(path).is_dir():
        return path
    if SIGNS & set(path):
        raise ReleaseError(
            f"{path!r} is a folder whose name would be read as a pattern: rename it, without *, ? and [."
        )
    if not any(Path(path).glob("*.parquet")):
        raise ReleaseError(f"{path!r} is a folder without Parquet files: name a release, or the folder of its parts.")
    return str(Path(path) / "*.parquet")
