"""`ppdm-sql query`: ask a release."""

from __future__ import annotations

import argparse
import sys

from ppdm_sql.cli.output import show
from ppdm_sql.cli.release import open_release
from ppdm_sql.errors import QueryError


def run(arguments: argparse.Namespace) -> int:
    """Print the answer."""
    sql = sql_of(arguments.sql)
    with open_release(arguments.release) as con:
        con.execute(f"SET ppdm_method = '{arguments.method}'")
        if arguments.confidence is not None:
            con.execute(f"SET ppdm_confidence = '{arguments.confidence!r}'")
        if arguments.errors:
            con.execute("SET ppdm_errors = 'columns'")
        show(con.sql(sql), arguments.format)
    return 0


def sql_of(argument: str) -> str:
    """The text itself, or what stdin holds for a dash."""
    try:
        sql = sys.stdin.read() if argument == "-" else argument
    except UnicodeDecodeError:
        raise QueryError("the query on standard input is not UTF-8 text.") from None
    if not sql.strip():
        raise QueryError("the query is empty.")
    return sql
