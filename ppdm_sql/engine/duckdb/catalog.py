"""Which tables of a DuckDB connection are releases, and which views and macros read one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import duckdb
from sqlglot import exp

from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.functions import read_functions
from ppdm_sql.release.parquet_release import parquet_manifest
from ppdm_sql.release.stored import MANIFEST_MACRO, stored_manifests
from ppdm_sql.release.stored_rows import Checked, check_stored
from ppdm_sql.syntax.quoting import quote_text

RECONSTRUCTED = "ppdm_sql: the answer to a query on a release"
"""The comment of a view that holds estimates, and no perturbed values."""

TEXT_FUNCTIONS = ("query", "query_table", "json_execute_serialized_sql", "read_duckdb")
"""Functions of DuckDB that run SQL, or read a table, given as text."""

Name = tuple[str, str, str]
"""Database, schema and table, lower-cased."""


@dataclass(frozen=True)
class Catalog:
    """What a connection can see of releases at one moment.

    `releases` go by the names that they are shown under, `stored` has the names under which a database holds their
    rows, and what each is shown as. `readers` are views and macros that read one or could, `views` has the SQL of the
    views among them; `plain` are other tables and views that bear a release's name, `aggregates` the functions that may
    not pass for plain ones, `volatile` the views and macros that give another value at each call, `macros` the
    parameters and definitions of DuckDB's own that aggregate.
    """

    releases: Mapping[Name, Manifest] = field(default_factory=dict)
    stored: Mapping[Name, Name] = field(default_factory=dict)
    readers: frozenset[str] = frozenset()
    views: Mapping[Name, str] = field(default_factory=dict)
    plain: frozenset[Name] = frozenset()
    current: tuple[str, str] = ("memory", "main")
    aggregates: frozenset[str] = frozenset()
    volatile: frozenset[str] = frozenset()
    macros: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)

    def view(self, table: exp.Table) -> str | None:
        """The SQL of the view that reads a release and that a name means here."""
        name, schema, database = (part.casefold() for part in (table.name, table.db, table.catalog))
        here = self.current[0]
        places = [(database, schema)] if database else [(here, schema), (schema, "main")] if schema else []
        return next(
            (
                self.views[*place, name]
                for place in places or [("temp", "main"), self.current]
                if (*place, name) in self.views
            ),
            None,
        )

    def release(self, table: exp.Table) -> Manifest | None:
        """The release that a table name means here; in doubt it is one."""
        name = self._name(table)
        return None if name is None else self.releases[name]

    def _name(self, table: exp.Table) -> Name | None:
        """The name under which the release is shown that a table name means here."""
        name, schema, database = (part.casefold() for part in (table.name, table.db, table.catalog))
        here = self.current[0]
        if database:
            places = [(database, schema)]
        else:
            places = [(here, schema), (schema, "main")] if schema else [("temp", "main"), self.current]
        for place in places:
            shown = self.stored.get((*place, name), (*place, name))
            if shown in self.releases:
                return shown
            if shown in self.plain:
                return None
        if database:
            return None
        found = [(key, key) for key in self.releases] + list(self.stored.items())
        return next((key for at, key in found if at[2] == name and (not schema or schema in at[:2])), None)

    def home(self, table: exp.Table) -> Name | None:
        """The name under which the rows of a release are stored, where that is not the one it is shown under."""
        shown = self._name(table)
        return next((at for at, name in self.stored.items() if name == shown), None)

    @property
    def names(self) -> frozenset[str]:
        """Every name behind which perturbed values stand, and what the names of manifests begin with."""
        return frozenset(key[2] for key in self.releases) | self.readers | self.schemas | {MANIFEST_MACRO}

    @property
    def schemas(self) -> frozenset[str]:
        """The schemas that hold rows of releases."""
        return frozenset(at[1] for at in self.stored)


def read_catalog(
    con: duckdb.DuckDBPyConnection, extra: Mapping[Name, Manifest], checked: Checked | None = None
) -> Catalog:
    """Look for manifests in every attached database; `extra` are releases known otherwise (Parquet files).

    Rows are compared with their manifests, but for those that are `checked`, to which the others are added.
    """
    releases, stored = dict(extra), {}
    functions = read_functions(con)
    found_there = [(place, text, Manifest.from_json(text)) for place, text in stored_manifests(con, functions)]
    if found_there:
        check_stored(con, found_there, set() if checked is None else checked)
    for place, _, manifest in found_there:
        database, shown, at, table = (
            part.casefold() for part in (place.database, place.schema, place.stored_schema, place.name)
        )
        releases[database, shown, table] = manifest
        stored[database, at, table] = (database, shown, table)
    names = {key[2] for key in releases}
    known = {key[2] for key in extra}
    found = con.execute(
        "SELECT database_name, schema_name, view_name, sql FROM duckdb_views() "
        f"WHERE NOT internal AND comment IS DISTINCT FROM {quote_text(RECONSTRUCTED)}"
    ).fetchall()
    views = {
        (database.casefold(), schema.casefold(), name.casefold()): sql or ""
        for database, schema, name, sql in found
        if name.casefold() not in known
    }
    macros = [one for one in functions if one.is_own_macro and not one.name.lower().startswith(MANIFEST_MACRO)]
    definitions: dict[str, str] = {one.name.casefold(): one.definition or "" for one in macros}
    for key, sql in views.items():
        definitions[key[2]] = f"{definitions.get(key[2], '')} {_body(sql)}"
    suspects = {name for name, sql in definitions.items() if _reaches_further(con, sql)}
    readers = _readers(definitions, names, suspects)
    if not releases and not readers:
        return Catalog()
    tables = con.execute(
        "SELECT database_name, schema_name, table_name FROM duckdb_tables() UNION ALL "
        "SELECT database_name, schema_name, view_name FROM duckdb_views() WHERE NOT internal"
    ).fetchall()
    folded = {(database.casefold(), schema.casefold(), name.casefold()) for database, schema, name in tables}
    plain = frozenset(key for key in folded if key[2] in names and key not in releases and key not in stored)
    reading = {key: sql for key, sql in views.items() if key[2] in readers}
    own_macros = {name: macro for name, macro in aggregating_macros().items() if name not in definitions}
    aggregating = frozenset(one.name.casefold() for one in functions if one.kind == "aggregate" or one.is_own_macro)
    database, schema = con.execute("SELECT current_database(), current_schema()").fetchall()[0]
    current = (database.casefold(), schema.casefold())
    drawing = {f"{one.name}(" for one in functions if one.volatile}
    volatile = _readers(definitions, drawing, ()) if definitions else frozenset()
    aggregates = aggregating | own_macros.keys()
    return Catalog(releases, stored, readers, reading, plain, current, aggregates, volatile, own_macros)


@functools.cache
def aggregating_macros() -> Mapping[str, tuple[tuple[str, ...], str]]:
    """DuckDB's own scalar macros that aggregate, by name, those that call another one among them."""
    with duckdb.connect() as con:
        functions = con.execute("SELECT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'")
        aggregates = {name for (name,) in functions.fetchall()}
        macros = con.execute(
            "SELECT function_name, parameters, macro_definition FROM duckdb_functions() "
            "WHERE internal AND function_type = 'macro'"
        ).fetchall()
    found: dict[str, tuple[tuple[str, ...], str]] = {}
    while True:
        known = aggregates | found.keys()
        new = {
            name: (tuple(parameters), sql)
            for name, parameters, sql in macros
            if name not in found and known & set(re.findall(r"(\w+)\(", sql))
        }
        if not new:
            return found
        found |= new


