"""Long lists of constants: `IN (1, 2, 3, ..)` with a hundred thousand of them.

A tree has a node for each constant, and every pass over it would pay for all of them. What such a list says is known
before it is read: so in the text a string of the same length stands for it, and in the tree the list's own text, in one
node, as it was written. Places in the text stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST

LONG = 100
"""Lists with more constants than this are taken out."""
EXACT = 10**15
"""Whole numbers below are what they are in DOUBLE too."""

_CONSTANT = r"(?:[+-]?\s*+(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+(?![\w.])|'(?:[^']|'')*+'|NULL\b)"
_LIST = rf"\bIN\s*+\((?P<list>\s*+(?:{_CONSTANT}\s*+,\s*+){{{LONG},}}+{_CONSTANT}\s*+)\)"
_QUOTED = r"\b[eE]'(?:[^'\\]|\\.|'')*+'|'(?:[^']|'')*+'|\"(?:[^\"]|\"\")*+\"|--[^\n]*+|/\*.*?\*/"
_FOUND = re.compile(f"{_QUOTED}|{_LIST}", re.IGNORECASE | re.DOTALL)
_DOLLARS = re.compile(r"\$\w*\$")
_EACH = re.compile(_CONSTANT, re.IGNORECASE)


def take_out(sql: str) -> tuple[str, dict[str, str]]:
    """The text with a string in the place of each long list, and the lists by these strings."""
    lists: dict[str, str] = {}
    if len(sql) < LONG or _DOLLARS.search(sql):  # what stands between dollars is a text of its own
        return sql, lists

    def stand_in(found: re.Match[str]) -> str:
        text = found["list"]
        if text is None:
            return found[0]
        name = f"ppdm_list_{len(lists)}_"
        name += re.sub(r"[^\n]", ".", text[len(name) + 2 :])
        lists[name] = text
        return f"{found[0][: found.start('list') - found.start()]}'{name}')"

    return _FOUND.sub(stand_in, sql), lists


def put_back(tree: exp.Expr, lists: Mapping[str, str]) -> exp.Expr:
    """The tree with the lists in their places, each as one node."""
    for node in list(tree.find_all(exp.Literal)) if lists else ():
        if node.is_string and node.this in lists and isinstance(node.parent, exp.In):
            whole = exp.Var(this=lists[node.this])
            whole.meta.update(node.meta)
            node.replace(whole)
    return tree


def constants(node: exp.In) -> list[exp.Expr]:
    """The constants of a list, one node each."""
    return [each for value in node.expressions for each in (constants_of(value) or [value])]


def constants_of(value: exp.Expr) -> list[exp.Expr]:
    """Those of a list that was taken out; none of anything else."""
    return [_constant(text) for text in _EACH.findall(value.this)] if isinstance(value, exp.Var) else []


def whole_numbers(node: exp.Expr) -> list[int] | None:
    """The numbers of a list that was taken out, where all are whole and short enough to be exact; None elsewhere."""
    if not isinstance(node, exp.Var):
        return None
    try:
        numbers = [int(text) for text in node.this.split(",")]
    except ValueError:
        return None
    return numbers if max(map(abs, numbers)) < EXACT else None


def as_queries(tree: exp.Expr, columns: Container[str]) -> None:
    """Lists of whole numbers that some columns, of whole numbers too, are looked up in, as subqueries of one text.

    DuckDB reads a text of a hundred thousand numbers ten times as fast as a list of them.
    """
    for node in list(tree.find_all(exp.In)):
        column = node.this.unnest()
        if len(node.expressions) != 1 or not isinstance(column, exp.Column) or column.name not in columns:
            continue
        numbers = whole_numbers(node.expressions[0])
        if numbers is not None and node.find_ancestor(exp.Lambda) is None:
            text = exp.Literal.string(",".join(map(str, numbers)))
            split = exp.Anonymous(this="string_split", expressions=[text, exp.Literal.string(",")])
            listed = exp.Anonymous(this="unnest", expressions=[exp.cast(split, "BIGINT[]", dialect=ANALYST)])
            node.set("expressions", [])
            node.set("query", exp.Subquery(this=exp.Select(expressions=[listed])))


def _constant(text: str) -> exp.Expr:
    if text[0] == "'":
        return exp.Literal.string(text[1:-1].replace("''", "'"))
    if text[0] in "nN":
        return exp.Null()
    plain = exp.Literal.number(text.lstrip("+-").strip())
    return exp.Neg(this=plain) if text[0] == "-" else plain
