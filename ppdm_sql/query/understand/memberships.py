"""Which items a condition asks a basket for, in whatever words of SQL.

`list_contains(items, 'milk')`, `'milk' = ANY(items)` and `'milk' IN items` ask for one item, `list_has_all` for all of
several, `list_has_any` for one of several. `items IS NULL` asks whether there is a basket at all.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.domain.domain import Scalar
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.syntax.parentheses import bare

ONE = ("list_contains", "list_has", "array_has", "array_contains", "contains", "ppdm_has")
ALL = ("list_has_all", "array_has_all")
ANY = ("list_has_any", "array_has_any")
ITEM = "ppdm_item"
"""Stands for the item where a query unnests a column of baskets."""


@dataclass(frozen=True)
class Asked:
    """`every` (or any) of the items is in the basket; without items: the basket is NULL.

    A `quantified` question looks at the rows of a basket one by one: of a NULL basket there are none, so the answer is
    never NULL. `negated`: it asks for the opposite.
    """

    items: tuple[exp.Expr, ...]
    every: bool = True
    negated: bool = False
    quantified: bool = False


def asked(node: exp.Expr, column: PerturbedColumn) -> Asked | None:
    """What a condition on one column of baskets asks for, None where it asks for something else."""
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and _is(node.this, column):
        return Asked(())
    if isinstance(node, exp.EQ | exp.NEQ):
        return _quantified(node, column)
    if isinstance(node, exp.In) and node.args.get("field") is not None and _is(node.args["field"], column):
        return Asked((node.this,))
    name, arguments = _call(node)
    if len(arguments) != 2 or not _is(arguments[0], column):
        return None
    if name in ONE:
        return Asked((arguments[1],))
    listed = bare(arguments[1])
    if name in (*ALL, *ANY) and isinstance(listed, exp.Array) and listed.expressions:
        return Asked(tuple(listed.expressions), name in ALL)
    return None


def constant(node: exp.Expr, column: PerturbedColumn) -> Scalar | None:
    """The item that a constant stands for, in the type of the items; None where it is no constant, or NULL."""
    node = bare(node)
    if isinstance(node, exp.Cast):
        return constant(node.this, column)
    if isinstance(node, exp.Neg):
        inner = constant(node.this, column)
        return -inner if isinstance(inner, int) else None
    if not isinstance(node, exp.Literal):
        return None
    if not column.whole_items:
        return str(node.this) if node.is_string else None
    try:
        return int(node.this)
    except ValueError:
        return None


def membership(column: PerturbedColumn, item: Scalar) -> exp.Expr:
    """One item as a term: the same text for the same item, however it was asked for."""
    literal = exp.Literal.string(item) if isinstance(item, str) else exp.Literal(this=str(item), is_string=False)
    return exp.ArrayContains(this=column_of(column), expression=literal)


def asked_item(term: exp.Expr) -> Scalar | None:
    """The item of a term, None where the term asks whether there is a basket at all."""
    if not isinstance(term, exp.ArrayContains):
        return None
    literal = term.expression
    return str(literal.this) if literal.is_string else int(literal.this)


def column_of(column: PerturbedColumn) -> exp.Column:
    """The column itself."""
    return exp.column(exp.to_identifier(column.name, quoted=True))


def _quantified(node: exp.EQ | exp.NEQ, column: PerturbedColumn) -> Asked | None:
    """`x = ANY(items)`, and `x <> ALL(items)`, which is its opposite."""
    right = node.expression
    inner = right.this if isinstance(right, exp.Any | exp.All) else None
    kind = type(right)
    if isinstance(right, exp.Anonymous) and right.name.lower() == "all" and len(right.expressions) == 1:
        inner, kind = right.expressions[0], exp.All
    wanted = exp.Any if isinstance(node, exp.EQ) else exp.All
    if inner is None or kind is not wanted or not _is(inner, column):
        return None
    return Asked((node.this,), negated=kind is exp.All, quantified=True)


def _call(node: exp.Expr) -> tuple[str, list[exp.Expr]]:
    names: dict[type[exp.Expr], str] = {
        exp.ArrayContains: "list_contains",
        exp.Contains: "contains",
        exp.ArrayContainsAll: "list_has_all",
        exp.ArrayOverlaps: "list_has_any",
    }
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), node.expressions
    found = names.get(type(node))
    return (found, [node.this, node.expression]) if found else ("", [])


def _is(node: exp.Expr, column: PerturbedColumn) -> bool:
    node = bare(node)
    return isinstance(node, exp.Column) and node.name == column.name


def is_item(node: exp.Expr | None) -> bool:
    """Whether an expression stands for the item of an unnested basket."""
    return isinstance(node, exp.Anonymous) and node.name == ITEM
