"""Pass: every column name is resolved to the release's own spelling, and aliases to what they stand for."""

from __future__ import annotations

import difflib
import itertools
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.rewrite.grouping_sets import sets_of
from ppdm_sql.rewrite.query import Query, find_visible, found_column, own_columns
from ppdm_sql.rewrite.refuse import misread, refuse
from ppdm_sql.rewrite.rows import sources
from ppdm_sql.rewrite.scan import grouped

ANSWERED = "ppdm_answered"
"""Marks a SELECT that is an answer already, with its question: what it reads of a release, it reads rightly."""

AROUND = "ppdm_around"
"""Marks a column of a query around the one that names it."""


def resolve_names(query: Query) -> Query:
    """Before: `SELECT a.Age > 30 AS old FROM adult a WHERE old`; after: `SELECT "age" > 30 AS old .. WHERE "age" > 30`.

    A column wins over an alias, except in ORDER BY, as in DuckDB.
    """
    tree = query.tree
    _keep_names(query)
    aliases = {
        item.alias.casefold(): item.this
        for item in tree.expressions
        if isinstance(item, exp.Alias) and not item.meta.get("kept")
    }
    for item in tree.expressions:
        _resolve(query, item, aliases)
    for part in ("where", "group", "having", "order", "limit", "offset", "qualify", "distinct"):
        node = tree.args.get(part)
        if node is not None:
            _resolve(query, node, aliases)
    return _grouped(query, tree.args.get("group"))


def _keep_names(query: Query) -> None:
    """A column of the result is called as its source calls it, whatever its name becomes."""
    for item in query.tree.expressions:
        if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            found = find_visible(query.sql, query.names, item)
            if found is not None and found.value.name != found.name:
                named = exp.alias_(item.copy(), found.name, quoted=True)
                named.meta["kept"] = True
                item.replace(named)


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
        value = found_column(query.sql, query.names, column)
        if value is not None:
            column.replace(value if isinstance(column.parent, exp.Alias) else grouped(value))
        elif not column.table and name in aliases:
            if depth > 20:
                misread(query.sql, column, "this alias refers to itself.")
            inner = exp.paren(aliases[name].copy())
            _resolve(query, inner, aliases, depth + 1)
            column.replace(inner)
        elif _is_around(query, column):
            column.meta[AROUND] = True
        else:
            _unknown(query, column)


def _check_correlated(query: Query, column: exp.Column) -> None:
    """A subquery may name its own tables' columns, but no perturbed column of the query around it."""
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not query.tree:
        if around.meta.get(ANSWERED):
            return
        around = around.find_ancestor(exp.Select)
    ours = column.table.casefold() in _qualifiers(query)
    whole = isinstance(column.this, exp.Star) or (not column.table and column.name.casefold() in _qualifiers(query))
    if whole and (ours or not column.table):
        refuse(query.sql, column, "inside this subquery it may mean whole rows of the release.", "Name the columns.")
    if _may_be_perturbed(query, column, ours):
        refuse(
            query.sql,
            column,
            "inside this subquery it may mean the perturbed column of the query around it.",
            "Name its table, if it is another's.",
        )
    if ours and query.visible and not _is_shadowed(query, column):
        value = found_column(query.sql, query.visible, column)
        if value is not None:
            for below in own_columns(exp.Paren(this=value)):
                below.set("table", exp.to_identifier(query.table.alias_or_name))
            column.replace(value)


def _may_be_perturbed(query: Query, column: exp.Column, ours: bool) -> bool:
    """Whether a name inside a subquery may reach a perturbed column of the query around it."""
    if column.table and not ours:
        return False
    released = query.column(column.name)
    if released is not None and released.perturbed is not None:
        return True
    name = column.name.casefold()
    return any(query.perturbed_in(one.value) for one in query.names if one.name.casefold() == name)


def _is_shadowed(query: Query, column: exp.Column) -> bool:
    """Whether a table of a subquery around a column bears the name that the column is qualified with."""
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not query.tree:
        if any(source.alias_or_name.casefold() == column.table.casefold() for source in sources(around)):
            return True
        around = around.find_ancestor(exp.Select)
    return False


def _is_around(query: Query, column: exp.Column) -> bool:
    """Whether a column is qualified by a table of a SELECT around the query's own."""
    around = query.tree.find_ancestor(exp.Select) if column.table else None
    while around is not None:
        if any(source.alias_or_name.casefold() == column.table.casefold() for source in sources(around)):
            return True
        around = around.find_ancestor(exp.Select)
    return False


def refuse_correlated(query: Query) -> None:
    """Refuse a subquery on a release that would be reconstructed once for each row around it."""
    for column in query.tree.find_all(exp.Column):
        if column.meta.get(AROUND):
            why = "it is of the query around this one, and a release is not reconstructed once for each of its rows."
            remedy = "GROUP BY the release's column in a subquery of its own, and join its answer."
            refuse(query.sql, column, why, remedy)


def _qualifiers(query: Query) -> set[str]:
    return {query.table.alias_or_name.casefold(), *(one.qualifier.casefold() for one in query.visible)}


def _unknown(query: Query, column: exp.Column) -> None:
    names = [one.name for one in query.names]
    near = difflib.get_close_matches(column.name, names, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"Columns: {', '.join(names)}."
    if query.visible:
        misread(query.sql, column, f"no table here has such a column. {hint}")
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
