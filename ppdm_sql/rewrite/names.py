"""Pass: every column name is resolved to the release's own spelling, and aliases to what they stand for."""

from __future__ import annotations

import difflib
import itertools
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.rewrite.grouping_sets import sets_of
from ppdm_sql.rewrite.query import Query
from ppdm_sql.rewrite.refuse import misread, refuse

ANSWERED = "ppdm_answered"
"""Marks a SELECT that is an answer already: what it reads of a release, it reads rightly."""


def resolve_names(query: Query) -> Query:
    """Before: `SELECT a.Age > 30 AS old FROM adult a WHERE old`; after: `SELECT "age" > 30 AS old .. WHERE "age" > 30`.

    A column wins over an alias, except in ORDER BY, as in DuckDB.
    """
    tree = query.tree
    aliases = {item.alias.casefold(): item.this for item in tree.expressions if isinstance(item, exp.Alias)}
    for item in tree.expressions:
        _resolve(query, item, aliases)
    for part in ("where", "group", "having", "order", "limit", "offset", "qualify"):
        node = tree.args.get(part)
        if node is not None:
            _resolve(query, node, aliases)
    return _grouped(query, tree.args.get("group"))


def _resolve(query: Query, root: exp.Expr, aliases: dict[str, exp.Expr], depth: int = 0) -> None:
    for column in list(root.find_all(exp.Column)):
        if isinstance(column.this, exp.Star) and column.find_ancestor(exp.Select) in (None, query.tree):
            continue
        around = column.find_ancestor(exp.Select)  # None in what an alias stands for, which is not in its place yet
        if around is not None and around is not query.tree:
            _check_correlated(query, column)
            continue
        in_order = column.find_ancestor(exp.Order) is not None
        name = column.name.casefold()
        if in_order and not column.table and name in aliases:
            column.meta["alias"] = True
            continue
        if _is_column(query, column):
            _spell(query, column)
        elif not column.table and name in aliases:
            if depth > 20:
                misread(query.sql, column, "this alias refers to itself.")
            inner = exp.paren(aliases[name].copy())
            _resolve(query, inner, aliases, depth + 1)
            column.replace(inner)
        else:
            _unknown(query, column)


def _check_correlated(query: Query, column: exp.Column) -> None:
    """A subquery may name its own tables' columns, but no perturbed column of the query around it."""
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not query.tree:
        if around.meta.get(ANSWERED):
            return
        around = around.find_ancestor(exp.Select)
    released = query.column(column.name)
    ours = column.table.casefold() in _qualifiers(query)
    whole = isinstance(column.this, exp.Star) or (not column.table and column.name.casefold() in _qualifiers(query))
    if whole and (ours or not column.table):
        refuse(query.sql, column, "inside this subquery it may mean whole rows of the release.", "Name the columns.")
    if released is not None and released.perturbed is not None and (ours or not column.table):
        refuse(
            query.sql,
            column,
            "inside this subquery it may mean the perturbed column of the query around it.",
            "Name its table, if it is another's.",
        )


def _qualifiers(query: Query) -> set[str]:
    return {query.table.alias_or_name.casefold()}


def _is_column(query: Query, column: exp.Column) -> bool:
    if not column.table:
        return query.column(column.name) is not None
    if column.table.casefold() in _qualifiers(query):
        return query.column(column.name) is not None
    return query.column(column.parts[0].name) is not None  # a field of a struct column


def _spell(query: Query, column: exp.Column) -> None:
    """The release's own spelling, without a table name; fields of a struct keep their path."""
    parts = [part.copy() for part in column.parts]
    qualified = column.table and column.table.casefold() in _qualifiers(query) and query.column(column.name)
    if qualified:
        parts = parts[-1:]
    released = query.column(parts[0].name)
    assert released is not None
    first = exp.to_identifier(released.name, quoted=True)
    first.meta.update(column.parts[-1].meta)
    spelled = exp.column(first) if len(parts) == 1 else exp.column(parts[-1], table=first)
    column.replace(spelled)


def _unknown(query: Query, column: exp.Column) -> None:
    names = [c.name for c in query.manifest.columns]
    near = difflib.get_close_matches(column.name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Columns: {', '.join(names)}."
    misread(query.sql, column, f"{query.table.alias_or_name} has no such column. {hint}")


def _grouped(query: Query, group: exp.Expr | None) -> Query:
    if group is None:
        return query
    if group.args.get("all"):
        for item in query.tree.expressions:
            if item.is_star:
                misread(query.sql, item, "a star has no meaning beside GROUP BY ALL.")
        keys = [
            item.unalias()
            for item in query.tree.expressions
            if not any(item.find_all(exp.AggFunc, exp.Window, exp.Query))
        ]
        return replace(query, keys=tuple(keys))
    sets = [[_position(query, item) for item in items] for items in sets_of(query, group.expressions)]
    if len(sets) == 1:
        return replace(query, keys=tuple(sets[0]))
    known: dict[str, exp.Expr] = {}
    for item in itertools.chain(*sets):
        known.setdefault(item.unnest().sql(dialect="duckdb"), item)
    places = {text: i for i, text in enumerate(known)}
    own = tuple(frozenset(places[item.unnest().sql(dialect="duckdb")] for item in items) for items in sets)
    return replace(query, keys=tuple(known.values()), sets=own)


def _position(query: Query, item: exp.Expr) -> exp.Expr:
    """GROUP BY 1 is the first item of the SELECT list."""
    if isinstance(item, exp.Literal) and not item.is_string:
        items = query.tree.expressions
        number = int(item.this) if item.this.isdigit() else 0
        if not 1 <= number <= len(items):
            misread(query.sql, item, f"GROUP BY position is outside the SELECT list of {len(items)}.")
        return items[number - 1].unalias()  # type: ignore[no-any-return]
    return item
