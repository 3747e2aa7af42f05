"""Pass: every column name is resolved to the release's own spelling, and aliases to what they stand for."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.query.understand.correlated import LOCAL, qualified
from ppdm_sql.query.understand.grouping_sets import sets_of
from ppdm_sql.query.understand.inline import COLUMN
from ppdm_sql.query.understand.query import ALIAS, Query, find_visible, found_column, own_columns
from ppdm_sql.query.understand.rows import is_shadowed, sources
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare, is_number, settled
from ppdm_sql.syntax.refuse import misread, refuse

ANSWERED = "ppdm_answered"
"""Marks a SELECT that is an answer already, with its question: what it reads of a release, it reads rightly."""

CONSTANT = "ppdm_constant"
"""Marks a number that stands for an alias, with its type: without, GROUP BY would read it as a position."""

WRITTEN = "ppdm_written"
"""Has, at a GROUP BY, the keys of its grouping sets as they were written."""

AROUND = "ppdm_around"
"""Marks a column of a query around the one that names it."""

CORRELATED = "ppdm_correlated"
"""Marks a column of the query's own in a subquery of it."""


def resolve_names(query: Query) -> Query:
    """Before: `SELECT a.Age > 30 AS old FROM adult a WHERE old`; after: `SELECT "age" > 30 AS old .. WHERE "age" > 30`.

    A column wins over an alias, as in DuckDB, except where ORDER BY or DISTINCT ON names it alone, and outside of
    aggregates in HAVING, where rows are not grouped by the column itself or GROUP BY ALL finds the keys.
    """
    tree = query.tree
    _keep_names(query)
    aliases = {
        item.alias.casefold(): item.this.copy()
        for item in tree.expressions
        if isinstance(item, exp.Alias) and not item.meta.get("kept")
    }
    _mark_aliases(tree, aliases)
    for item in tree.expressions:
        _resolve(query, item, aliases)
    written = _written(query)
    for part in ("where", "group"):
        node = tree.args.get(part)
        if node is not None:
            _resolve(query, node, aliases)
    query = _grouped(query, tree.args.get("group"), written)
    having = tree.args.get("having")
    if having is not None:
        _prefer_aliases(query, having, aliases)
    for part in ("having", "order", "limit", "offset", "qualify", "distinct"):
        node = tree.args.get(part)
        if node is not None:
            _resolve(query, node, aliases)
    return query


def _mark_aliases(tree: exp.Select, aliases: Mapping[str, exp.Expr]) -> None:
    """Where ORDER BY or DISTINCT ON names an alias alone, it means that item of the SELECT list."""
    order, distinct = tree.args.get("order"), tree.args.get("distinct")
    on = distinct.args.get("on") if distinct is not None else None
    for item in [*(order.expressions if order is not None else ()), *(on.expressions if on is not None else ())]:
        by = bare(item.this if isinstance(item, exp.Ordered) else item)
        if isinstance(by, exp.Column) and not by.table and by.name.casefold() in aliases:
            by.meta[ALIAS] = True


def _prefer_aliases(query: Query, having: exp.Expr, aliases: Mapping[str, exp.Expr]) -> None:
    """Put what aliases stand for into HAVING."""
    group = query.tree.args.get("group")
    by_all = group is not None and group.args.get("all")
    keys = set() if by_all else {bare(key).sql(dialect=ANALYST) for key in query.keys}
    for column in list(own_columns(having)):
        name = column.name.casefold()
        if (
            column.table
            or column.meta.get(COLUMN)
            or name not in aliases
            or column.find_ancestor(exp.AggFunc, exp.Filter, exp.Having) is not having
        ):
            continue
        value = found_column(query.sql, query.names, column)
        if value is None or bare(value).sql(dialect=ANALYST) not in keys:
            column.replace(exp.Paren(this=aliases[name].copy()))


def _keep_names(query: Query) -> None:
    """A column of the result is called as its source calls it, whatever its name becomes."""
    for item in query.tree.expressions:
        if isinstance(item, exp.Column) and not isinstance(item.this, exp.Star):
            found = find_visible(query.sql, query.names, item)
            if found is not None and found.value.name != found.name:
                named = exp.alias_(item.copy(), found.name, quoted=True)
                named.meta["kept"] = True
                item.replace(named)


