"""GROUPING SETS, ROLLUP and CUBE: which keys each set groups by, and the sets' groups put under each other.

Every set is reconstructed by itself; the analyst's HAVING, ORDER BY, LIMIT and windows run over all of them together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.query.understand.query import Query
from ppdm_sql.query.understand.scan import PREFIX, key_name, named
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare, grouped
from ppdm_sql.syntax.refuse import misread, refuse

SET = f"{PREFIX}set"
"""The column that numbers the grouping set of a row."""

MAX_SETS = 128
"""Each set is a scan of its own."""

CALLS = (exp.Grouping, exp.GroupingId)


def sets_of(sql: str, items: Iterable[exp.Expr]) -> list[list[exp.Expr]]:
    """The sets that the items of GROUP BY stand for: several items combine, each with each.

    >>> import sqlglot
    >>> group = sqlglot.parse_one("SELECT 1 FROM t GROUP BY a, ROLLUP (b, c)", dialect="duckdb").args["group"]
    >>> [[key.name for key in keys] for keys in sets_of("", group.expressions)]
    [['a', 'b', 'c'], ['a', 'b'], ['a']]
    """
    combined: list[list[exp.Expr]] = [[]]
    for item in items:
        further = list(itertools.islice(_sets(item), MAX_SETS + 1))
        if len(combined) * len(further) > MAX_SETS:
            why = f"it asks for more than {MAX_SETS} groupings, and each is reconstructed by itself."
            refuse(sql, item, why, "Ask for fewer at a time.")
        combined = [[*one, *other] for one in combined for other in further]
    return combined


def _sets(item: exp.Expr) -> Iterator[list[exp.Expr]]:
    if isinstance(item, exp.GroupingSets):
        for inner in item.expressions:
            yield from _sets(inner)
    elif isinstance(item, exp.Rollup | exp.Cube):
        parts = [_members(part) for part in item.expressions]
        for size in range(len(parts), -1, -1):
            chosen = [parts[:size]] if isinstance(item, exp.Rollup) else itertools.combinations(parts, size)
            yield from (list(itertools.chain(*some)) for some in chosen)
    else:
        yield _members(item)


def _members(item: exp.Expr) -> list[exp.Expr]:
    """The expressions of one set."""
    return list(item.expressions) if isinstance(item, exp.Tuple) else [bare(item)]


def each_set(query: Query) -> list[Query]:
    """One query a grouping set; the query itself where there is one grouping."""
    everything = frozenset(range(len(query.keys)))
    return [replace(query, absent=everything - own) for own in query.sets] or [query]


def union(selects: Sequence[exp.Select]) -> exp.Expr:
    """The sets' groups under each other, with the number of the set; each has the same columns."""
    for number, select in enumerate(selects):
        select.set("expressions", [*select.expressions, named(exp.Literal.number(number), SET)])
    result: exp.Expr = selects[0]
    for select in selects[1:]:
        result = exp.Union(this=result, expression=select, distinct=False)
    return result


def absent_key(query: Query, index: int) -> exp.Expr:
    """NULL in the place of a key that a set does not group by; other engines want its type."""
    key = bare(query.keys[index])
    released = query.column(key.name) if isinstance(key, exp.Column) else None
    null: exp.Expr = exp.Null()
    if query.settings.portable and released is not None and released.type.family not in ("enum", "other"):
        null = exp.Cast(this=null, to=exp.DataType.build(released.type.name, dialect=ANALYST))
    return named(null, key_name(index))


def grouping_call(query: Query, call: exp.Expr) -> exp.Expr:
    """GROUPING(a, b): a bit for each argument, 1 where the row's set does not group by it; the last is the lowest."""
    known = {bare(key).sql(dialect=ANALYST): i for i, key in enumerate(query.keys)}
    indices = []
    for argument in call.expressions:
        index = known.get(bare(argument).sql(dialect=ANALYST))
        if index is None:
            misread(query.sql, call, "its arguments must be expressions of GROUP BY.")
        indices.append(index)
    masks = [sum(1 << bit for bit, i in enumerate(reversed(indices)) if i not in own) for own in query.sets]
    if not query.sets:
        return exp.Literal.number(0)
    ifs = [exp.If(this=exp.Literal.number(i), true=exp.Literal.number(mask)) for i, mask in enumerate(masks)]
    return grouped(exp.Case(this=exp.column(SET), ifs=ifs))
