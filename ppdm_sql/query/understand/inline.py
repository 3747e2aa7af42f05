"""Pass over a whole statement: views, WITH and subqueries that only pass rows of a release on are taken into the query.

Superset and its like wrap every query in another. What a subquery selects is put in the place of its names outside, and
its WHERE joins the outer one, until every SELECT that reads a release reads it directly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.query.understand.correlated import (
    LOCAL,
    NamesOf,
    aliases_of,
    qualified,
    qualify_correlated,
    refuse_whole_rows,
)
from ppdm_sql.query.understand.rows import is_of_a_row, is_shadowed, mark_calls, reads_rows
from ppdm_sql.query.understand.scan import conjunction
from ppdm_sql.query.understand.union_order import settle_order
from ppdm_sql.query.understand.with_queries import settle_with
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import grouped, settled
from ppdm_sql.syntax.refuse import misread, refuse
from ppdm_sql.syntax.scopes import with_query

IsRelease = Callable[[exp.Table], bool]
Definition = Callable[[exp.Table], exp.Query | None]
ColumnsOf = Callable[[exp.Table], frozenset[str] | None]
AGGREGATED = (exp.AggFunc, exp.Filter, exp.Window)
COLUMN = "ppdm_column"
"""Marks a name that means the column, though an alias has the name too."""

MAX_VIEWS = 64
PLAIN_PARTS = ("expressions", "from_", "where", "kind")
"""The parts that a SELECT may have to be taken into the one around it."""


@dataclass(frozen=True)
class Tables:
    """What is known of the tables that a statement names.

    `definition` gives the query behind a view that reads a release, `columns_of` the columns of a release, lower-cased,
    `names_of` those of anything that may stand in FROM. `aggregates` are functions that may not pass for plain ones.
    """

    is_release: IsRelease
    definition: Definition
    columns_of: ColumnsOf
    names_of: NamesOf
    aggregates: frozenset[str] = frozenset()


def inline(sql: str, tree: exp.Expr, tables: Tables) -> exp.Expr:
    """Before: `SELECT n FROM (SELECT age AS n FROM t WHERE x) WHERE y`; after: `SELECT age AS n FROM t WHERE x AND y`.

    Names in subqueries say then whose they are.
    """
    is_release, definition = tables.is_release, tables.definition
    for cte in tree.find_all(exp.CTE):
        if is_release(exp.to_table(cte.alias, quoted=True)) or definition(exp.to_table(cte.alias)) is not None:
            refuse(sql, cte, "a query of WITH bears the name of a release that the statement reads.", "Rename it.")
    tree = tree.copy()
    settle_order(tree)
    _expand_views(sql, tree, definition)
    for clause in list(tree.find_all(exp.With)):
        _expand_with(sql, clause, is_release)
    mark_calls(tree, tables.aggregates)
    refuse_whole_rows(sql, tree, tables.names_of, lambda select: reads_rows(select, is_release))
    qualify_correlated(sql, tree, tables.names_of)
    _settle_groups(tree)
    for select in reversed(list(tree.find_all(exp.Select))):
        while _mergeable(select, tables.columns_of):
            _merge(sql, select)
    settle_with(sql, tree, is_release)
    return tree


def _settle_groups(tree: exp.Expr) -> None:
    """GROUP BY ALL says by what it groups: by items without aggregates, and as in DuckDB by the columns of HAVING.

    Constants are left out, and beside aggregates alone there is one row, also over none. A column is no constant,
    though one may stand for it in a subquery.
    """
    for select in tree.find_all(exp.Select):
        group, items = select.args.get("group"), select.expressions
        if group is None or not group.args.get("all"):
            _settle_having(select, _grouped_names(select))
            continue
        if any(item.is_star for item in items):
            continue
        single = [not any(isinstance(node, AGGREGATED) for node in _own(item)) for item in items]
        if all(single):
            continue
        around = {id(column) for column in _correlated(select)}
        named = [i for i, item in enumerate(items) if single[i] and _has_column(item, around)]
        known = {_text(items[i].unalias()) for i in named}
        further = {_text(column): column for column in _having_columns(select) if _text(column) not in known}
        keys = [*(exp.Literal.number(i + 1) for i in named), *(column.copy() for column in further.values())]
        select.set("group", exp.Group(expressions=keys) if keys else None)
        _settle_having(select, frozenset())


def _grouped_names(select: exp.Select) -> frozenset[str]:
    """The names of columns that rows are grouped by: themselves, or by the position or the alias of an item."""
    group, aliases = select.args.get("group"), aliases_of(select)
    found: set[str] = set()
    for key in group.walk(prune=lambda below: isinstance(below, exp.Query)) if group is not None else ():
        place = int(key.this) if isinstance(key, exp.Literal) and not key.is_string and key.this.isdecimal() else 0
        item = select.expressions[place - 1].unalias() if 0 < place <= len(select.expressions) else key
        named = aliases.get(key.name.casefold()) if isinstance(key, exp.Column) else None
        for column in (item, named):
            if isinstance(column, exp.Column):
                found.add(column.name.casefold())
    return frozenset(found)


def _settle_having(select: exp.Select, grouped_names: frozenset[str]) -> None:
    """A name in HAVING is an alias before it is a column, unless rows are grouped by the column.

    Beside GROUP BY ALL the keys are not known yet. Two columns of a subquery may stand for one of the release, so this
    is settled while they are told apart.
    """
    having, aliases = select.args.get("having"), aliases_of(select)
    for column in list(_outside(having)) if having is not None else ():
        if not column.table and column.name.casefold() in aliases.keys() - grouped_names:
            value = exp.Paren(this=aliases[column.name.casefold()].copy())
            for inner in value.find_all(exp.Column):
                inner.meta[COLUMN] = True
            column.replace(value)


def _has_column(item: exp.Expr, around: set[int]) -> bool:
    """Whether an item has a column of the SELECT itself; `around` has those that its subqueries name."""
    own = any(isinstance(node, exp.Column) for node in _own(item))
    return own or any(id(column) in around for column in item.find_all(exp.Column))


def _having_columns(select: exp.Select) -> Iterator[exp.Column]:
    """The columns that HAVING has outside of aggregates, those of aliases in it among them."""
    having = select.args.get("having")
    for column in _outside(having) if having is not None else ():
        alias = None if column.table else aliases_of(select).get(column.name.casefold())
        yield from [column] if alias is None else _outside(alias)


def _outside(node: exp.Expr) -> Iterator[exp.Column]:
    """The columns below a node outside of aggregates, windows and subqueries."""
    found = node.walk(prune=lambda below: isinstance(below, (*AGGREGATED, exp.Query)))
    return (below for below in found if isinstance(below, exp.Column))


def _own(item: exp.Expr) -> Iterator[exp.Expr]:
    """An expression with what is below it, without subqueries."""
    return item.walk(prune=lambda below: isinstance(below, exp.Query))


def _text(node: exp.Expr) -> str:
    return node.sql(dialect=ANALYST).casefold()


def _expand_views(sql: str, tree: exp.Expr, definition: Definition) -> None:
    for _ in range(MAX_VIEWS):
        tables = [table for table in tree.find_all(exp.Table) if with_query(table) is None]
        found = [(table, query) for table in tables if (query := definition(table)) is not None]
        if not found:
            return
        for table, query in found:
            _replace_table(table, query)
    refuse(sql, tree, f"its views are nested more than {MAX_VIEWS} deep.", "")


def _replace_table(table: exp.Table, query: exp.Query) -> None:
    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(table.name, quoted=True))
    table.replace(exp.Subquery(this=query.copy(), alias=alias.copy()))


def _expand_with(sql: str, clause: exp.With, is_release: IsRelease) -> None:
    """Put the queries of WITH that read a release where they are named."""
    owner = clause.parent
    assert owner is not None
    for cte in list(clause.expressions):
        if not any(with_query(table) is None and is_release(table) for table in cte.this.find_all(exp.Table)):
            continue
        if clause.args.get("recursive"):
            refuse(sql, cte, "a recursive query on a release is not supported.", "")
        if cte.args["alias"].args.get("columns"):
            refuse(sql, cte, "renaming columns in WITH is not supported on a release yet.", "Name them in its SELECT.")
        meant = [table for table in owner.find_all(exp.Table) if with_query(table) is cte]
        for table in meant:
            _replace_table(table, cte.this)
        cte.pop()
    if not clause.expressions:
        clause.pop()


def _mergeable(select: exp.Select, columns_of: ColumnsOf) -> bool:
    """Whether the only source of a SELECT is a subquery that passes rows of a release on, and nothing can be mistaken.

    In doubt it is not: a SELECT that hands rows on and is not taken in is refused later.
    """
    source = select.args.get("from_")
    inner = source.this if source is not None else None
    if not isinstance(inner, exp.Subquery) or not isinstance(inner.this, exp.Select) or select.args.get("joins"):
        return False
    body, alias = inner.this, inner.args.get("alias")
    if any(value for part, value in inner.args.items() if part not in ("this", "alias")):
        return False
    if (alias is not None and alias.args.get("columns")) or any(
        value for part, value in body.args.items() if value and part not in PLAIN_PARTS
    ):
        return False
    read = body.args.get("from_")
    columns = columns_of(read.this) if read is not None and isinstance(read.this, exp.Table) else None
    mine = (select, inner, body)
    nested = any(all(query is not one for one in mine) for query in select.find_all(exp.Query, exp.Values))
    if columns is None or (nested and not _keeps_names(select, inner)):
        return False
    return _passes_on(body, columns) and _is_clear(select, inner, columns)


def _keeps_names(select: exp.Select, inner: exp.Subquery) -> bool:
    """Whether every name in a subquery of a SELECT can still be said when `inner` is taken in."""
    base = inner.this.args["from_"].this.alias_or_name
    return all(
        column.table and not is_shadowed(column, select, base)
        for column in _correlated(select)
        if not column.table or column.table.casefold() == inner.alias.casefold()
    )


def _correlated(select: exp.Select) -> Iterator[exp.Column]:
    """The columns in subqueries of a SELECT that may be its own."""
    for column in select.find_all(exp.Column):
        around = column.find_ancestor(exp.Select)
        inside_from = column.find_ancestor(exp.From, exp.Join)
        if around is select or column.meta.get(LOCAL) or is_shadowed(column, select):
            continue
        if inside_from is not None and inside_from.parent is select:
            continue
        yield column


def _passes_on(body: exp.Select, columns: frozenset[str]) -> bool:
    """Whether a SELECT takes each of its columns from the release itself, under names that differ."""
    items = body.expressions
    if any(item.is_star for item in items):
        star = items[0].this if isinstance(items[0], exp.Column) else items[0]
        return len(items) == 1 and not any(star.args.values())
    names = [item.alias_or_name.casefold() for item in items]
    own = {"", body.args["from_"].this.alias_or_name.casefold()}
    known = all(c.name.casefold() in columns and c.table.casefold() in own for c in body.find_all(exp.Column))
    return known and all(is_of_a_row(item) for item in items) and len(set(names)) == len(names) and "" not in names


def _is_clear(select: exp.Select, inner: exp.Subquery, columns: frozenset[str]) -> bool:
    """Whether every name around the subquery means one of the columns that it selects."""
    body = inner.this
    if any(item.is_star for item in body.expressions):
        return True
    selected = {item.alias_or_name.casefold() for item in body.expressions}
    aliases = {item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias)}
    paths = {c.table.casefold() for c in select.find_all(exp.Column) if c.find_ancestor(exp.Select) is select}
    return not aliases & (columns - selected) and not (paths & selected) and not (aliases & selected)


def _merge(sql: str, select: exp.Select) -> None:
    """Take the subquery that a SELECT reads into it."""
    inner = select.args["from_"].this
    body: exp.Select = inner.this
    table = body.args["from_"].this
    for column in body.find_all(exp.Column):
        if column.find_ancestor(exp.Select) is body:
            column.set("table", None)
    everything = any(item.is_star for item in body.expressions)
    selected = {} if everything else {item.alias_or_name.casefold(): item.unalias() for item in body.expressions}
    aliases = {item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias)}
    _merge_below(sql, select, selected)
    for column in [c for c in select.find_all(exp.Column) if c.find_ancestor(exp.Select) is select]:
        name = column.name.casefold()
        if isinstance(column.this, exp.Star):
            continue
        if column.table and column.table.casefold() != inner.alias.casefold():
            if not everything:
                misread(sql, column, "there is no such table here.")
        elif name in selected:
            _put(column, selected[name].copy())
        elif everything:
            column.set("table", None)
        elif column.table or name not in aliases:
            misread(sql, column, f"the subquery {inner.alias} has no such column.".replace("  ", " "))
    if not everything:
        select.set("expressions", [item for old in select.expressions for item in _shown(old, body)])
    wheres = [part.args["where"].this for part in (body, select) if part.args.get("where")]
    if wheres:
        select.set("where", exp.Where(this=conjunction([grouped(where) for where in wheres])))
    select.args["from_"].set("this", table)


def _merge_below(sql: str, select: exp.Select, selected: Mapping[str, exp.Expr]) -> None:
    """Put what the subquery in FROM selects into the other subqueries of a SELECT; without any it selects all."""
    inner = select.args["from_"].this
    base = inner.this.args["from_"].this.alias_or_name
    for column in [c for c in _correlated(select) if inner.alias and c.table.casefold() == inner.alias.casefold()]:
        value = selected.get(column.name.casefold())
        if value is None and selected:
            misread(sql, column, f"the subquery {inner.alias} has no such column.")
        unqualified = exp.column(column.this.copy()) if value is None else value.copy()
        column.replace(settled(qualified(unqualified, base)))


def _put(column: exp.Column, expression: exp.Expr) -> None:
    """Put an expression in the place of a name; as an item of SELECT it keeps the name."""
    if isinstance(column.parent, exp.Select) and expression.name.casefold() != column.name.casefold():
        column.replace(exp.alias_(expression, column.name, quoted=True))
    else:
        column.replace(settled(expression))


def _shown(item: exp.Expr, body: exp.Select) -> list[exp.Expr]:
    """What an item of the outer SELECT shows: a star shows all that the subquery selects."""
    if not item.is_star:
        return [item]
    return [exp.alias_(inner.unalias().copy(), inner.alias_or_name, quoted=True) for inner in body.expressions]
