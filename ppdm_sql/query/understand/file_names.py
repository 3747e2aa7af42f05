"""Files in FROM get the name that DuckDB gives them: `FROM 'data/p0.parquet'` reads a table called p0."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.syntax.file_patterns import PATTERN
from ppdm_sql.syntax.scopes import with_query

ENDINGS = (".parquet", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".gz", ".zst")

IsCalled = Callable[[exp.Table, str], bool]
"""Asks the engine whether the columns of what stands in FROM can be named by a name."""


def name_files(tree: exp.Expr, is_called: IsCalled) -> exp.Expr:
    """A statement in which files, and functions that read them, bear the names by which their columns are called.

    Before: `SELECT p0.age FROM 'data/p0.parquet'`; after: `SELECT p0.age FROM 'data/p0.parquet' AS p0`.
    """
    found = [table for table in tree.find_all(exp.Table) if _called(table)]
    if not found:
        return tree
    tree = tree.copy()
    for table in [table for table in tree.find_all(exp.Table) if _called(table)]:
        name = _called(table)
        if is_called(table, name):
            table.set("alias", exp.TableAlias(this=exp.to_identifier(name, quoted=True)))
    return tree


def _called(table: exp.Table) -> str:
    """The name by which DuckDB may call a file without an alias; nothing where it is no file."""
    if table.args.get("alias") is not None or with_query(table) is not None:
        return ""
    if isinstance(table.this, exp.ReadParquet):
        return "read_parquet"
    if isinstance(table.this, exp.Func):
        return ""
    path = ".".join(part.name for part in table.parts)
    if not path.casefold().endswith(ENDINGS):
        return ""
    if any(sign in path for sign in PATTERN):
        return path
    return path.rpartition("/")[2].partition(".")[0]
