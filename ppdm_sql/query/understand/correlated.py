"""Pass over a whole statement: names in a subquery that mean columns of a query around it say whose they are.

DuckDB looks for a name among the columns of the subquery's own tables, then among its aliases, then in the query around
it, and so on outwards. It is looked for here before anything is moved; later a name is what it says.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.query.understand.query import own_columns, path_column
from ppdm_sql.query.understand.rows import is_shadowed, sources
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.refuse import refuse
from ppdm_sql.syntax.scopes import with_query

LOCAL = "ppdm_local"
"""Marks a column of the subquery that names it."""

UNNAMED = "ppdm_unnamed"
"""What a subquery in FROM is called that has no name, and needs one."""

Names = frozenset[str] | None
NamesOf = Callable[[exp.Expr], Names]
"""The columns of what may stand in FROM, lower-cased; None where they are not known."""


def qualify_correlated(sql: str, tree: exp.Expr, names_of: NamesOf) -> None:
    """Before: `SELECT k AS id .. WHERE EXISTS (SELECT 1 FROM d WHERE v = id)`; after: `.. WHERE v = people.k)`."""
    selects = [select for select in tree.find_all(exp.Select) if select.find_ancestor(exp.Select) is not None]
    scopes = _Scopes(sql, names_of)
    for select in selects:
        for column in list(own_columns(select)):
            if column.table:
                scopes.check_shadowed(select, column)
            elif not isinstance(column.this, exp.Star):
                scopes.bind(select, column)
        scopes.check_aggregates(select)


def refuse_whole_rows(sql: str, tree: exp.Expr, names_of: NamesOf, reads_rows: Callable[[exp.Select], bool]) -> None:
    """Refuse the name of a table in the place of a column: DuckDB reads it as whole rows, before any alias."""
    scopes = _Scopes(sql, names_of)
    for select in tree.find_all(exp.Select):
        for column in own_columns(select) if reads_rows(select) else ():
            if column.table or not _is_table(select, column) or _means_alias(select, column):
                continue
            known = [scopes.names(source) for source in sources(select)]
            if not any(names is None or column.name.casefold() in names for names in known):
                refuse(sql, column, "it is a table's name, and means whole rows of it.", "Name the columns.")


def _means_alias(select: exp.Select, column: exp.Column) -> bool:
    """Whether a name means an item of the SELECT list though a table has it: alone in ORDER BY, and in HAVING."""
    if column.name.casefold() not in aliases_of(select):
        return False
    having, distinct = select.args.get("having"), column.parent
    if having is not None and column.find_ancestor(exp.AggFunc, exp.Filter, exp.Having) is having:
        return True
    alone = isinstance(column.parent, exp.Ordered) or (isinstance(distinct, exp.Tuple) and distinct.arg_key == "on")
    return alone and column.find_ancestor(exp.Window, exp.AggFunc, exp.Select) is select


def aliases_of(select: exp.Select) -> dict[str, exp.Expr]:
    """What the aliases of a SELECT stand for, by their names in lower case; of two the last counts."""
    return {item.alias.casefold(): item.this for item in select.expressions if isinstance(item, exp.Alias)}


def qualified(value: exp.Expr, table: str) -> exp.Expr:
    """An expression over the columns of one table, each with the table's name before it."""
    holder = exp.Paren(this=value)
    for column in list(own_columns(holder)):
        column.replace(path_column([exp.to_identifier(table, quoted=True), *column.parts]))
    return holder.this  # type: ignore[no-any-return]


