"""Locked connections: SQL of strangers may ask the release, and reach nothing else.

DuckDB itself is told to open no file but the release, to load no extension and to change no setting. On top of that
only statements that read are let through, and of DuckDB's functions that give a table only those that are known to
tell nothing of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
from sqlglot import exp

from ppdm_sql.engines.dense_groups import SETTING
from ppdm_sql.engines.quoting import quote_text
from ppdm_sql.errors import Locked
from ppdm_sql.statement_text import STATEMENTS, read, statement_inside, words_of
from ppdm_sql.touching import PARQUET_FUNCTIONS, READERS

CLOSED = {
    "allow_community_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "temp_directory": "''",
    "allowed_configs": f"['{SETTING}', 'schema', 'search_path']",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""Settings of DuckDB, in the order in which they are made. The configs are those that we change ourselves."""

TABLES = frozenset(
    {
        *("duckdb_columns", "duckdb_constraints", "duckdb_functions", "duckdb_indexes", "duckdb_keywords"),
        *("duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views", "generate_series", "icu_calendar_names"),
        *("json_each", "json_tree", "pg_timezone_names", "pragma_collations", "pragma_table_info", "pragma_version"),
        *("range", "generateseries", "unnest", "explode"),
        *PARQUET_FUNCTIONS,
    }
)
"""Functions that give a table, and views of DuckDB's by the same names, which tell nothing of the machine."""

PREFIXES = ("duckdb_", "pragma_")
MACHINE = frozenset(["pg_settings", "current_setting", "getenv", "write_log", "getvariable", "json_serialize_plan"])
"""Other views and functions that tell settings, or write."""

SERIES = frozenset(["generate_series", "range"])
LENGTHS = frozenset(["array_resize", "bar", "list_resize", "pad", "repeat"])
"""Functions that make one value as long as they are told: by each of their arguments, or by those after the first."""

LONGEST = 10_000
"""Such a value is not counted by DuckDB's memory limit, nor can its making be interrupted."""

SHOWN = frozenset(["tables", "databases", "schemas", "all"])


def lock(con: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """Let DuckDB open these files and no others, and let nothing of that be changed again."""
    listed = ", ".join(quote_text(str(file)) for file in files)
    con.execute(f"SET allowed_paths = [{listed}]")
    for name, value in CLOSED.items():
        con.execute(f"SET {name} = {value}")


def check_locked(con: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse what a locked connection does not run: all but reading, and reading of what is none of the release's."""
    words = [word.folded for word in words_of(sql, 2)]
    first = words[0] if words else ""
    if first == "show" and len(words) > 1:
        _check_shown(con, words[1])
        return
    inside = statement_inside(sql) if first == "explain" else None
    tree = read(sql if inside is None else inside)
    if not isinstance(tree, READERS):
        raise Locked(
            f"this connection is locked: {first.upper() or 'this'} is not allowed, only queries and SET ppdm_.. are."
        )
    _check_inside(tree)


def check_part(what: str, tree: exp.Expr | None) -> None:
    """Refuse what a text that becomes part of a query may not hold, nor what cannot be read of it."""
    if tree is None or (isinstance(tree, STATEMENTS) and not isinstance(tree, READERS)):
        raise Locked(f"this connection is locked: what {what} was given is not a part of a query that can be read.")
    _check_inside(tree)


def _check_inside(tree: exp.Expr) -> None:
    for table in tree.find_all(exp.Table):
        _check_table(table)
    for call in tree.find_all(exp.Func):
        _check_call(call)


def _check_shown(con: duckdb.DuckDBPyConnection, name: str) -> None:
    settings = {setting.casefold() for (setting,) in con.execute("SELECT name FROM duckdb_settings()").fetchall()}
    if name not in SHOWN and name in settings:
        raise Locked(f"this connection is locked: its setting {name} is not shown.")


def _check_table(table: exp.Table) -> None:
    function = isinstance(table.this, exp.Func)
    name = _name_of(table.this) if function else table.name.casefold()
    known = name in TABLES if function or name.startswith(PREFIXES) else name not in MACHINE
    if not known:
        raise Locked(f"this connection is locked: {name} could tell of the machine it runs on, and is not allowed.")


def _check_call(call: exp.Func) -> None:
    name = _name_of(call)
    if name in MACHINE:
        raise Locked(f"this connection is locked: {name} could tell of the machine it runs on, and is not allowed.")
    if name in SERIES | LENGTHS and not isinstance(call.parent, exp.Table):
        arguments = list(call.iter_expressions())
        behind = name in SERIES or isinstance(call.parent, exp.Dot)  # 'x'.repeat(5) has the first one before the dot
        sizes = [size for size in (arguments if behind else arguments[1:]) if not size.is_string]
        if not all(_is_small(size) for size in sizes):
            raise Locked(
                f"this connection is locked: {name} makes a value as long as it is told, which must be a number up to "
                f"{LONGEST:,}. In FROM there is no such limit."
            )


def _is_small(size: exp.Expr) -> bool:
    number = size.this if isinstance(size, exp.Neg) else size
    return isinstance(number, exp.Literal) and float(number.this) <= LONGEST


def _name_of(call: exp.Expr) -> str:
    named = call.name if isinstance(call, exp.Anonymous) else call.sql_name()  # type: ignore[attr-defined]  # an Expr
    return str(named).casefold()
