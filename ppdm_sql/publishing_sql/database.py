"""Releases inside the database of a connection: where one is, what is there, and its row of the manifest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import duckdb

from ppdm_sql.errors import QueryError, TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.publishing.names import nearest
from ppdm_sql.publishing.originals import reads_elsewhere
from ppdm_sql.publishing.safe_read import INTERRUPTED
from ppdm_sql.publishing.stored_answers import answers_to, dropping, warn_of_dropped
from ppdm_sql.publishing_sql.statements import Kind
from ppdm_sql.release.stored import OLD_MANIFESTS, PERTURBED, Place, stored_manifests
from ppdm_sql.syntax.quoting import quote_text

Result = TypeVar("Result")


@dataclass(frozen=True)
class Present:
    """What is at a place: nothing, or a table or view, which is a release or is not."""

    kind: Kind | None = None
    release: bool = False


def locate(con: duckdb.DuckDBPyConnection, name: tuple[str, ...]) -> Place:
    """The place that a name means here; `a.t` names a schema first, and then a database."""
    database, schema = con.execute("SELECT current_database(), current_schema()").fetchall()[0]
    if len(name) == 1:
        return Place(database, _shown(schema), name[0])
    known = con.execute("SELECT database_name, schema_name FROM duckdb_schemas()").fetchall()
    wanted = [name[:2]] if len(name) == 3 else [(database, name[0]), (name[0], "main")]
    for pair in wanted:
        for found in known:
            if tuple(part.casefold() for part in found) == tuple(part.casefold() for part in pair):
                return Place(found[0], _shown(found[1]), name[-1])
    raise TargetError(f"there is no schema {'.'.join(name[:-1])!r} for {name[-1]!r}: make it first, or leave it out.")


def _shown(schema: str) -> str:
    return "main" if schema.casefold() == PERTURBED else schema


def present(con: duckdb.DuckDBPyConnection, place: Place) -> Present:
    """What is at a place: a release, or what would be hidden behind one."""
    wanted = place.name.casefold()
    released = any(
        (found.database, found.schema.casefold(), found.name.casefold())
        == (place.database, place.schema.casefold(), wanted)
        for found, _ in stored_manifests(con)
    )
    found = con.execute(
        "SELECT 'table', table_name FROM duckdb_tables() WHERE database_name = $1 AND lower(schema_name) = $2 "
        "UNION ALL "
        "SELECT 'view', view_name FROM duckdb_views() WHERE database_name = $1 AND lower(schema_name) = $2",
        [place.database, (place.stored_schema if released else place.schema).casefold()],
    ).fetchall()
    kinds = {name.casefold(): kind for kind, name in found}
    return Present(kinds.get(wanted), released)


def check_free(con: duckdb.DuckDBPyConnection, place: Place, kind: Kind, *, replace: bool) -> None:
    """TargetError where a release may not be put: only a release gives way to another, and only when it is asked to."""
    there = present(con, place)
    if there.kind is None:
        return
    if not there.release:
        raise TargetError(
            f"there is a {there.kind} {place.name!r} already, which is not a release: OR REPLACE never takes the place "
            "of an original. Name the release otherwise."
        )
    if there.kind != kind:
        raise TargetError(f"{place.name!r} is a perturbed {there.kind}: DROP PERTURBED {there.kind.upper()} it first.")
    if not replace:
        raise TargetError(
            f"there is a perturbed {kind} {place.name!r} already: say CREATE OR REPLACE PERTURBED {kind.upper()}, or "
            "name it otherwise."
        )


def make_schema(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Make the schema that holds rows of releases, unless it is there."""
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {place.schema_sql}")