def _resolve(query: Query, root: exp.Expr, aliases: Mapping[str, exp.Expr], depth: int = 0) -> None:
    for column in list(root.find_all(exp.Column)):
        if isinstance(column.this, exp.Star) and column.find_ancestor(exp.Select) in (None, query.tree):
            continue
        around = column.find_ancestor(exp.Select)  # None in what an alias stands for, which is not in its place yet
        if around is not None and around is not query.tree:
            _resolve_correlated(query, column)
            continue
        if column.meta.get(ALIAS):
            continue
        name = column.name.casefold()
        value = found_column(query.sql, query.names, column)
        if value is not None:
            column.replace(bare(value) if isinstance(column.parent, exp.Alias) else value)
        elif not column.table and name in aliases:
            if depth > 20:
                misread(query.sql, column, "this alias refers to itself.")
            value = aliases[name].copy()
            clause = column.find_ancestor(exp.Group, exp.Order, exp.Distinct) if is_number(value) else None
            inner = exp.paren(value) if clause is None else settled(value)
            inner.meta[CONSTANT] = isinstance(clause, exp.Group)
            _resolve(query, inner, aliases, depth + 1)
            column.replace(inner)
        elif _is_around(query, column):
            column.meta[AROUND] = True
        else:
            _unknown(query, column)


def _resolve_correlated(query: Query, column: exp.Column) -> None:
    """A subquery may name its own tables' columns, and exact columns of the query around it."""
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not query.tree:
        if around.meta.get(ANSWERED):
            return
        around = around.find_ancestor(exp.Select)
    if column.meta.get(LOCAL) or column.meta.get(CORRELATED):
        return
    ours = column.table.casefold() in _qualifiers(query) and not is_shadowed(column, query.tree)
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
    value = found_column(query.sql, query.names, column) if ours else None
    if value is not None:
        value = qualified(value, query.table.alias_or_name)
        for own in value.find_all(exp.Column):
            own.meta[CORRELATED] = True
        column.replace(value)
    elif not column.table and any(one.name.casefold() == column.name.casefold() for one in query.names):
        refuse(query.sql, column, "inside this subquery it is not clear whose column it is.", "Name its table.")


def _may_be_perturbed(query: Query, column: exp.Column, ours: bool) -> bool:
    """Whether a name inside a subquery may reach a perturbed column of the query around it."""
    if column.table and not ours:
        return False
    released = query.column(column.name)
    if released is not None and released.perturbed is not None:
        return True
    name = column.name.casefold()
    return any(query.perturbed_in(one.value) for one in query.names if one.name.casefold() == name)


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


def note_written(sql: str, tree: exp.Expr) -> None:
    """Remember how the keys of each grouping set are written, before a subquery's columns take the place of names."""
    for group in tree.find_all(exp.Group):
        if any(isinstance(item, exp.GroupingSets | exp.Rollup | exp.Cube) for item in group.expressions):
            sets = sets_of(sql, group.expressions)
            group.meta[WRITTEN] = [[_as_written(item) for item in items] for items in sets]


def _written(query: Query) -> list[list[str]]:
    """The keys of each grouping set as they are written, before names are resolved."""
    group = query.tree.args.get("group")
    if group is None or group.args.get("all"):
        return []
    noted: list[list[str]] | None = group.meta.get(WRITTEN)
    return noted or [[_as_written(item) for item in items] for items in sets_of(query.sql, group.expressions)]


def _as_written(item: exp.Expr) -> str:
    """The text of a key; how a name is quoted or capitalised makes no difference."""
    item = item.copy()
    for name in item.find_all(exp.Identifier):
        name.replace(exp.to_identifier(name.name.casefold(), quoted=True))
    return item.sql(dialect=ANALYST)


def _grouped(query: Query, group: exp.Expr | None, written: Sequence[Sequence[str]]) -> Query:
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
    found = zip(sets_of(query.sql, group.expressions), written, strict=True)
    sets = [[_position(query, *pair) for pair in zip(items, texts, strict=True)] for items, texts in found]
    if len(sets) == 1:
        return replace(query, keys=tuple(sets[0]))
    known: dict[str, exp.Expr] = {}
    texts_of: dict[str, set[str]] = {}
    for item, text in zip(itertools.chain(*sets), itertools.chain(*written), strict=True):
        known.setdefault(_text(item), item)
        texts_of.setdefault(_text(item), set()).add(text)
        if len(texts_of[_text(item)]) > 1:
            why = "GROUP BY names it in two ways, which DuckDB takes for two keys in GROUPING SETS, ROLLUP and CUBE."
            refuse(query.sql, item, why, "Name it in one way everywhere.")
    places = {text: i for i, text in enumerate(known)}
    own = tuple(frozenset(places[_text(item)] for item in items) for items in sets)
    return replace(query, keys=tuple(known.values()), sets=own)


def _text(item: exp.Expr) -> str:
    return bare(item).sql(dialect=ANALYST)


def _position(query: Query, item: exp.Expr, written: str) -> exp.Expr:
    """GROUP BY 1 is the first item of the SELECT list; a name that stands for 1 is no position."""
    if isinstance(item, exp.Literal) and not item.is_string and written == item.this:
        items = query.tree.expressions
        number = int(item.this) if item.this.isdigit() else 0
        if not 1 <= number <= len(items):
            misread(query.sql, item, f"GROUP BY position is outside the SELECT list of {len(items)}.")
        return items[number - 1].unalias()  # type: ignore[no-any-return]
    return item.this if item.meta.get(CONSTANT) else item
