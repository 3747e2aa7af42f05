"""Pass over a whole statement: DuckDB's own macros that aggregate, such as geomean, are written out."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from ppdm_sql.syntax.output_names import output_name
from ppdm_sql.syntax.parentheses import grouped
from ppdm_sql.syntax.parse import parse

Macro = tuple[tuple[str, ...], str]
"""Its parameters, and its definition as SQL."""


def write_out(tree: exp.Expr, macros: Mapping[str, Macro]) -> exp.Expr:
    """Before: `SELECT geomean(age) FROM t`; after: `SELECT exp(avg(ln(age))) AS "geomean(age)" FROM t`."""
    if not any(_macro(call, macros) for call in tree.find_all(exp.Anonymous)):
        return tree
    tree = tree.copy()
    for select in tree.find_all(exp.Select):
        for item in select.expressions:
            if any(_macro(call, macros) for call in item.find_all(exp.Anonymous)) and not isinstance(item, exp.Alias):
                item.replace(exp.alias_(item.copy(), output_name(item), quoted=True))
    for call in reversed(list(tree.find_all(exp.Anonymous))):  # the innermost first
        macro = _macro(call, macros)
        if macro is not None:
            call.replace(_written_out(call, macro, macros))
    return tree


def _macro(call: exp.Anonymous, macros: Mapping[str, Macro]) -> Macro | None:
    """The macro that a call is of, where each of its arguments is a plain expression."""
    macro = macros.get(call.name.casefold())
    odd = any(isinstance(argument, exp.Distinct | exp.PropertyEQ | exp.Kwarg) for argument in call.expressions)
    wrapped = isinstance(call.parent, exp.Filter | exp.Window)
    return None if macro is None or odd or wrapped or len(macro[0]) != len(call.expressions) else macro


def _written_out(call: exp.Anonymous, macro: Macro, macros: Mapping[str, Macro]) -> exp.Expr:
    parameters, definition = macro
    values = dict(zip(parameters, call.expressions, strict=True))
    parsed = parse(f"SELECT {definition}")
    assert parsed is not None
    holder = exp.Paren(this=write_out(parsed, macros).expressions[0].unalias())
    for column in list(holder.find_all(exp.Column)):
        column.replace(grouped(values[column.name.casefold()].copy()))
    return grouped(holder.this)
