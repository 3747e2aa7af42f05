"""What of releases a statement touches: by name, by file, through functions that read a table given as text.

What cannot be looked into is taken to read a release: no answer is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engine.duckdb.catalog import RECONSTRUCTED, TEXT_FUNCTIONS, Catalog, Name
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.release.parquet_release import parquet_manifest
from ppdm_sql.release.stored import MANIFEST_MACRO
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.file_patterns import PATTERN
from ppdm_sql.syntax.parse import parse
from ppdm_sql.syntax.scopes import with_query
from ppdm_sql.syntax.shown import store

Touched = tuple[exp.Table, Manifest | None]
"""A table and its manifest; None for what reads a release, or could, and cannot be rewritten."""

READERS = (exp.Query, exp.Describe, exp.Pivot, exp.Show, exp.Summarize, exp.Values)
"""Statements that change nothing."""

PARQUET_FUNCTIONS = ("read_parquet", "parquet_scan")
PARQUET_OPTIONS = frozenset(["binary_as_string", "file_row_number", "filename", "hive_partitioning", "union_by_name"])
"""Options under which the columns of a file keep their names."""

PLACES = {"this": "table", "db": "db", "catalog": "catalog"}
"""Where a column names its table."""

STATISTICS = ("duckdb_table_sample", "pragma_storage_info")
"""Functions that tell values of the table they are told."""

SERIALIZED = ("json_serialize_plan",)
"""Functions that are no table and look into one nevertheless."""

FILE_ENDINGS = ("parquet", "duckdb", "db")
"""How the names of files end that DuckDB opens where a table is named."""

SIGNS = ".*?["
"""What the name of a file has, and that of a table hardly."""

SAFE_FUNCTIONS = frozenset(
    {
        "generate_series",
        "generateseries",
        "glob",
        "json_each",
        "json_tree",
        "pg_timezone_names",
        "range",
        "read_blob",
        "read_csv",
        "read_csv_auto",
        "readcsv",
        "read_json",
        "read_json_auto",
        "read_json_objects",
        "read_json_objects_auto",
        "read_ndjson",
        "read_ndjson_auto",
        "read_ndjson_objects",
        "read_text",
        "repeat",
        "sniff_csv",
        "unnest",
        *("parquet_file_metadata", "parquet_kv_metadata", "parquet_schema"),
        *("checkpoint", "force_checkpoint", "enable_logging", "disable_logging", "truncate_duckdb_logs"),
    }
)
SAFE_PREFIXES = ("duckdb_", "pragma_", "ppdm_")


def touched(con: duckdb.DuckDBPyConnection, catalog: Catalog, tree: exp.Expr) -> list[Touched]:
    """The releases that a statement touches."""
    found: list[Touched] = []
    for table in tree.find_all(exp.Table):
        if with_query(table) is None:
            found += [(table, manifest) for manifest in _of_table(con, catalog, table)]
    for call in tree.find_all(exp.Anonymous):
        reads = call.name.casefold() in catalog.readers or call.name.lower() in SERIALIZED
        if reads and not isinstance(call.parent, exp.Table):
            found.append((exp.Table(this=call.copy()), None))
    if not isinstance(tree, READERS):
        found += _changed(catalog, tree)
    if isinstance(tree, exp.Copy | exp.Attach):
        for literal in tree.find_all(exp.Literal):
            manifest = parquet_manifest(con, literal.this) if literal.is_string else None
            if manifest is not None:
                found.append((exp.to_table(literal.this), manifest))
    return found


def _changed(catalog: Catalog, tree: exp.Expr) -> Iterator[Touched]:
    """What a statement that changes something names beside tables: manifests, columns to comment on, whole schemas."""
    for table in () if isinstance(tree, exp.Use) else tree.find_all(exp.Table):
        if table.db.casefold() in catalog.schemas or table.name.casefold().startswith(MANIFEST_MACRO):
            yield table, None
    if isinstance(tree, exp.Comment):
        column = tree.this if isinstance(tree.this, exp.Column) else None
        table = exp.Table(**{key: column.args.get(arg) for key, arg in PLACES.items()}) if column else tree.this
        if catalog.release(table) is not None or tree.expression.name == RECONSTRUCTED:
            yield table, None
    if isinstance(tree, exp.Drop) and str(tree.args.get("kind")).upper() == "SCHEMA":
        for table in tree.args["tables"]:
            if any(schema == table.db.casefold() for _, schema, _ in catalog.releases):
                yield table, None


def located(catalog: Catalog, tree: exp.Expr) -> exp.Expr:
    """A statement in which each release bears the name under which its rows are stored; another one where any does."""
    if not any(_home(catalog, table) for table in tree.find_all(exp.Table)):
        return tree
    tree = tree.copy()
    homes = [(table, _home(catalog, table)) for table in tree.find_all(exp.Table)]
    for column in tree.find_all(exp.Column):
        if column.args.get("db") is not None:
            parts = {"this": column.args["table"], "db": column.args["db"], "catalog": column.args.get("catalog")}
            if catalog.home(exp.Table(**{part: node.copy() for part, node in parts.items() if node is not None})):
                column.set("db", None)
                column.set("catalog", None)
    for table, home in homes:
        if home is not None:
            database, schema, _ = home
            here = database == catalog.current[0] and database != schema
            store(table, schema, None if here else database)
    return tree


def _home(catalog: Catalog, table: exp.Table) -> Name | None:
    return None if isinstance(table.this, exp.Func) or with_query(table) is not None else catalog.home(table)


def _of_table(con: duckdb.DuckDBPyConnection, catalog: Catalog, table: exp.Table) -> Iterator[Manifest | None]:
    if isinstance(table.this, exp.Func):
        yield from _of_function(con, catalog, table.this)
        return
    release = catalog.release(table)
    if release is not None:
        yield release
    elif table.name.casefold() in catalog.readers:
        yield None
    else:
        path = file_name(table)
        if is_database_file(path):
            yield None
        elif any(sign in path for sign in SIGNS) and (manifest := parquet_manifest(con, path)) is not None:
            yield manifest


def file_name(table: exp.Table) -> str:
    """The file that a table's name may be: DuckDB takes a.parquet for one, quoted or not."""
    return ".".join(part.name for part in table.parts)


