"""A release as the command line opens it: for reading only, and only if it is one."""

from __future__ import annotations

from collections.abc import Iterable

from ppdm_sql.cli.output import table
from ppdm_sql.connection.connect import connect
from ppdm_sql.connection.connection import Connection
from ppdm_sql.engine.duckdb.release_files import manifests
from ppdm_sql.errors import ReleaseError
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.signature import verify_release

NULLS = {"error": "there are none", "keep": "as they are", "value": "perturbed"}


def open_release(path: str, verify: str | None) -> Connection:
    """A connection that answers queries on the release; `verify` is the public key's file where it must be signed."""
    if verify is None:
        manifests(path)
    con = connect(path, read_only=True, verify=verify)
    if not con.manifests():
        con.close()
        raise ReleaseError(f"{path!r} is not a release: it carries no manifest. Make one with ppdm-sql publish.")
    return con


def verify_first(paths: Iterable[str], verify: str | None) -> None:
    """Refuse releases that are not signed, before anything of them is read."""
    if verify is not None:
        for path in paths:
            verify_release(path, verify)


def describe(manifest: Manifest) -> str:
    """A released table: its columns, how much of each is kept, and how many values replacements are drawn from."""
    level = "" if manifest.level is None else f", level {manifest.level}"
    rows = []
    for column in manifest.columns:
        bound = column.perturbed
        if bound is None:
            rows.append((column.name, column.type.name, "exact", "", ""))
        else:
            public = MECHANISMS[bound.mechanism].describe(bound)
            retention = public.kept if public.retention is None else f"{public.retention:.4g}"
            size = "" if public.size is None else f"{public.size:,}"
            rows.append((column.name, column.type.name, retention, size, NULLS.get(public.nulls or "", "")))
    names = ("column", "type", "retention", "domain size", "NULLs")
    return f"{manifest.table}: {manifest.rows:,} rows{level}\n{table(names, rows)}"
