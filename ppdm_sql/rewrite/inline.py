"""Pass over a whole statement: views, WITH and subqueries that only pass rows of a release on are taken into the query.

Superset and its like wrap every query in another. What a subquery selects is put in the place of its names outside, and
its WHERE joins the outer one, until every SELECT that reads a release reads it directly.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.rewrite.refuse import misread, refuse
from ppdm_sql.rewrite.scan import conjunction, grouped
from ppdm_sql.rewrite.scopes import with_query

IsRelease = Callable[[exp.Table], bool]
Definition = Callable[[exp.Table], exp.Query | None]
MAX_VIEWS = 64
PLAIN_PARTS = ("expressions", "from_", "where", "kind")
"""The parts that a SELECT may have to be taken into the one around it."""


def inline(sql: str, tree: exp.Expr, is_release: IsRelease, definition: Definition) -> exp.Expr:
    """Before: `SELECT n FROM (SELECT age AS n FROM t WHERE x) WHERE y`; after: `SELECT age AS n FROM t WHERE x AND y`.

    `definition` gives the query behind a view that reads a release.
    """
    tree = tree.copy()
    _expand_views(sql, tree, definition)
    for clause in list(tree.find_all(exp.With)):
        _expand_with(sql, clause, is_release)
    for select in reversed(list(tree.find_all(exp.Select))):
        while _mergeable(select, is_release):
            _merge(sql, select)
    return tree


def reads_directly(select: exp.Select, is_release: IsRelease) -> bool:
    """Whether a SELECT has a release in its own FROM or JOIN."""
    sources = [select.args.get("from_"), *(select.args.get("joins") or [])]
    tables = [source.this for source in sources if source is not None and isinstance(source.this, exp.Table)]
    return any(with_query(table) is None and is_release(table) for table in tables)


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


def _mergeable(select: exp.Select, is_release: IsRelease) -> bool:
    """Whether the only source of a SELECT is a subquery that passes rows of a release on."""
    source = select.args.get("from_")
    inner = source.this if source is not None else None
    if not isinstance(inner, exp.Subquery) or not isinstance(inner.this, exp.Select) or select.args.get("joins"):
        return False
    body = inner.this
    plain = all(part in PLAIN_PARTS for part, value in body.args.items() if value)
    computed = any(node for item in body.expressions for node in item.find_all(exp.AggFunc, exp.Window, exp.Unnest))
    renamed = inner.args.get("alias") is not None and inner.args["alias"].args.get("columns")
    return plain and not computed and not renamed and reads_directly(body, is_release)


def _merge(sql: str, select: exp.Select) -> None:
    """Take the subquery that a SELECT reads into it."""
    inner = select.args["from_"].this
    body: exp.Select = inner.this
    table = body.args["from_"].this
    for column in body.find_all(exp.Column):
        if column.table.casefold() == table.alias_or_name.casefold():
            column.set("table", None)
    selected = {item.alias_or_name.casefold(): item.unalias() for item in body.expressions if not item.is_star}
    everything = len(selected) < len(body.expressions)
    aliases = {item.alias.casefold() for item in select.expressions if isinstance(item, exp.Alias)}
    for column in [c for c in select.find_all(exp.Column) if c.find_ancestor(exp.Select) is select]:
        name = column.name.casefold()
        if isinstance(column.this, exp.Star) or column.table.casefold() not in ("", inner.alias.casefold()):
            continue
        if name in selected:
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


def _put(column: exp.Column, expression: exp.Expr) -> None:
    """Put an expression in the place of a name; as an item of SELECT it keeps the name."""
    if isinstance(column.parent, exp.Select) and expression.name.casefold() != column.name.casefold():
        column.replace(exp.alias_(expression, column.name, quoted=True))
    else:
        column.replace(grouped(expression))


def _shown(item: exp.Expr, body: exp.Select) -> list[exp.Expr]:
    """What an item of the outer SELECT shows: a star shows all that the subquery selects."""
    if not item.is_star:
        return [item]
    return [exp.alias_(inner.unalias().copy(), inner.alias_or_name, quoted=True) for inner in body.expressions]
