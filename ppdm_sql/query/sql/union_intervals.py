"""Pass over an answered statement: intervals beside the estimates of a UNION ALL have the same columns in each member.

What a member knows exactly is both ends of its own interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ppdm_sql.query.understand.scan import named

END = "ppdm_interval_end"
"""Marks the ends of an interval among the items of a SELECT."""


def align_intervals(tree: exp.Expr) -> None:
    """Before: `SELECT n, n_low, n_high .. UNION ALL SELECT 5`; after: `.. UNION ALL SELECT 5, 5, 5`."""
    for union in list(tree.find_all(exp.SetOperation)):
        around = union.parent
        while isinstance(around, exp.Subquery):
            around = around.parent
        if not isinstance(around, exp.SetOperation):
            _align(union)


def _align(union: exp.SetOperation) -> None:
    operations, members = list(_nodes(union, False)), list(_nodes(union, True))
    items = [_items(member) for member in members if isinstance(member, exp.Select)]
    if not any(ends for each in items for _, ends in each):
        return
    if not _can_be_aligned(operations, members, items):
        for member in members:
            member.set("expressions", [item for item in member.expressions if not item.meta.get(END)])
        return
    wide = [any(ends for _, ends in column) for column in zip(*items, strict=True)]
    for member, each in zip(members, items, strict=True):
        found: list[exp.Expr] = []
        for (item, ends), widened in zip(each, wide, strict=True):
            found += [item, *(ends or (_ends(item) if widened else ()))]
        member.set("expressions", found)
    places = [1 + i + 2 * sum(wide[:i]) for i in range(len(wide))]
    for node in operations:
        for ordered in node.args["order"].expressions if node.args.get("order") is not None else ():
            by = ordered.this
            if isinstance(by, exp.Literal) and by.this.isdigit() and 1 <= int(by.this) <= len(places):
                ordered.set("this", exp.Literal.number(places[int(by.this) - 1]))


def _can_be_aligned(
    operations: Sequence[exp.Expr],
    members: Sequence[exp.Expr],
    items: Sequence[Sequence[tuple[exp.Expr, list[exp.Expr]]]],
) -> bool:
    """Whether further columns leave the rows as they are; those of EXCEPT, INTERSECT, UNION depend on all of them."""
    if len(items) < len(members) or any(op.args.get("distinct") or op.args.get("by_name") for op in operations):
        return False
    by_place = (
        isinstance(ordered.this, exp.Literal)
        for member, each in zip(members, items, strict=True)
        if not any(ends for _, ends in each) and member.args.get("order") is not None
        for ordered in member.args["order"].expressions
    )
    starred = any(item.is_star for each in items for item, _ in each)
    return len({len(each) for each in items}) == 1 and not starred and not any(by_place)


def _nodes(query: exp.Expr, members: bool) -> Iterator[exp.Expr]:
    """The set operations that one is put together from, or their members."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        yield from () if members else (query,)
        yield from _nodes(query.this, members)
        yield from _nodes(query.expression, members)
    elif members:
        yield query


def _items(select: exp.Select) -> list[tuple[exp.Expr, list[exp.Expr]]]:
    """The items of a SELECT, each with the ends of its interval."""
    found: list[tuple[exp.Expr, list[exp.Expr]]] = []
    for item in select.expressions:
        if item.meta.get(END):
            found[-1][1].append(item)
        else:
            found.append((item, []))
    return found


def _ends(item: exp.Expr) -> list[exp.Expr]:
    name = item.alias_or_name or "value"
    return [named(item.unalias().copy(), f"{name}_{end}", quoted=True) for end in ("low", "high")]