def is_release_file(con: duckdb.DuckDBPyConnection, path: str) -> bool:
    """Whether a path is that of a release, or of a database, which could hold one."""
    return is_database_file(path) or (any(sign in path for sign in SIGNS) and parquet_manifest(con, path) is not None)


def is_database_file(path: str) -> bool:
    """Whether DuckDB would open a database where this is named as a table."""
    return path.casefold().endswith((".duckdb", ".db")) and (
        any(sign in path for sign in PATTERN) or Path(path).is_file()
    )


def _of_function(con: duckdb.DuckDBPyConnection, catalog: Catalog, call: exp.Func) -> Iterator[Manifest | None]:
    name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
    if name in PARQUET_FUNCTIONS:
        paths = _texts(call)
        if paths is None:
            yield None
            return
        manifest = parquet_manifest(con, paths)
        if manifest is not None:
            yield None if _options(call) - PARQUET_OPTIONS else manifest
    elif name == "query":
        texts = _texts(call)
        inner = parse(texts[0]) if texts else None
        if inner is None or touched(con, catalog, inner):
            yield None
    elif name in STATISTICS:
        texts = _texts(call)
        if not texts or any(True for _ in _of_table(con, catalog, exp.to_table(texts[0], dialect=ANALYST))):
            yield None
    elif name in TEXT_FUNCTIONS or name in catalog.readers or (catalog.releases and not is_safe_function(name)):
        yield None


def is_safe_function(name: str) -> bool:
    """Whether a table function is known to read no table of the database."""
    return name not in STATISTICS and (name in SAFE_FUNCTIONS or name.startswith(SAFE_PREFIXES))


def _options(call: exp.Func) -> set[str]:
    """The names of the options that a function is given after its first argument."""
    return {
        node.this.name.casefold() if isinstance(node, exp.EQ | exp.PropertyEQ | exp.Kwarg) else ""
        for node in call.expressions[1:]
    }


def _texts(call: exp.Func) -> list[str] | None:
    """The plain strings that are a function's first argument, one or a list; None where it is anything else."""
    arguments = call.expressions or [value for value in call.args.values() if isinstance(value, exp.Expr)]
    first = arguments[0] if arguments else None
    nodes = first.expressions if isinstance(first, exp.Array) else [first]
    if not all(isinstance(node, exp.Literal) and node.is_string for node in nodes):
        return None
    return [node.this for node in nodes if node is not None]
