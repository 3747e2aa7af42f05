"""Pass over a whole statement: ORDER BY behind UNION and its like says by its position which column it means.

DuckDB compares an expression there with what the members select, before their names are looked for.
"""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.parentheses import bare


def settle_order(tree: exp.Expr) -> None:
    """Before: `SELECT -k AS k .. UNION ALL .. ORDER BY -k`; after: `SELECT -k AS k .. UNION ALL .. ORDER BY 1`."""
    for union in tree.find_all(exp.SetOperation):
        order = union.args.get("order")
        selected = _selected(union) if order is not None else {}
        for item in order.expressions if order is not None else ():
            by = bare(item.this)
            if not isinstance(by, exp.Column | exp.Literal) and _text(by) in selected:
                item.set("this", exp.Literal.number(selected[_text(by)]))


def _selected(query: exp.Expr) -> dict[str, int]:
    """The places of what the members of a union select, by its text; of two the first counts."""
    while isinstance(query, exp.Subquery):
        query = query.this
    if isinstance(query, exp.SetOperation):
        return _selected(query.expression) | _selected(query.this)
    items = query.expressions if isinstance(query, exp.Select) else []
    if any(item.is_star for item in items):
        return {}
    return {_text(bare(item.unalias())): i for i, item in reversed(list(enumerate(items, start=1)))}


def _text(node: exp.Expr) -> str:
    return node.sql(dialect=ANALYST)