def _reaches_further(con: duckdb.DuckDBPyConnection, definition: str) -> bool:
    """Whether a view or macro reads a release's file, or runs SQL that it is given as text."""
    body = _body(definition)
    if any(re.search(rf"\b{function}\s*\(", body) for function in TEXT_FUNCTIONS):
        return True
    paths = [one or other for one, other in re.findall(r"'([^']+)'|\"([^\"]+)\"", definition)]
    return any(parquet_manifest(con, path) is not None for path in paths if ".parq" in path.casefold() or "*" in path)


def _readers(definitions: Mapping[str, str], names: Iterable[str], suspects: Iterable[str]) -> frozenset[str]:
    """Views and macros whose text mentions a release, directly or through another."""
    readers = set(suspects)
    tainted = set(names) | readers
    grown = True
    while grown:
        mention = re.compile("|".join(map(_mention, sorted(tainted))) or r"(?!)")
        new = {n for n, d in definitions.items() if n not in readers and mention.search(_body(d))}
        grown = bool(new)
        readers |= new
        tainted |= new
    return frozenset(readers)


def _mention(name: str) -> str:
    """A pattern of a name in the text of a view or macro: `p` is no part of `python_arrow_scan`."""
    quoted = name.replace('"', '""')
    return r"(?<!\w)" * quoted[:1].isalnum() + re.escape(quoted) + r"(?!\w)" * quoted[-1:].isalnum()


def _body(definition: str) -> str:
    """What a view or macro reads; the name it has itself does not count."""
    text = definition.casefold()
    return text.split(" as ", maxsplit=1)[1] if text.startswith("create") and " as " in text else text
