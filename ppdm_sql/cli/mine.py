"""`ppdm-sql mine`: decision trees, itemsets and rules from a release."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.cli.interrupts import heard_by
from ppdm_sql.cli.notices import progress_line, say
from ppdm_sql.cli.output import show
from ppdm_sql.cli.release import open_release
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import QueryError, TargetError
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mining import Tree, association_rules, decision_tree, frequent_itemsets
from ppdm_sql.mining.drawing import draw
from ppdm_sql.mining.tree import Node
from ppdm_sql.syntax.quoting import quote_name


def run(arguments: argparse.Namespace) -> int:
    """Print what was found, or write it to a file."""
    with open_release(arguments.release, arguments.verify) as con, heard_by(con.interrupt):
        _KINDS[arguments.kind](con, _table(con, arguments.table), arguments)
    return 0


def _tree(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    if arguments.output is not None and not arguments.replace and os.path.lexists(arguments.output):
        raise TargetError(f"{arguments.output!r} exists already: name another file, or say --replace.")
    with progress_line() as progress:
        tree = decision_tree(
            con,
            table,
            arguments.target,
            arguments.features,
            depth=arguments.depth,
            criterion=arguments.criterion,
            progress=progress,
        )
    _write(_shown(tree, arguments.format), arguments.output)


def _itemsets(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    column = _baskets(con, table, arguments.column)
    found = frequent_itemsets(con, table, column, uncertain=True, **_thresholds(arguments))
    _show_certain(found, "itemset", arguments)


def _rules(con: Connection, table: str, arguments: argparse.Namespace) -> None:
    column = _baskets(con, table, arguments.column)
    asked = _thresholds(arguments)
    found = association_rules(con, table, column, min_confidence=arguments.min_confidence, uncertain=True, **asked)
    _show_certain(found, "rule", arguments)


def _thresholds(arguments: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(arguments, name) for name in ("min_support", "max_items", "confidence")}


_NO_BASKETS = 'no column of baskets: name another with --table; mechanism = "select_a_size" makes one'
_KINDS: dict[str, Callable[[Connection, str, argparse.Namespace], None]] = {
    "tree": _tree,
    "itemsets": _itemsets,
    "rules": _rules,
}


def _table(con: Connection, asked: str | None) -> str:
    """The name in SQL of the table that is meant; the only one need not be named."""
    names = [manifest.table for manifest in con.manifests()]
    if asked is None and len(names) > 1:
        raise QueryError(f"the release has several tables: name one with --table ({', '.join(names)}).")
    meant = names if asked is None else [name for name in names if name.casefold() == asked.casefold()]
    return quote_name(meant[0]) if meant else str(asked)


def _baskets(con: Connection, table: str, asked: str | None) -> str:
    """The column that is meant; the only one of baskets need not be named."""
    names = [c.name for c in con.manifest(table).columns if isinstance(c.perturbed, BasketColumn)]
    if asked is None and len(names) != 1:
        said = f"several columns of baskets: name one with --column ({', '.join(names)})" if names else _NO_BASKETS
        raise QueryError(f"the table {con.manifest(table).table} has {said}.")
    return names[0] if asked is None else asked


def _show_certain(found: pa.Table, what: str, arguments: argparse.Namespace) -> None:
    """What is certain, or all; where nothing is certain, what would help."""
    certain = found.filter(pc.field("certain"))
    _show(found if arguments.all else certain, arguments.format)
    if len(certain):
        return
    if not len(found):
        say(f"no {what} is estimated to pass the thresholds: lower them to see more.")
        return
    half = float(np.median(found["high"].to_numpy() - found["low"].to_numpy())) / 2
    rest = "" if arguments.all else "; --all lists what may be there by accident"
    say(
        f"nothing can be told at this privacy: {len(found):,} {what}{'s' if len(found) > 1 else ''} may pass the "
        f"thresholds and none does for sure; half of them are known to +-{half:.1%} at best. A higher --min-support "
        f"helps, smaller itemsets, more baskets, or a release with a larger gamma (less privacy){rest}."
    )


def _show(found: pa.Table, form: str) -> None:
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    show(found.column_names, [[_cell(value, form) for value in row] for row in rows], form)


def _cell(value: Any, form: str) -> Any:
    if form == "json":
        return value
    if value is None:
        return "unknown"
    return ", ".join(str(item) for item in value) if isinstance(value, list) else value


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