class _Scopes:
    def __init__(self, sql: str, names_of: NamesOf) -> None:
        self.sql, self.names_of = sql, names_of
        self.known: dict[str, Names] = {}
        self.unnamed = 0

    def bind(self, select: exp.Select, column: exp.Column) -> None:
        """Mark a name that is the SELECT's own; say of any other whose it is."""
        name = column.name.casefold()
        known = [self.names(source) for source in sources(select)]
        if any(names is not None and name in names for names in known):
            column.meta[LOCAL] = True
        elif None in known:  # it may be that one's: what it means is not known
            return
        elif name in aliases_of(select):
            column.meta[LOCAL] = True
        else:
            self._outwards(column, select, select.find_ancestor(exp.Select))

    def check_shadowed(self, select: exp.Select, column: exp.Column) -> None:
        """Refuse a column of a table around the subquery, which has another of that name without such a column."""
        own = [source for source in sources(select) if _is_of_source(source, column)]
        known = [self.names(source) for source in sources(select)]
        names = {name for one in known if one is not None for name in one}
        if not own or None in known or names & {column.name.casefold(), column.table.casefold()}:
            return
        level = select.find_ancestor(exp.Select)
        while level is not None:
            around = [self.names(source) for source in sources(level) if _is_of_source(source, column)]
            if any(one is None or column.name.casefold() in one for one in around):
                self._refuse_shadowed(column)
            level = level.find_ancestor(exp.Select)

    def _refuse_shadowed(self, column: exp.Column) -> None:
        why = f"it means a column of the {column.table} around the subquery, which has another table of that name."
        refuse(self.sql, column, why, "Rename one of them by AS.")

    def _outwards(self, column: exp.Column, below: exp.Expr, level: exp.Select | None, depth: int = 0) -> None:
        """Look for a name in the queries around `below`, from `level` on."""
        name = column.name.casefold()
        while level is not None:
            visible = [] if _is_of_with(below, level) else sources(level)
            known = [(source, self.names(source)) for source in visible]
            found = [source for source, names in known if names is not None and name in names]
            if found:
                self._take(column, level, below, found)
                return
            if any(names is None for _, names in known):
                return
            if visible and _is_table(level, column):
                refuse(self.sql, column, "it is a table's name, and means whole rows of it.", "Name the columns.")
            alias = aliases_of(level).get(name) if visible else None
            if alias is not None:
                self._put(column, level, below, alias, depth)
                return
            below, level = level, level.find_ancestor(exp.Select)

    def _take(self, column: exp.Column, level: exp.Select, below: exp.Expr, found: list[exp.Expr]) -> None:
        """Say whose a column of a query around is, where there is one answer."""
        beside = below.find_ancestor(exp.From, exp.Join, exp.Select) is not level  # of a table that stands beside it
        if len(found) > 1 or beside:
            return
        column.set("table", exp.to_identifier(self._name(found[0]), quoted=True))
        if is_shadowed(column, level):
            self._refuse_shadowed(column)

    def _put(self, column: exp.Column, level: exp.Select, below: exp.Expr, alias: exp.Expr, depth: int) -> None:
        """An alias of a query around, in full."""
        if depth > 20 or alias.find(exp.AggFunc, exp.Window, exp.Query) is not None:
            why = "it is an alias of the query around the subquery, of an aggregate, a window or a subquery."
            refuse(self.sql, column, why, "Write what it stands for, or compute it in a subquery of FROM.")
        holder = exp.Paren(this=alias.copy())
        column.replace(holder)
        for inner in list(own_columns(holder)):
            if not inner.table:
                self._outwards(inner, below, level, depth + 1)
        holder.replace(grouped(holder.this))

    def check_aggregates(self, select: exp.Select) -> None:
        """Refuse an aggregate in a subquery that is one of the query around it, as SQL has it."""
        for call in select.find_all(exp.AggFunc):
            columns = list(own_columns(call)) if call.find_ancestor(exp.Select) is select else []
            if columns and not any(column.meta.get(LOCAL) or _is_of(select, column) for column in columns):
                why = "all its columns are of the query around the subquery, so it is an aggregate of that query."
                refuse(self.sql, call, why, "Compute it there, in a subquery of FROM.")

    def _name(self, source: exp.Expr) -> str:
        if not source.alias_or_name:
            self.unnamed += 1
            alias = exp.TableAlias(this=exp.to_identifier(f"{UNNAMED}{self.unnamed}"))
            source.set("alias", alias)
        return str(source.alias_or_name)

    def names(self, source: exp.Expr) -> Names:
        """The columns of a source, those of a subquery by what it selects."""
        alias = source.args.get("alias")
        renamed = [column.name.casefold() for column in alias.args.get("columns") or ()] if alias is not None else []
        query = with_query(source) if isinstance(source, exp.Table) else None
        if isinstance(source, exp.Subquery) or query is not None:
            below = self._selected(source.this if query is None else query.this)
            if query is not None and query.args["alias"].args.get("columns"):
                below = frozenset(column.name.casefold() for column in query.args["alias"].args["columns"])
            return frozenset(renamed) | below if renamed and below is not None else below
        text = source.sql(dialect=ANALYST)
        if text not in self.known:
            self.known[text] = self.names_of(source)
        return self.known[text]

    def _selected(self, query: exp.Expr) -> Names:
        while isinstance(query, exp.Subquery | exp.SetOperation):
            query = query.this
        if not isinstance(query, exp.Select):
            return None
        found: set[str] = set()
        for item in query.expressions:
            star = item.this if isinstance(item, exp.Column) else item
            if item.is_star and any(star.args.values()):
                return None
            if not item.is_star:
                found.add(item.alias_or_name.casefold())
                continue
            table = item.table.casefold() if isinstance(item, exp.Column) else ""
            for source in sources(query):
                if table and source.alias_or_name.casefold() != table:
                    continue
                names = self.names(source)
                if names is None:
                    return None
                found |= names
        return frozenset(found)


def _is_of(select: exp.Select, column: exp.Column) -> bool:
    """Whether a column bears the name of a table that a SELECT reads."""
    return any(_is_of_source(source, column) for source in sources(select))


def _is_of_source(source: exp.Expr, column: exp.Column) -> bool:
    return bool(source.alias_or_name.casefold() == column.table.casefold())


def _is_table(select: exp.Select, column: exp.Column) -> bool:
    """Whether a name without a table's before it is that of a table that a SELECT reads."""
    return any(source.alias_or_name.casefold() == column.name.casefold() for source in sources(select))


def _is_of_with(node: exp.Expr, select: exp.Select) -> bool:
    """Whether a node stands in a query of a SELECT's WITH, which does not see what the SELECT reads."""
    clause = node.find_ancestor(exp.With)
    return clause is not None and clause.parent is select
