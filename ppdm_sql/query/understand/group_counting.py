"""Refuse to count groups that are shown though nobody may be in them, and to ask whether there is such a group.

Of a perturbed column there is a group for each value of its domain, and beside a condition on one there is a group
wherever the other conditions leave one. What is summed or picked by size does not depend on groups without anybody;
their number, their mean and their extremes do.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from ppdm_sql.query.understand.estimates import as_written
from ppdm_sql.query.understand.names import ANSWERED
from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.shape import is_windowed
from ppdm_sql.syntax.parentheses import bare
from ppdm_sql.syntax.refuse import refuse
from ppdm_sql.syntax.scopes import with_query

DOMAIN_GROUPS = "ppdm_domain_groups"
"""Marks an answer whose groups may have nobody: the reason, and which of its items are sums over rows."""

ADDED = (exp.Count, exp.CountIf, exp.Sum)
COUNTING_WINDOWS = (exp.Ntile, exp.PercentRank, exp.CumeDist)
WITHOUT_GROUPS = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
ONE_AT_A_TIME = "Sum what the groups count, or ask for the rows of one value at a time."
WITH_FILTER = "Sum what the groups count, or put the condition into FILTER (WHERE ..) of their aggregates."


def mark_groups(query: Query, statement: exp.Select) -> None:
    """Mark the answer of a query some of whose groups may have nobody, and refuse to count them in the query itself."""
    reason = _reason(query)
    if reason is None:
        return
    for window in query.tree.find_all(exp.Window):
        if window.find_ancestor(exp.Select) is query.tree:
            _check_aggregate(query.sql, window.this, reason, None)
    items = {item.alias_or_name.casefold() for item in query.tree.expressions if _is_added(item.unalias(), None)}
    statement.meta[DOMAIN_GROUPS] = (reason, frozenset(items))


def _reason(query: Query) -> str | None:
    """Why nobody may be in a group that is shown; nothing where every group has somebody for certain."""
    if query.present is not None or not query.keys:
        return None
    if query.labels:
        column = query.perturbed_in(query.keys[min(query.labels)])[0].name
        return f"those of {column}, which is perturbed, are all of its domain. {ONE_AT_A_TIME}"
    if query.hidden:
        column = query.perturbed_in(query.hidden[0])[0].name
        return f"whether anybody is in one depends on {column}, which is perturbed. {WITH_FILTER}"
    return None


def refuse_counted_groups(sql: str, tree: exp.Expr) -> None:
    """Refuse whatever in a statement depends on how many groups an answer inside it has, or on whether it has one."""
    if not any(DOMAIN_GROUPS in select.meta for select in tree.find_all(exp.Select)):
        return
    for select in tree.find_all(exp.Select):
        groups = None if DOMAIN_GROUPS in select.meta else _groups_of(select)
        if groups is None or select.meta.get(ANSWERED):
            continue
        for node in select.find_all(exp.AggFunc):
            if node.find_ancestor(exp.Select) is select:
                _check_aggregate(sql, node, *groups)
        _check_outer_joins(sql, select, groups[0])
    for test, inside in _tests(tree):
        groups = _passed(inside)
        if groups is not None:
            _refuse(sql, test, groups[0])


def _tests(tree: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """What asks whether there is a row, and the rows that it asks of."""
    for node in tree.find_all(exp.Exists, exp.In, exp.Any, exp.All, exp.Join, exp.Except, exp.Intersect):
        if isinstance(node, exp.Except | exp.Intersect):
            yield node, node.right
        elif isinstance(node, exp.Join):
            if node.kind in ("SEMI", "ANTI"):
                yield node, node.this
        elif isinstance(node, exp.In):
            if "query" in node.args:
                yield node, node.args["query"]
        else:
            yield node, node.this


def _check_outer_joins(sql: str, select: exp.Select, reason: str) -> None:
    """Refuse `IS NULL`, which tells beside an outer join whether there was a group to join."""
    if any(join.side for join in select.args.get("joins") or ()):
        for test in select.find_all(exp.Is):
            column = isinstance(bare(test.this), exp.Column)
            if column and isinstance(test.expression, exp.Null) and test.find_ancestor(exp.Select) is select:
                _refuse(sql, test, reason)


def _check_aggregate(sql: str, node: exp.Expr, reason: str, added: frozenset[str] | None) -> None:
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        node = node.this
    if isinstance(node, WITHOUT_GROUPS):
        return
    if isinstance(node, exp.Sum | exp.Max) and _is_added(node.this, added):
        return
    if isinstance(node, exp.ArgMax) and _is_added(node.expression, added):
        return
    if isinstance(node, (exp.AggFunc, *COUNTING_WINDOWS)):
        _refuse(sql, node, reason)


def _refuse(sql: str, node: exp.Expr, reason: str) -> None:
    refuse(sql, as_written(node), f"it depends on how many groups there are, and {reason}", "")


def _is_added(node: exp.Expr, added: frozenset[str] | None) -> bool:
    """Whether a group without anybody makes it zero; `added` are the columns that do, None among aggregates."""
    node = bare(node)
    if isinstance(node, exp.Column):
        return added is not None and node.name.casefold() in added
    if isinstance(node, ADDED):
        return added is None and not isinstance(node.this, exp.Distinct)
    if isinstance(node, exp.Neg | exp.Cast | exp.Round | exp.Filter | exp.Alias):
        return _is_added(node.this, added)
    if isinstance(node, exp.Add | exp.Sub):
        return _is_added(node.this, added) and _is_added(node.expression, added)
    if isinstance(node, exp.Mul):
        return _is_added(node.this, added) or _is_added(node.expression, added)
    if isinstance(node, exp.Div):
        return _is_added(node.this, added)
    if isinstance(node, exp.Greatest):
        return _is_added(node.this, added) and all(_is_zero(one) for one in node.expressions)
    if isinstance(node, exp.Coalesce):
        return _is_added(node.this, added) and all(_is_zero(one) for one in node.expressions)
    if isinstance(node, exp.Case):
        outcomes = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
        return all(one is None or _is_zero(one) or _is_added(one, added) for one in outcomes)
    return False


def _is_zero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Null) or (isinstance(node, exp.Literal) and node.is_number and float(node.this) == 0)


def _sources(select: exp.Select) -> Iterator[exp.Expr]:
    clause = select.args.get("from_")
    if clause is not None:
        yield clause.this
    yield from (join.this for join in select.args.get("joins") or ())


def _passed(node: exp.Expr) -> tuple[str, frozenset[str]] | None:
    """Groups that may have nobody among the rows of what stands in FROM: the reason, and what is added up in them."""
    if isinstance(node, exp.Table):
        query = with_query(node)
        return None if query is None else _passed(query.this)
    if isinstance(node, exp.Subquery):
        return _passed(node.this)
    if isinstance(node, exp.SetOperation):
        sides = [found for side in (node.left, node.right) if (found := _passed(side)) is not None]
        return (sides[0][0], frozenset.intersection(*(side[1] for side in sides))) if sides else None
    if not isinstance(node, exp.Select):
        return None
    if DOMAIN_GROUPS in node.meta:
        reason, items = node.meta[DOMAIN_GROUPS]
        return reason, items
    found = _groups_of(node)
    if found is None or (_aggregates(node) and not node.args.get("group")):
        return None
    reason, added = found
    passed = {item.alias_or_name.casefold() for item in node.expressions if _is_passed(item.unalias(), added)}
    return reason, frozenset(passed | (added if any(item.is_star for item in node.expressions) else set()))


def _is_passed(node: exp.Expr, added: frozenset[str]) -> bool:
    return _is_added(node.this if isinstance(node, exp.Sum) else node, added)


def _groups_of(select: exp.Select) -> tuple[str, frozenset[str]] | None:
    found = [groups for source in _sources(select) if (groups := _passed(source)) is not None]
    return (found[0][0], frozenset[str]().union(*(groups[1] for groups in found))) if found else None


def _aggregates(select: exp.Select) -> bool:
    return any(
        not is_windowed(node) for node in select.find_all(exp.AggFunc) if node.find_ancestor(exp.Select) is select
    )
