"""Perturbed views: nothing is stored, and every reading shows the same values, for all coins come from the key.

A view calls one function for each perturbed column. The functions exist in this process only, while a connection is
open that was given the key; their names follow from the key and tell nothing of it. A reader without them gets an error
that names what is missing. Whoever may call a function by hand may also read the original that the view reads: a
database with such a view is the publisher's own.
"""

from __future__ import annotations

import atexit
import json
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from inspect import Parameter, Signature

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from ppdm_udfs import RowError, row_blocks, subkey

from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import PolicyError, PpdmError, QueryError, SourceError
from ppdm_sql.policy import Manifest, PerturbedColumn
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.perturber import Rows, SingleColumn
from ppdm_sql.publishing.perturbers import perturbers_of, publishing_of
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing_sql.database import (
    changing,
    check_free,
    drop_answers,
    in_transaction,
    make_schema,
    transaction,
    write_manifest,
)
from ppdm_sql.publishing_sql.query_source import Perturbed, perturb_query, relation_of
from ppdm_sql.publishing_sql.statements import CreatePerturbed
from ppdm_sql.release.stored import Place, stored_manifests
from ppdm_sql.syntax.quoting import quote_name

PREFIX = "ppdm_view_needs_its_key_"
"""Of the functions' names: what DuckDB says where one is missing is then a sentence that helps."""

_open: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()


@dataclass(frozen=True)
class ViewFunction:
    """The function of one column: its name follows from the key and from everything that decides its values."""

    name: str
    column: PerturbedColumn
    identity: tuple[str, ...]


def create_view(con: duckdb.DuckDBPyConnection, place: Place, statement: CreatePerturbed, key: bytes) -> None:
    """Make a view of the statement's query after checking all rows that it has now."""
    if in_transaction(con):
        raise QueryError(
            "CREATE PERTURBED VIEW is a transaction of its own, for functions cannot be rolled back: COMMIT first."
        )
    for column in statement.policy.perturbed:
        if not publishing_of(column.mechanism).row_by_row:
            raise PolicyError(
                f"column {column.name!r}: mechanism {column.mechanism!r} does more than change one value after the "
                "other, which is all that a view can: CREATE PERTURBED TABLE."
            )
    check_free(con, place, "view", replace=statement.replace)
    perturbed = perturb_query(relation_of(con, statement.query, None), statement.policy, key, _drain)
    made: list[str] = []
    functions = _functions(perturbed.manifest, perturbed.identity, key)
    try:
        for function in functions:
            made += _register(con, perturbed.manifest.table, function, key)
        with transaction(con, place):
            changing(place, lambda: _create(con, place, statement.query, perturbed, functions))
    except BaseException:
        for name in made:
            with suppress(duckdb.Error):
                con.remove_function(name)
        raise


def restore_views(con: duckdb.DuckDBPyConnection, key: bytes) -> None:
    """Make the functions of all views in sight that were created with this key."""
    found = con.execute("SELECT database_name, schema_name, view_name, sql FROM duckdb_views()").fetchall()
    views = {(database, schema, view.casefold()): sql or "" for database, schema, view, sql in found}
    for place, text in stored_manifests(con):
        sql = views.get((place.database, place.stored_schema, place.name.casefold()), "")
        if PREFIX in sql:
            manifest = Manifest.from_json(text)
            for function in _functions(manifest, manifest.view or (), key):
                if function.name in sql:
                    _register(con, manifest.table, function, key)


def _functions(manifest: Manifest, identity: tuple[str, ...], key: bytes) -> list[ViewFunction]:
    """The functions that a view needs, from what its manifest holds."""
    kept = Manifest.from_json(manifest.to_json())  # so that a view is restored from exactly what it was made from
    text = json.loads(kept.to_json())
    said = {column["name"]: json.dumps(column, sort_keys=True) for column in text["columns"]}
    result = []
    for column in kept.perturbed:
        address = ("view", kept.table.casefold(), said[column.name], *identity)
        result.append(ViewFunction(PREFIX + subkey(key, *address).hex()[:20], column, identity))
    return result


def _register(con: duckdb.DuckDBPyConnection, table: str, function: ViewFunction, key: bytes) -> list[str]:
    """Make a function unless it is there; returns the names that were made."""
    query = "SELECT count(*) FROM duckdb_functions() WHERE function_name = ?"
    if con.execute(query, [function.name]).fetchall() != [(0,)]:
        return []
    kind = _kind(function.column)
    con.create_function(
        function.name,
        _perturbing(table, function, key),
        [kind, *function.identity],
        kind,
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    _open.add(con)
    return [function.name]


def _perturbing(table: str, function: ViewFunction, key: bytes) -> Callable[..., pa.Array]:
    column = replace(function.column, type=parse_type(_kind(function.column)))
    perturber = cache(lambda kind: _perturber(column, kind))

    def values(array: pa.ChunkedArray, *identity: pa.ChunkedArray) -> pa.Array:
        try:
            rows = row_blocks(identity, key, table)
            return perturber(array.type).values(array, Rows.of(f"view {table!r}", table, key, rows, threads=1))
        except RowError as error:
            reason = error.reason
        raise SourceError(f"view {table!r}, column {column.name!r}: the original now has rows {reason}.")

    # DuckDB counts a function's parameters by its signature and knows nothing of *identity.
    count = 1 + len(function.identity)
    places = [Parameter(f"argument{i}", Parameter.POSITIONAL_ONLY) for i in range(count)]
    values.__signature__ = Signature(places)  # type: ignore[attr-defined]
    return values


def _perturber(column: PerturbedColumn, kind: pa.DataType) -> SingleColumn:
    """What perturbs one value without looking at others."""
    perturber = perturbers_of([Column(column.name, column.type.name, "", column)], [kind])[0]
    assert isinstance(perturber, SingleColumn)
    return perturber


def _create(
    con: duckdb.DuckDBPyConnection, place: Place, query: str, perturbed: Perturbed, functions: Sequence[ViewFunction]
) -> None:
    called = {function.column.name: function.name for function in functions}
    identity = ", ".join(perturbed.layout.identity)
    selected = []
    for column in perturbed.layout.columns:
        name = quote_name(column.name)
        if column.perturbed is None:
            selected.append(name)
        elif column.perturbed.type.family == "enum":
            value = f"{called[column.name]}(CAST({name} AS VARCHAR), {identity})"
            selected.append(f"CAST({value} AS {column.type}) AS {name}")
        else:
            selected.append(f"{called[column.name]}({name}, {identity}) AS {name}")
    make_schema(con, place)
    drop_answers(con, place)
    # A line break, for the query may end with a comment.
    con.execute(f"CREATE OR REPLACE VIEW {place.sql} AS SELECT {', '.join(selected)} FROM (\n{query}\n)")
    write_manifest(con, place, replace(perturbed.manifest, view=perturbed.identity), "view")


def _kind(column: PerturbedColumn) -> str:
    """The type that a function takes and gives: an ENUM's other labels cannot be cast to it, so it travels as text."""
    return "VARCHAR" if column.type.family == "enum" else column.type.name


def _drain(schema: pa.Schema, batches: Batches) -> None:
    for _ in batches:
        pass


@atexit.register
def _close() -> None:
    """DuckDB reports a leak where a connection with functions is still open at the end."""
    for con in list(_open):
        with suppress(duckdb.Error, PpdmError):
            con.close()
