"""Which tables a release's file holds."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ppdm_sql.engine.duckdb.catalog import read_catalog
from ppdm_sql.errors import ReleaseError
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.folders import as_pattern
from ppdm_sql.release.parquet_release import parquet_manifest


def manifests(path: str) -> list[Manifest]:
    """The tables of a release, by name; ReleaseError where there are none."""
    path = as_pattern(path)
    if path.lower().endswith(".parquet"):
        with duckdb.connect(":memory:") as con:
            found = parquet_manifest(con, path)
        if found is None:
            raise ReleaseError(f"{path!r} is not a release: there is no such Parquet file, or it carries no manifest.")
        return [found]
    if not Path(path).is_file():
        raise ReleaseError(f"there is no file {path!r}.")
    try:
        with duckdb.connect(path, read_only=True) as con:
            releases = read_catalog(con, {}).releases
    except duckdb.Error as error:
        raise ReleaseError(f"{path!r} cannot be opened as a release. {error}") from None
    if not releases:
        raise ReleaseError(f"{path!r} is not a release: it carries no manifest. Make one with ppdm-sql publish.")
    return [releases[name] for name in sorted(releases)]


def manifest_of(path: str, table: str | None) -> Manifest:
    """The one table of a release, or the one that is named."""
    found = manifests(path)
    names = ", ".join(repr(manifest.table) for manifest in found)
    if table is None:
        if len(found) > 1:
            raise ReleaseError(f"{path!r} holds several tables ({names}): say which one with --table.")
        return found[0]
    for manifest in found:
        if manifest.table.casefold() == table.casefold():
            return manifest
    raise ReleaseError(f"{path!r} has no table {table!r}. There are {names}.")
