"""Which methods of DuckDB's connection ours does not have, and what to use instead; and which pass straight through."""

from __future__ import annotations

_QUERY = "con.sql('SELECT ..'), which answers by reconstruction"

WITHHELD = {
    "from_parquet": "con.sql(\"FROM 'file.parquet'\")",
    "from_query": _QUERY,
    "from_substrait": _QUERY,
    "query_appender": "con.executemany('INSERT ..', rows)",
    "read_parquet": "con.sql(\"FROM 'file.parquet'\")",
    "table": "con.sql('FROM name')",
    "table_function": "con.sql('FROM function(..)')",
    "view": "con.sql('FROM name')",
}
"""These read rows in DuckDB itself, where the perturbed values of a release would pass for true ones."""

RELATIONS = frozenset(["from_arrow", "from_csv_auto", "from_df", "read_csv", "read_json", "values"])
"""These make relations of what cannot be a release."""

TABLES = frozenset(["append", "appender"])
"""These write into the table that they are told; a release is only read."""

# fmt: off
PASSED = frozenset({
    "abort", "array_type", "checkpoint", "complete", "create_function", "decimal_type", "disable_profiling", "dtype",
    "enable_profiling", "enum_type", "extract_statements", "filesystem_is_registered", "get_profiling_information",
    "get_table_names", "install_extension", "list_filesystems", "list_type", "load_extension", "map_type",
    "query_progress", "register_filesystem", "remove_function", "row_type", "sqltype", "string_type", "struct_type",
    "tf", "torch", "type", "union_type", "unregister_filesystem",
})
"""These read no table."""

REACHING = frozenset({
    "checkpoint", "create_function", "enable_profiling", "from_csv_auto", "install_extension", "load_extension",
    "read_csv", "read_json", "register_filesystem",
})
# fmt: on
"""Those of all these that read or write files, or let SQL run code: a locked connection has none of them."""


def why_withheld(name: str) -> str:
    """What an AttributeError says."""
    if name in WITHHELD:
        return (
            f"a ppdm_sql connection has no {name}(): it would read a release's perturbed values as if they were true. "
            f"Use {WITHHELD[name]}."
        )
    return f"'Connection' object has no attribute {name!r}"
