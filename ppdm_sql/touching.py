"""What of releases a statement touches: by name, by file, through functions that read a table given as text.

What cannot be looked into is taken to read a release: no answer is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
from sqlglot import exp

from ppdm_sql.engines.catalog import TEXT_FUNCTIONS, Catalog, parquet_manifest
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.rewrite.parse import parse
from ppdm_sql.rewrite.scopes import with_query

Touched = tuple[exp.Table, Manifest | None]
"""A table and its manifest; None for what reads a release, or could, and cannot be rewritten."""

PARQUET_FUNCTIONS = ("read_parquet", "parquet_scan")
SAFE_FUNCTIONS = frozenset(
    {
        "generate_series",
        "generateseries",
        "glob",
        "range",
        "read_blob",
        "read_csv",
        "read_csv_auto",
        "readcsv",
        "read_json",
        "read_json_auto",
        "read_json_objects",
        "read_ndjson",
        "read_ndjson_auto",
        "read_text",
        "repeat",
        "sniff_csv",
        "unnest",
        *("parquet_file_metadata", "parquet_kv_metadata", "parquet_schema"),
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
        if call.name.casefold() in catalog.readers and not isinstance(call.parent, exp.Table):
            found.append((exp.Table(this=call.copy()), None))
    if isinstance(tree, exp.Copy | exp.Attach):
        for literal in tree.find_all(exp.Literal):
            manifest = parquet_manifest(con, literal.this) if literal.is_string else None
            if manifest is not None:
                found.append((exp.to_table(literal.this), manifest))
    return found


def _of_table(con: duckdb.DuckDBPyConnection, catalog: Catalog, table: exp.Table) -> Iterator[Manifest | None]:
    if isinstance(table.this, exp.Func):
        yield from _of_function(con, catalog, table.this)
        return
    release = catalog.release(table)
    if release is not None:
        yield release
    elif table.name.casefold() in catalog.readers:
        yield None
    elif not table.db and any(sign in table.name for sign in ".*?["):
        manifest = parquet_manifest(con, table.name)
        if manifest is not None:
            yield manifest


def _of_function(con: duckdb.DuckDBPyConnection, catalog: Catalog, call: exp.Func) -> Iterator[Manifest | None]:
    name = (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
    if name in PARQUET_FUNCTIONS:
        paths = _texts(call)
        if paths is None:
            yield None
        yield from (manifest for path in paths or () if (manifest := parquet_manifest(con, path)) is not None)
    elif name == "query":
        texts = _texts(call)
        inner = parse(texts[0]) if texts else None
        if inner is None or touched(con, catalog, inner):
            yield None
    elif name in TEXT_FUNCTIONS or name in catalog.readers or (catalog.releases and not _is_safe(name)):
        yield None


def _is_safe(name: str) -> bool:
    """Whether a table function is known to read no table of the database."""
    return name in SAFE_FUNCTIONS or name.startswith(SAFE_PREFIXES)


def _texts(call: exp.Func) -> list[str] | None:
    """The plain strings that are a function's first argument, one or a list; None where it is anything else."""
    arguments = call.expressions or [value for value in call.args.values() if isinstance(value, exp.Expr)]
    first = arguments[0] if arguments else None
    nodes = first.expressions if isinstance(first, exp.Array) else [first]
    if not all(isinstance(node, exp.Literal) and node.is_string for node in nodes):
        return None
    return [node.this for node in nodes if node is not None]
