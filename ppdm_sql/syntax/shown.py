"""Rows of a release are stored under one name and shown under another: what runs has the one, texts have the other."""

from __future__ import annotations

from sqlglot import exp

SHOWN = "shown"


def store(table: exp.Table, schema: str, database: str | None) -> None:
    """Let a table's name mean what is stored in a schema; it remembers how it was written."""
    table.meta[SHOWN] = (table.args.get("db"), table.args.get("catalog"))
    home = exp.to_identifier(schema, quoted=True)
    home.meta.update(table.parts[0].meta)  # where the name stands in the text, for what may be said about it
    table.set("db", home)
    table.set("catalog", None if database is None else exp.to_identifier(database, quoted=True))


def shown(node: exp.Expr) -> exp.Expr:
    """A statement, or a part of one, as it was written before `store`."""
    if not any(SHOWN in table.meta for table in node.find_all(exp.Table)):
        return node
    node = node.copy()
    for table in node.find_all(exp.Table):
        if SHOWN in table.meta:
            schema, database = table.meta[SHOWN]
            table.set("db", schema)
            table.set("catalog", database)
    return node
