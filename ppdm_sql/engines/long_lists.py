"""Long lists of constants: `IN (1, 2, 3, ..)` with a hundred thousand of them.

A tree has a node for each constant, and every pass over it would pay for all of them. What such a list says is known
before it is read: so in the text a string of the same length stands for it, and in the tree the list's own text, in one
node, as it was written. Places in the text stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

LONG = 100
"""Lists with more constants than this are taken out."""

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
    if len(node.expressions) != 1 or not isinstance(node.expressions[0], exp.Var):
        return list(node.expressions)
    return [_constant(text) for text in _EACH.findall(node.expressions[0].this)]


def _constant(text: str) -> exp.Expr:
    if text[0] == "'":
        return exp.Literal.string(text[1:-1].replace("''", "'"))
    if text[0] in "nN":
        return exp.Null()
    plain = exp.Literal.number(text.lstrip("+-").strip())
    return exp.Neg(this=plain) if text[0] == "-" else plain
