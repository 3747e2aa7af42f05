"""A decision tree: what it says of a row, as text, as SQL, as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from ppdm_sql.errors import QueryError


@dataclass(frozen=True)
class Node:
    """A leaf, or a split: rows for which `condition` is TRUE go to `yes`, all others (NULL too) to `no`.

    `rows` are the estimated rows of each class, `label` the number of the class that most belong to.
    """

    rows: tuple[float, ...]
    label: int
    condition: str | None = None
    yes: Node | None = None
    no: Node | None = None

    @property
    def share(self) -> float:
        """The estimated share of the rows that belong to the class."""
        counts = [max(rows, 0.0) for rows in self.rows]
        return counts[self.label] / sum(counts) if sum(counts) else 0.0

    @property
    def children(self) -> tuple[Node, Node] | None:
        """Both branches of a split; None for a leaf."""
        return None if self.yes is None or self.no is None else (self.yes, self.no)

    def leaves(self) -> Iterator[Node]:
        """The leaves, left to right."""
        if self.children is None:
            yield self
        else:
            for child in self.children:
                yield from child.leaves()


@dataclass(frozen=True)
class Tree:
    """A tree that tells the classes of `target` apart; `classes` are SQL constants."""

    table: str
    target: str
    classes: tuple[str, ...]
    root: Node

    @property
    def depth(self) -> int:
        """The longest way from the root to a leaf."""
        return _depth(self.root)

    def to_sql(self) -> str:
        """The tree as a CASE expression over its columns, for any engine.

        >>> leaves = Node((2.0, 8.0), 1), Node((9.0, 1.0), 0)
        >>> Tree("t", "rich", ("'no'", "'yes'"), Node((11.0, 9.0), 0, "age < 30", *leaves)).to_sql()
        "CASE WHEN age < 30 THEN 'yes' ELSE 'no' END"
        """
        return self._sql(self.root)

    def _sql(self, node: Node) -> str:
        if node.children is None:
            return self.classes[node.label]
        yes, no = (self._sql(child) for child in node.children)
        return f"CASE WHEN {node.condition} THEN {yes} ELSE {no} END"

    def predict(self, rows: Any) -> pa.Array:
        """The class of each row of an Arrow table, a data frame or a DuckDB relation that has the tree's columns."""
        with duckdb.connect() as con:
            given = rows.to_arrow_table() if isinstance(rows, duckdb.DuckDBPyRelation) else rows
            try:
                con.register("ppdm_rows", given)
                found = con.sql(f"SELECT {self.to_sql()} AS class FROM ppdm_rows").to_arrow_table()
            except duckdb.Error as error:
                first = str(error).splitlines()[0]
                raise QueryError(f"the tree cannot be asked about these rows. {first}") from None
        return found.column(0).combine_chunks()

    def __str__(self) -> str:
        """One line a node, indented; at a leaf the class, its share and the estimated rows."""
        return "\n".join(self._lines(self.root, ""))

    def _lines(self, node: Node, indent: str) -> Iterator[str]:
        if node.children is None:
            yield f"{indent}{self.describe(node)}"
            return
        yield f"{indent}if {node.condition}:"
        yield from self._lines(node.children[0], indent + "  ")
        yield f"{indent}else:"
        yield from self._lines(node.children[1], indent + "  ")

    def describe(self, node: Node) -> str:
        """A node in words."""
        return f"{self.classes[node.label]} ({node.share:.1%} of about {max(sum(node.rows), 0):,.0f} rows)"


def _depth(node: Node) -> int:
    return 0 if node.children is None else 1 + max(_depth(child) for child in node.children)
