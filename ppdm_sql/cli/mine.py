"""`ppdm-sql mine`: decision trees, itemsets and rules from a release."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from ppdm_sql.cli.interrupts import heard_by
from ppdm_sql.cli.output import show
from ppdm_sql.cli.release import open_release
from ppdm_sql.connection import Connection
from ppdm_sql.engines.release_files import manifests
from ppdm_sql.errors import QueryError, TargetError
from ppdm_sql.mining import Tree, association_rules, decision_tree, frequent_itemsets
from ppdm_sql.mining.drawing import draw
from ppdm_sql.mining.tree import Node
from ppdm_sql.policy.basket_column import BasketColumn


def run(arguments: argparse.Namespace) -> int:
    """Print what was found, or write it to a file."""
    table = _table(arguments.release, arguments.table)
    with open_release(arguments.release) as con, heard_by(con.interrupt):
        _KINDS[arguments.kind](con, table, arguments)
    return 0


def _tree(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    tree = decision_tree(
        con, table, arguments.target, arguments.features, depth=arguments.depth, criterion=arguments.criterion
    )
    _write(_shown(tree, arguments.format), arguments.output)


def _itemsets(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    column = _baskets(con, table, arguments.column)
    _show(frequent_itemsets(con, table, column, **_thresholds(arguments)), arguments.format)


def _rules(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    column = _baskets(con, table, arguments.column)
    asked = _thresholds(arguments)
    _show(association_rules(con, table, column, min_confidence=arguments.min_confidence, **asked), arguments.format)


def _thresholds(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in ("min_support", "max_items", "confidence")}


_NO_BASKETS = 'no column of baskets: name another with --table; mechanism = "select_a_size" makes one'
_KINDS: dict[str, Callable[[Connection, str, argparse.Namespace], None]] = {
    "tree": _tree,
    "itemsets": _itemsets,
    "rules": _rules,
}


def _table(release: str, asked: str | None) -> str:
    """The table that is meant; the only one need not be named."""
    names = [manifest.table for manifest in manifests(release)]
    if asked is None and len(names) > 1:
        raise QueryError(f"the release has several tables: name one with --table ({', '.join(names)}).")
    return names[0] if asked is None else asked


def _baskets(con: Connection, table: str, asked: str | None) -> str:
    """The column that is meant; the only one of baskets need not be named."""
    names = [c.name for c in con.manifest(table).columns if isinstance(c.perturbed, BasketColumn)]
    if asked is None and len(names) != 1:
        said = f"several columns of baskets: name one with --column ({', '.join(names)})" if names else _NO_BASKETS
        raise QueryError(f"the table {table} has {said}.")
    return names[0] if asked is None else asked


def _show(found: pa.Table, form: str) -> None:
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    show(found.column_names, [[_cell(value, form) for value in row] for row in rows], form)


def _cell(value: Any, form: str) -> Any:
    return ", ".join(str(item) for item in value) if isinstance(value, list) and form != "json" else value


def _shown(tree: Tree, form: str) -> str:
    if form == "sql":
        return f"{tree.to_sql()}\n"
    if form == "svg":
        return draw(tree)
    if form == "json":
        body = {"table": tree.table, "target": tree.target, "classes": tree.classes, "root": _node(tree.root)}
        return f"{json.dumps(body, ensure_ascii=False, indent=2)}\n"
    return f"{tree}\n"


def _node(node: Node) -> dict[str, Any]:
    body: dict[str, Any] = {"rows": node.rows, "class": node.label}
    if node.children is not None:
        body |= {"condition": node.condition, "yes": _node(node.children[0]), "no": _node(node.children[1])}
    return body


def _write(text: str, output: str | None) -> None:
    if output is None:
        print(text, end="")
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise TargetError(f"{output!r} cannot be written: {reason}.") from None
