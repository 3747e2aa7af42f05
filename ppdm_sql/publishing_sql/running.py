"""Run a publishing statement on a connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engine.duckdb.catalog import Catalog
from ppdm_sql.errors import QueryError, SettingError, TargetError
from ppdm_sql.publishing.keyfile import read_key
from ppdm_sql.publishing.release import publish
from ppdm_sql.publishing_sql.database import drop_release, in_transaction, locate, missing
from ppdm_sql.publishing_sql.in_database import create_table
from ppdm_sql.publishing_sql.listing import columns_query, tables_query
from ppdm_sql.publishing_sql.query_source import Parameters, relation_of
from ppdm_sql.publishing_sql.secret import database_files, key_path, secret_in
from ppdm_sql.publishing_sql.statements import (
    CreatePerturbed,
    DescribePerturbed,
    DropPerturbed,
    PublishingStatement,
    SetKey,
    ShowPerturbed,
)
from ppdm_sql.publishing_sql.views import create_view, restore_views


@dataclass(frozen=True)
class Outcome:
    """The key file from now on, and the query whose rows are the statement's result, None where it has none."""

    key: Path | None
    result: str | None = None


def run_publishing(
    statement: PublishingStatement,
    con: duckdb.DuckDBPyConnection,
    key: Path | None,
    catalog: Catalog,
    reads_release: Callable[[str], bool],
    parameters: Parameters = None,
) -> Outcome:
    """Do what the statement says.

    Parameters
    ----------
    key
        The file that SET ppdm_key named last.
    catalog
        The releases in sight of the connection.
    reads_release
        Whether a query reads a release: its values would be perturbed a second time, and the manifest would not say so.
    """
    if isinstance(statement, SetKey):
        return Outcome(_set_key(con, statement.path))
    if isinstance(statement, ShowPerturbed):
        return Outcome(key, tables_query(con, catalog))
    if isinstance(statement, DescribePerturbed):
        return Outcome(key, _describe(statement.name, catalog))
    if isinstance(statement, DropPerturbed):
        drop_release(con, locate(con, statement.name), statement.kind, if_exists=statement.if_exists)
        return Outcome(key)
    if reads_release(statement.query):
        raise QueryError(
            f"the SELECT of {statement.name[-1]!r} reads a release: its values would be perturbed a second time, and "
            "answers would be wrong. Publish from the original."
        )
    if statement.to is not None:
        _publish(con, statement, key, parameters)
        return Outcome(key)
    place = locate(con, statement.name)
    with secret_in(key) as secret:
        if statement.kind == "table":
            create_table(con, place, statement, secret, parameters)
        elif parameters:
            raise QueryError("a view has no parameters: write the values into its SELECT.")
        else:
            create_view(con, place, statement, secret)
    return Outcome(key)


def _set_key(con: duckdb.DuckDBPyConnection, text: str | None) -> Path | None:
    if text is None:
        return None
    if in_transaction(con):
        raise SettingError("SET ppdm_key is not for the middle of a transaction: COMMIT or ROLLBACK first.")
    path = key_path(con, text)
    if path.exists():
        restore_views(con, read_key(path))
    return path


def _publish(
    con: duckdb.DuckDBPyConnection, statement: CreatePerturbed, key: Path | None, parameters: Parameters
) -> None:
    """To a file of its own, which holds no original."""
    assert statement.to is not None
    if Path(statement.to).resolve() in database_files(con):
        raise TargetError(
            f"target {statement.to!r} is open in this connection: DETACH it, use a connection that does not have it "
            "open, or name another file."
        )
    if key is None:
        with secret_in(key):  # says what to do
            pass
        raise AssertionError("there is no secret without a key")
    relation = relation_of(con, statement.query, parameters)
    publish(relation, statement.policy, to=statement.to, key=key, replace=statement.replace, progress=False)


def _describe(name: tuple[str, ...], catalog: Catalog) -> str:
    database, schema = ("", "", *name)[-3:-1]
    table = exp.table_(name[-1], db=schema or None, catalog=database or None, quoted=True)
    manifest = catalog.release(table)
    if manifest is None:
        raise missing(name, [release.table for release in catalog.releases.values()])
    return columns_query(manifest)
