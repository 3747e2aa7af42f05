"""Text to tree: one statement at a time, with parameters put in as constants."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from ppdm_sql.errors import QueryError

# sqlglot reports syntax that it keeps as plain text on its logger; what matters of that we tell ourselves.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

Parameters = Sequence[Any] | Mapping[str, Any] | None


class WithoutTemplates(DuckDB.Tokenizer):
    """DuckDB's words. sqlglot takes `{# .. #}` for a comment of a template; DuckDB reads what stands in it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        del cls._COMMENTS["{#"]


class DuckDBAsWritten(DuckDB):
    """DuckDB's dialect, without sqlglot's shifting of indices to those of lists that begin at 0."""

    INDEX_OFFSET = 0

    class Tokenizer(WithoutTemplates):
        """The words without templates."""


_TAGGED = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_MARKED = re.compile(r"\$\w+\$")
"""How a text in dollars begins, as `$tag$`, and what looks like one."""


def parse(sql: str) -> exp.Expr | None:
    """The tree of one statement in DuckDB's dialect, or None where sqlglot cannot read it, or reads it otherwise."""
    try:
        if _dollars_misread(sql):
            return None
        found = sqlglot.parse(sql, dialect=DuckDBAsWritten)
    except (SqlglotError, IndexError, ValueError):  # the latter two by mistake, as of SHOW ALL
        return None
    trees = [tree for tree in found if tree is not None and not isinstance(tree, exp.Semicolon)]
    if len(trees) != 1:  # a comment behind a semicolon is a tree of its own
        return None
    tree = trees[0]
    for indexed in tree.find_all(exp.Bracket):
        indexed.set("offset", DuckDB.INDEX_OFFSET)  # or it would be shifted where something else is put before it
    for comprehension in tree.find_all(exp.Comprehension):
        _settle_variable(comprehension)
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "mean" and len(call.expressions) == 1:  # DuckDB's other name for AVG
            mean = exp.Avg(this=call.expressions[0])
            mean.meta.update(call.meta)
            call.replace(mean)
        elif call.name.lower() == "count_star" and not call.expressions:  # how DuckDB writes COUNT(*) in a view
            call.replace(exp.Count(this=exp.Star(), big_int=True))
    return tree


def _dollars_misread(sql: str) -> bool:
    """Whether sqlglot takes parameters for a text in dollars, as `$a-$b, $a-$b`, or a text for a parameter.

    >>> _dollars_misread("SELECT $a-$b, $a-$b"), _dollars_misread("SELECT $a - $b, $tag$ it's $tag$")
    (True, False)
    """
    if sql.count("$") < 2:
        return False
    tokens = sqlglot.tokenize(sql, dialect=DuckDBAsWritten)
    texts = (token.start for token in tokens if token.token_type == TokenType.HEREDOC_STRING)
    marks = (token.start for token in tokens if token.token_type == TokenType.PARAMETER)
    return not all(_TAGGED.match(sql, at) for at in texts) or any(_MARKED.match(sql, at) for at in marks)


def _settle_variable(comprehension: exp.Comprehension) -> None:
    """In `[x + 1 FOR x IN list IF x > 2]` x is no column, like the variable of a lambda."""
    variable = comprehension.expression.name.casefold()
    for part in (comprehension.this, comprehension.args.get("condition")):
        for column in list(part.find_all(exp.Column)) if part is not None else ():
            if not column.table and column.name.casefold() == variable:
                column.replace(column.this)


def number_placeholders(sql: str) -> str:
    """Give each `?` its number, for the order of a tree's nodes is not that of the text.

    A space of the text that follows is not needed: `$1` ends where a name or number cannot go on.

    >>> number_placeholders("SELECT ? + ?")
    'SELECT $1 + $2'
    """
    if "?" not in sql:
        return sql
    pieces, last, number = [], 0, 0
    for token in sqlglot.tokenize(sql, dialect=DuckDBAsWritten):
        if token.token_type == TokenType.PLACEHOLDER and token.text == "?":
            number += 1
            pieces += [sql[last : token.start], f"${number}"]
            last = token.end + 1
    return "".join([*pieces, sql[last:]])


def known_parameters(tree: exp.Expr, parameters: Parameters) -> exp.Expr:
    """The tree with the parameters put in that there are values for, to see what a statement is about."""
    try:
        return bind_parameters(tree, parameters)
    except (QueryError, TypeError):  # what is wrong with them, DuckDB will say
        return tree


def bind_parameters(tree: exp.Expr, parameters: Parameters) -> exp.Expr:
    """Replace $1, $2, .. and $name by the values given for them."""
    given: dict[str, Any] = {}
    if isinstance(parameters, Mapping):
        given = {str(name): value for name, value in parameters.items()}
    elif parameters is not None:
        given = {str(i): value for i, value in enumerate(parameters, start=1)}
    if not given and tree.find(exp.Placeholder, exp.Parameter) is None:
        return tree
    used: set[str] = set()

    def put(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Placeholder | exp.Parameter):
            return node
        name = node.name
        if name not in given:
            raise QueryError(f"the query's parameter ${name} was given no value.")
        used.add(name)
        return _constant(name, given[name])

    bound = tree.transform(put)
    unused = sorted(set(given) - used)
    if unused:
        raise QueryError(f"values were given for parameters that the query does not have: {', '.join(unused)}.")
    return bound


def _constant(name: str, value: Any) -> exp.Expr:
    if isinstance(value, float) and not math.isfinite(value):
        return exp.cast(exp.Literal.string(str(value)), "DOUBLE")
    try:
        return exp.convert(value)
    except ValueError:
        raise QueryError(f"parameter ${name} is a {type(value).__name__}, which has no SQL constant.") from None