def check_holds_original(con: duckdb.DuckDBPyConnection, place: Place, relation: duckdb.DuckDBPyRelation) -> None:
    """TargetError where a database is a file that does not hold the original: who reads that must not write there.

    A file of releases, alone or beside tables that anybody may see, is handed on.
    """
    found = con.execute("SELECT path FROM duckdb_databases() WHERE database_name = ?", [place.database]).fetchall()
    if found[0][0] is None:
        return
    query = "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ? AND NOT temporary"
    tables = con.execute(query, [place.database]).fetchall()
    why = "what reads originals must not write a file that has none, for parts of them may stay between the rows"
    if all(schema.startswith(PERTURBED) or name == OLD_MANIFESTS for schema, name in tables):
        raise TargetError(
            f"database {place.database!r} is a file without other tables, as is handed on: {why}. Say CREATE PERTURBED "
            f"TABLE {place.name} TO {quote_text(str(found[0][0]))} AS .. where the file is not open, in another "
            "connection or after DETACH."
        )
    if reads_elsewhere(relation, place.database):
        raise TargetError(
            f"the SELECT of {place.name!r} reads what is not in database {place.database!r}: {why}. Say CREATE "
            f"PERTURBED TABLE {place.name} TO 'a file of its own.duckdb' AS .., or store what it reads in that "
            "database first."
        )


def write_manifest(con: duckdb.DuckDBPyConnection, place: Place, manifest: Manifest, kind: Kind = "table") -> None:
    """Put a manifest and comments beside a release, in the place of older ones."""
    for statement in place.described(manifest, kind.upper()):
        con.execute(statement)


def drop_release(con: duckdb.DuckDBPyConnection, place: Place, kind: Kind, *, if_exists: bool) -> None:
    """Remove a release and its manifest together."""
    there = present(con, place)
    if not there.release:
        if if_exists and there.kind is None:
            return
        what = "is not a release" if there.kind else "does not exist"
        raise TargetError(f"{place.name!r} {what}: SHOW PERTURBED TABLES lists what can be dropped.")
    if there.kind is not None and there.kind != kind:
        raise TargetError(f"{place.name!r} is a perturbed {there.kind}: say DROP PERTURBED {there.kind.upper()}.")
    with transaction(con, place):
        drop_answers(con, place)
        changing(place, lambda: con.execute(f"DROP {kind.upper()} IF EXISTS {place.sql}"))
        changing(place, lambda: con.execute(f"DROP MACRO IF EXISTS {place.macro}"))


def drop_answers(con: duckdb.DuckDBPyConnection, place: Place) -> None:
    """Drop the stored answers to a release that is dropped, or gives way to another."""
    views = answers_to(con, place.database, place.name)
    for statement in dropping(place.database, views):
        changing(place, partial(con.execute, statement))
    warn_of_dropped(f"database {place.database!r}", place.name, views)


def in_transaction(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether a transaction is open: two statements then have one number. SchemaLookup BEGIN would abort it."""
    first, second = (con.execute("SELECT txid_current()").fetchall() for _ in range(2))
    return bool(first == second)


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection, place: Place) -> Iterator[None]:
    """All or nothing of what is done to a release; inside of the caller's own transaction, that one decides."""
    if in_transaction(con):
        yield
        return
    con.execute("BEGIN")
    try:
        yield
        changing(place, lambda: con.execute("COMMIT"))  # this is when the disk is written to
    except BaseException:
        with suppress(duckdb.Error):
            con.execute("ROLLBACK")
        raise


def changing(place: Place, action: Callable[[], Result]) -> Result:
    """Run an action on the database; its errors are named by class only, for their text may quote a value."""
    try:
        return action()
    except duckdb.Error as error:
        reason = type(error).__name__
    except RuntimeError as error:
        if str(error) != INTERRUPTED:
            raise
        reason = ""
    if not reason:
        raise KeyboardInterrupt
    raise TargetError(
        f"release {place.name!r} cannot be written to or dropped from database {place.database!r} ({reason}). Check "
        "the space there, that it is not open for reading only, and that nothing depends on the release."
    )


def missing(name: tuple[str, ...], known: list[str]) -> QueryError:
    """The error for a name that is no release."""
    return QueryError(f"there is no release {'.'.join(name)!r}. {nearest(name[-1], known)}")
