"""`ppdm-sql mine`: decision trees from a release."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ppdm_sql.cli.interrupts import heard_by
from ppdm_sql.cli.release import open_release
from ppdm_sql.engines.release_files import manifests
from ppdm_sql.errors import QueryError, TargetError
from ppdm_sql.mining import Tree, decision_tree
from ppdm_sql.mining.drawing import draw
from ppdm_sql.mining.tree import Node


def run(arguments: argparse.Namespace) -> int:
    """Print what was found, or write it to a file."""
    table = _table(arguments.release, arguments.table)
    with open_release(arguments.release) as con, heard_by(con.interrupt):
        tree = decision_tree(
            con,
            table,
            arguments.target,
            arguments.features,
            depth=arguments.depth,
            criterion=arguments.criterion,
        )
    _write(_shown(tree, arguments.format), arguments.output)
    return 0


def _table(release: str, asked: str | None) -> str:
    """The table that is meant; the only one need not be named."""
    names = [manifest.table for manifest in manifests(release)]
    if asked is None and len(names) > 1:
        raise QueryError(f"the release has several tables: name one with --table ({', '.join(names)}).")
    return names[0] if asked is None else asked


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
