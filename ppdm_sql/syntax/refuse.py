"""Refusals: what cannot be answered, where it stands, and what to do instead."""

from __future__ import annotations

import re
from typing import NoReturn

from sqlglot import exp

from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.shown import shown


def refuse(sql: str, node: exp.Expr, why: str, remedy: str) -> NoReturn:
    """Raise Unsupported for `node`."""
    raise Unsupported(f"Unsupported: {show(node)} ({place(sql, node)}): {why} {remedy}".rstrip())


def misread(sql: str, node: exp.Expr, what: str) -> NoReturn:
    """Raise QueryError: the query itself is wrong."""
    raise QueryError(f"{show(node)} ({place(sql, node)}): {what}")


def show(node: exp.Expr) -> str:
    """The expression as SQL, cut to a readable length."""
    text = shown(node).sql(dialect=ANALYST, normalize_functions="lower", comments=False)
    return text if len(text) <= 80 else text[:77] + "..."


def place(sql: str, node: exp.Expr) -> str:
    """Line and column of the expression in the text that was sent.

    >>> import sqlglot
    >>> text = "SELECT min(age) FROM adult"
    >>> place(text, sqlglot.parse_one(text).expressions[0])
    'line 1, column 8'
    """
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    if not starts:
        return "somewhere in the query"
    start = min(starts)
    if isinstance(node, exp.Func) and "start" not in node.meta:
        before = re.search(r"\w+\s*\(\s*(DISTINCT\s+)?$", sql[:start], re.IGNORECASE)
        start = before.start() if before else start
    before_text = sql[:start]
    return f"line {before_text.count(chr(10)) + 1}, column {start - (before_text.rfind(chr(10)) + 1) + 1}"
