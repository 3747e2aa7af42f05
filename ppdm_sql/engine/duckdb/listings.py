"""What lists tables shows releases where we show them: `adult` in `main`, not `perturbed.adult`, and no manifests.

DuckDB's own views are taken apart for that: each reads a few functions of DuckDB's catalog, and a subquery that renames
schemas stands in the place of each. The statement's text is kept otherwise, for clients write it as no parser expects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ppdm_sql.engine.duckdb.catalog import Catalog
from ppdm_sql.release.stored import MANIFEST_MACRO
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.quoting import quote_name, quote_text

NUMBERED = ("duckdb_columns", "duckdb_constraints", "duckdb_indexes", "duckdb_tables", "duckdb_views")
"""Functions whose rows have the name and the number of a schema."""
FUNCTIONS = (*NUMBERED, "duckdb_functions", "duckdb_schemas")
READ = re.compile(rf"\b((?:FROM|JOIN) \(?)({'|'.join(FUNCTIONS)})\b(\(\))?")
CALL = re.compile(r"\s*\(\s*\)")
ABOUT_ONE_TABLE = re.compile(r"\b(?:pragma_)?(?:table_info|show)\s*\(\s*'((?:[^']|'')*)'", re.IGNORECASE)
TOLD = re.compile(r"(?:SHOW|PRAGMA|CALL)\b", re.IGNORECASE)
SHOW = re.compile(r"SHOW\s+(.+)", re.IGNORECASE | re.DOTALL)
SHOW_TABLES = re.compile(r"PRAGMA\s+show_tables", re.IGNORECASE)
QUALIFIERS = ("information_schema", "pg_catalog")

Splice = tuple[int, int, str]
"""From where to where of a text something else is put."""


def listed(con: duckdb.DuckDBPyConnection, catalog: Catalog, sql: str, tree: exp.Expr) -> str | None:
    """The text that runs in the place of a statement which lists tables or columns; None for any other."""
    if not catalog.stored:
        return None
    listing = _Listing(con, catalog)
    if isinstance(tree, exp.Show):
        return listing.show(tree)
    pragmas = any(call.name.casefold().startswith("pragma_") for call in tree.find_all(exp.Anonymous))
    return _spliced(sql, [*listing.views(sql, tree), *(listing.names(sql) if pragmas else ())])


def listed_text(con: duckdb.DuckDBPyConnection, catalog: Catalog, sql: str) -> str | None:
    """The same for a statement that is kept as text: SHOW name, PRAGMA and CALL."""
    text = sql.strip().rstrip(";").rstrip()
    if not catalog.stored or not TOLD.match(text):
        return None
    listing = _Listing(con, catalog)
    if SHOW_TABLES.fullmatch(text):
        return listing.show(exp.Show(this="TABLES"))
    if shown := SHOW.fullmatch(text):
        home = listing.home(shown[1])
        return None if home is None else f"DESCRIBE {home}"
    return _spliced(text, [*listing.names(text)])


def _spliced(sql: str, splices: Sequence[Splice]) -> str | None:
    for start, end, text in sorted(splices, reverse=True):
        sql = sql[:start] + text + sql[end:]
    return sql if splices else None


class _Listing:
    def __init__(self, con: duckdb.DuckDBPyConnection, catalog: Catalog) -> None:
        self.con, self.catalog = con, catalog
        self.homes = sorted({(*at[:2], shown[1]) for at, shown in catalog.stored.items()})

    def show(self, tree: exp.Show) -> str | None:
        """SHOW TABLES and SHOW ALL TABLES, with the releases."""
        text = tree.sql(dialect=ANALYST)
        if tree.name == "ALL TABLES":
            schema = self._case('"schema"', '"database"', '"schema"')
            return f'SELECT * REPLACE ({schema} AS "schema") FROM ({text}) ORDER BY "database", "schema", "name"'
        if tree.name != "TABLES":
            return None
        releases = ", ".join(
            f"({quote_text(key[0])}, {quote_text(key[1])}, {quote_text(self.catalog.releases[key].table)})"
            for key in self.catalog.stored.values()
        )
        source = tree.args.get("from_")
        where = "in_search_path(d, s)"
        if source is not None:
            parts = [quote_text(part.casefold()) for part in (source.db, source.name) if part]
            where = f"(d, s) = ({', '.join(parts)})" if len(parts) == 2 else f"{parts[0]} IN (d, s)"
        added = f"SELECT name FROM (VALUES {releases}) AS t(d, s, name) WHERE {where}"
        return f"SELECT name FROM ({text}) UNION SELECT name FROM ({added}) ORDER BY name"

    def views(self, sql: str, tree: exp.Expr) -> Iterator[Splice]:
        """Subqueries for the catalog's views and functions, and columns without the schema of those."""
        found = False
        for table in tree.find_all(exp.Table):
            inner = self._inner(table)
            parts = [part for part in (table.args.get("catalog"), table.args.get("db"), table.this) if part is not None]
            if inner is None or any("start" not in part.meta for part in parts):
                continue
            found = True
            end = parts[-1].meta["end"] + 1
            call = CALL.match(sql, end) if isinstance(table.this, exp.Func) else None
            named = "" if table.alias else f" AS {quote_name(table.this.name)}"
            yield parts[0].meta["start"], end if call is None else call.end(), f"{inner}{named}"
        for column in tree.find_all(exp.Column) if found else ():
            schema = column.args.get("db")
            if schema is not None and schema.name.casefold() in QUALIFIERS:
                first = column.args.get("catalog") or schema
                yield first.meta["start"], column.args["table"].meta["start"], ""

    def names(self, sql: str) -> Iterator[Splice]:
        """The names of rows for functions that take a table's name as text."""
        for match in ABOUT_ONE_TABLE.finditer(sql):
            home = self.home(match[1].replace("''", "'"))
            if home is not None:
                yield *match.span(1), home.replace("'", "''")

    def home(self, name: str) -> str | None:
        """The name of a release's rows; None where a name means no release, or is none."""
        try:
            table = exp.to_table(name, dialect=ANALYST)
        except (SqlglotError, ValueError):  # it has too many parts for a name
            return None
        home = self.catalog.home(table)
        return None if home is None else ".".join(quote_name(part) for part in home)

    def _inner(self, table: exp.Table) -> str | None:
        """The subquery for a function or view of the catalog; None for any other table."""
        if table.this is None:  # that of CREATE SCHEMA
            return None
        name, schema = table.this.name.casefold(), table.db.casefold()
        if isinstance(table.this, exp.Func):
            return self._function(name) if name in FUNCTIONS else None
        own = "SELECT 1 FROM duckdb_tables() WHERE lower(table_name) = $1 AND $2 IN ('', lower(schema_name))"
        schemas = f"schema_name IN ('main', {quote_text(QUALIFIERS[1])})"
        query = (
            f"SELECT sql FROM duckdb_views() WHERE internal AND view_name = $1 AND NOT EXISTS ({own}) "
            f"AND CASE WHEN $2 = '' THEN {schemas} ELSE schema_name = $2 END"
        )
        views = self.con.execute(query, [name, schema]).fetchall()
        return self._body(views[0][0]) if views else None

    def _body(self, view: str) -> str | None:
        body = view.split(" AS ", maxsplit=1)[1].rstrip("; \n")
        changed = READ.sub(self._read, body)
        return None if changed == body else f"({changed})"

    def _read(self, match: re.Match[str]) -> str:
        return match[1] + str(self._function(match[2]) if match[3] else self._inner(exp.to_table(match[2])))

    def _function(self, name: str) -> str:
        if name == "duckdb_functions":
            return f"(SELECT * FROM {name}() WHERE NOT starts_with(lower(function_name), {quote_text(MANIFEST_MACRO)}))"
        if name == "duckdb_schemas":
            hidden = self._case("TRUE", "database_name", "schema_name", "FALSE")
            return f"(SELECT * FROM {name}() WHERE {hidden})"
        schema = self._case("schema_name", "database_name", "schema_name")
        number = (
            "coalesce((SELECT s.oid FROM duckdb_schemas() s WHERE s.database_name = t.database_name AND "
            f"lower(s.schema_name) = lower({self._case('NULL', 't.database_name', 't.schema_name')})), schema_oid)"
        )
        return f"(SELECT * REPLACE ({schema} AS schema_name, {number} AS schema_oid) FROM {name}() t)"

    def _case(self, otherwise: str, database: str, schema: str, then: str | None = None) -> str:
        """The schema that is shown for one that holds rows of releases, or `then`; `otherwise` for any other."""
        cases = [
            f"WHEN lower({database}) = {quote_text(at)} AND lower({schema}) = {quote_text(stored)} "
            f"THEN {then or quote_text(shown)}"
            for at, stored, shown in self.homes
        ]
        return f"CASE {' '.join(cases)} ELSE {otherwise} END"
