"""Which parts of FROM pass rows of a release on: the release itself, a subquery that only picks, renames or joins.

Such parts are read together with the SELECT around them (`relation.py`). Anything else that reads a release is a query
of its own: answered by itself, or refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from sqlglot import exp

from ppdm_sql.syntax.scopes import with_query

IsRelease = Callable[[exp.Table], bool]
Choice = dict[int, int]
"""Which member of each UNION ALL is read: the number of the member, by the identity of the node."""

PASSING_PARTS = ("expressions", "from_", "where", "joins", "kind")
COMPUTED = (
    *(exp.AggFunc, exp.Window, exp.Unnest, exp.Explode, exp.Dot, exp.Lambda, exp.Query),
    *(exp.Columns, exp.PositionalColumn),
)
MULTIPLYING = frozenset(["unlist", "generate_subscripts", "regexp_split_to_table"])
"""Functions that make several rows of one, beside unnest."""

OF_SEVERAL_ROWS = "ppdm_of_several_rows"
"""Marks a call that does not give one value for each row: it aggregates, or makes several rows of one."""


def mark_calls(tree: exp.Expr, aggregates: frozenset[str]) -> None:
    """Mark the calls of functions that do not give one value for each row; `aggregates` has names of such."""
    for call in tree.find_all(exp.Anonymous):
        if call.name.casefold() in MULTIPLYING | aggregates:
            call.meta[OF_SEVERAL_ROWS] = True


def is_of_a_row(item: exp.Expr) -> bool:
    """Whether an expression is computed of one row, and gives one value for it."""
    return not any(isinstance(node, COMPUTED) or node.meta.get(OF_SEVERAL_ROWS) for node in item.walk())


def sources(select: exp.Select) -> list[exp.Expr]:
    """What stands in FROM and JOIN."""
    found = select.args.get("from_")
    return [] if found is None else [found.this, *(join.this for join in select.args.get("joins") or ())]


def is_shadowed(column: exp.Column, select: exp.Select, table: str | None = None) -> bool:
    """Whether a subquery of `select` around a column reads a table of that name, or the name that qualifies it."""
    name = (table or column.table).casefold()
    around = column.find_ancestor(exp.Select)
    while around is not None and around is not select:
        if any(name and source.alias_or_name.casefold() == name for source in sources(around)):
            return True
        around = around.find_ancestor(exp.Select)
    return False


def body(node: exp.Expr) -> exp.Expr | None:
    """The query of a subquery in FROM, without further parentheses; None where it is anything else."""
    if not isinstance(node, exp.Subquery) or any(v for k, v in node.args.items() if v and k not in ("this", "alias")):
        return None
    inner = node.this
    while isinstance(inner, exp.Subquery) and not any(v for k, v in inner.args.items() if v and k != "this"):
        inner = inner.this
    return inner if isinstance(inner, exp.Select | exp.Union) else None


def members(union: exp.Expr) -> list[exp.Expr] | None:
    """The queries that UNION ALL puts below each other, by position; None for any other way to combine queries."""
    inner = union
    while isinstance(inner, exp.Subquery) and not any(v for k, v in inner.args.items() if v and k != "this"):
        inner = inner.this
    if isinstance(inner, exp.Select):
        return [inner]
    known = ("this", "expression", "distinct")
    if not isinstance(inner, exp.Union) or inner.args.get("distinct") is not False:
        return None
    if any(v for k, v in inner.args.items() if v and k not in known):
        return None
    sides = [members(inner.this), members(inner.expression)]
    return None if None in sides else [one for side in sides for one in side or ()]


def passed(node: exp.Expr, is_release: IsRelease) -> list[exp.Expr]:
    """The releases whose rows a source passes on, with the SELECTs that do so; none where it passes none on."""
    if isinstance(node, exp.Table):
        direct = not node.args.get("joins") and with_query(node) is None and is_release(node)
        return [node] if direct else []
    query = body(node)
    if query is None:
        return []
    found: list[exp.Expr] = []
    for select in members(query) or ():
        assert isinstance(select, exp.Select)
        below = [one for source in sources(select) for one in passed(source, is_release)]
        if below and not _only_passes(select):
            return []
        if not below and reads(select, is_release):
            return []
        found += [select, *below] if below else []
    return found


def reads(node: exp.Expr, is_release: IsRelease) -> bool:
    """Whether a release is read anywhere below."""
    return any(with_query(table) is None and is_release(table) for table in node.find_all(exp.Table))


def reads_rows(select: exp.Select, is_release: IsRelease) -> bool:
    """Whether a SELECT reads rows of a release, itself or through what passes them on."""
    return any(passed(source, is_release) for source in sources(select))


def _only_passes(select: exp.Select) -> bool:
    """Whether a SELECT picks rows, and names or computes columns row by row."""
    if any(value for part, value in select.args.items() if value and part not in PASSING_PARTS):
        return False
    return all(is_of_a_row(item) for item in select.expressions)


def choices(select: exp.Select, is_release: IsRelease) -> Iterator[Choice]:
    """Every way to choose one member of each UNION ALL that rows of a release come through."""
    options = []
    for source in sources(select):
        query = body(source)
        parts = members(query) if query is not None and passed(source, is_release) else None
        if parts:
            options.append(
                [{id(query): i} | below for i, part in enumerate(parts) for below in _below(part, is_release)]
            )
    for chosen in itertools.product(*options):
        yield {key: value for one in chosen for key, value in one.items()}


def _below(part: exp.Expr, is_release: IsRelease) -> list[Choice]:
    assert isinstance(part, exp.Select)
    return list(choices(part, is_release))
