"""`ppdm-sql query`: ask a release."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Any

from ppdm_sql.cli.interrupts import heard_by
from ppdm_sql.cli.output import show
from ppdm_sql.cli.release import open_release
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import QueryError

FETCHED = 1024
"""Rows that are fetched at once."""


def run(arguments: argparse.Namespace) -> int:
    """Print the answer."""
    sql = sql_of(arguments.sql)
    with open_release(arguments.release, arguments.verify) as con:
        con.execute(f"SET ppdm_method = '{arguments.method}'")
        if arguments.confidence is not None:
            con.execute(f"SET ppdm_confidence = '{arguments.confidence!r}'")
        if arguments.errors:
            con.execute("SET ppdm_errors = 'columns'")
        ask(con, sql, arguments.format)
    return 0


def ask(con: Connection, sql: str, form: str) -> None:
    """Run statements and print the last one's rows; a setting has none."""
    with heard_by(con.interrupt):
        con.execute(sql)
        if con.description is not None:
            show([column[0] for column in con.description], _rows(con), form)


def _rows(con: Connection) -> Iterator[tuple[Any, ...]]:
    try:
        while rows := con.fetchmany(FETCHED):
            yield from rows
    except OverflowError:
        raise QueryError(
            "the result has a value that is too large to be shown, such as an INTERVAL of a million years: cast it to "
            "VARCHAR."
        ) from None


def sql_of(argument: str) -> str:
    """The text itself, or what stdin holds for a dash."""
    try:
        sql = sys.stdin.read() if argument == "-" else argument
        sql.encode()  # where the locale is not UTF-8, bytes that are no text come in disguise
    except UnicodeError:
        raise QueryError("the query on standard input is not UTF-8 text.") from None
    if not sql.strip():
        raise QueryError("the query is empty.")
    return sql
