"""Names and texts inside SQL, quoted."""

from __future__ import annotations


def quote_name(name: str) -> str:
    """An identifier that may hold anything.

    >>> quote_name('my "own" table')
    '"my ""own"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """A string literal.

    >>> quote_text("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"
