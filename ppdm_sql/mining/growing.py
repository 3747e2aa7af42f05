"""Grow a decision tree from counts alone: the rows of a release are never partitioned.

A node is a condition on true values. Its class counts, and those on both sides of every split, are reconstructed from
the whole release. Each perturbed column on the way to a node makes its counts noisier: growth stops where the
difference between the two sides is lost in that noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ppdm_sql.connection.connection import Connection
from ppdm_sql.connection.released import name_in_sql
from ppdm_sql.errors import QueryError
from ppdm_sql.mining.features import Feature, find_classes, find_features
from ppdm_sql.mining.splits import CRITERIA, Split, best_split
from ppdm_sql.mining.tree import Node, Tree
from ppdm_sql.syntax.quoting import quote_name

Array = npt.NDArray[np.float64]
CANDIDATES = 6
"""Features whose best splits are tested against noise, at each node."""
SIGNIFICANCE = 0.05
"""How often a split may be taken for real at a node whose features tell nothing."""


@dataclass(frozen=True)
class _Open:
    """A node that may still be split: the conditions that lead there, and its estimated class counts."""

    path: tuple[str, ...]
    rows: Array
    label: int

    @property
    def condition(self) -> str:
        return " AND ".join(f"({part})" for part in self.path) if self.path else "TRUE"


@dataclass(frozen=True)
class _Tested:
    """A split that is no accident: its condition and both sides.

    `gain` is what it gains, less what noise alone would, `spread` the standard error of that, and `tries` as `_tries`.
    """

    condition: str
    gain: float
    spread: float
    tries: float
    yes: Array
    no: Array
    labels: tuple[int, int]


def decision_tree(
    con: Connection,
    table: str,
    target: str,
    features: Sequence[str] | None = None,
    *,
    depth: int = 5,
    criterion: str = "gini",
    min_rows: float = 50.0,
    progress: Callable[[str], None] | None = None,
) -> Tree:
    """A tree that tells the classes of `target` apart, from reconstructed counts only.

    Parameters
    ----------
    con
        A connection to a release.
    table
        The released table.
    target
        The column with the classes, perturbed or exact.
    features
        The columns to split on, of any type; every other column where none are named.
    depth
        Splits on the longest way from the root to a leaf, at most.
    criterion
        ``"gini"`` or ``"entropy"``.
    min_rows
        A side of a split with fewer estimated rows is not looked at.
    progress
        Is told, in words, how far the tree has grown.

    Notes
    -----
    A split is taken where the share of some class differs between its two sides by more than the noise of the
    perturbation explains, allowing for the number of splits tried. With a low retention the tree is therefore
    smaller. The counts at its leaves are estimates and may be off where the way there has many perturbed columns.
    """
    if criterion not in CRITERIA:
        raise QueryError(f"criterion {criterion!r} must be one of {', '.join(CRITERIA)}.")
    if depth < 0 or not min_rows > 0:
        raise QueryError("depth must be 0 or more, and min_rows above 0.")
    manifest = con.manifest(table)
    name = name_in_sql(table)
    with con.cursor() as cursor:
        cursor.execute("SET ppdm_method = 'inversion'")
        cursor.execute("SET ppdm_errors = 'off'")
        classes = find_classes(cursor, name, manifest, target)
        found = find_features(cursor, name, manifest, features, target)
        if any(feature.name.casefold() == target.casefold() for feature in found):
            raise QueryError(f"{target!r} is the target: it cannot be a feature too.")
        grower = _Grower(cursor, name, target, classes, found, criterion, min_rows, progress)
        return Tree(manifest.table, target, classes, grower.grow(depth))


class _Grower:
    def __init__(
        self,
        con: Connection,
        table: str,
        target: str,
        classes: tuple[str, ...],
        features: list[Feature],
        criterion: str,
        least: float,
        progress: Callable[[str], None] | None,
    ) -> None:
        self.con, self.table, self.features = con, table, features
        self.criterion, self.least = criterion, least
        self.tell = progress or (lambda text: None)
        self.kinds = Feature(target, values=classes)
        self.features_and_classes = len(features) * len(classes)

    def grow(self, depth: int) -> Node:
        """Level by level, so that one question serves all nodes of a level."""
        rows = self.counts([_Open((), np.zeros(0), 0)], Feature("", cuts=()))[0].sum(axis=0)
        root = _Open((), rows, int(rows.argmax()))
        splits: dict[tuple[str, ...], _Tested] = {}
        level = [root]
        for deep in range(1, depth + 1):
            tables = []
            for feature in self.features if level else ():
                self.tell(f"level {deep} of at most {depth}: counting {feature.name}")
                tables.append(self.counts(level, feature))
            following = []
            for number, node in enumerate(level):
                self.tell(f"level {deep} of at most {depth}: node {number + 1} of {len(level)}")
                tested = self.best(node, [counts[number] for counts in tables])
                if tested is not None:
                    splits[node.path] = tested
                    following += self.children(node, tested)
            level = following
        return self.node(root, splits)

    def children(self, node: _Open, tested: _Tested) -> list[_Open]:
        """Both sides of a split."""
        sides = _sides(tested.condition)
        parts = zip(sides, (tested.yes, tested.no), tested.labels, strict=True)
        return [_Open((*node.path, path), rows, label) for path, rows, label in parts]

    def node(self, open_node: _Open, splits: dict[tuple[str, ...], _Tested]) -> Node:
        rows = tuple(float(count) for count in open_node.rows)
        tested = splits.get(open_node.path)
        if tested is None:
            return Node(rows, open_node.label)
        yes, no = (self.node(child, splits) for child in self.children(open_node, tested))
        return Node(rows, open_node.label, tested.condition, yes, no)

    def counts(self, level: Sequence[_Open], feature: Feature) -> Array:
        """Estimated rows by node, bin of the feature (NULL last) and class."""
        counted = ", ".join(f"count(*) FILTER (WHERE {node.condition}) AS n{i}" for i, node in enumerate(level))
        bins = feature.bin if feature.name else "0"
        query = f"SELECT {bins}, {self.kinds.bin}, {counted} FROM {self.table} GROUP BY 1, 2"
        result = np.zeros((len(level), feature.bins + 1, self.kinds.bins))
        for place, kind, *rows in self.con.execute(query).fetchall():
            if kind is not None:
                result[:, feature.bins if place is None else place, kind] += rows
        return result

    def best(self, node: _Open, tables: Sequence[Array]) -> _Tested | None:
        """The split that gains most, of those that are no accident; of those that gain as much, the simplest."""
        if node.rows.sum() < 2 * self.least:
            return None
        found: list[tuple[Split, Feature]] = []
        for feature, counts in zip(self.features, tables, strict=True):
            split = best_split(counts, ordered=feature.ordered, criterion=self.criterion, least=self.least)
            if split is not None:
                found.append((split, feature))
        found.sort(key=lambda pair: -pair[0].gain)
        tested = [self.test(node, split, feature) for split, feature in found[:CANDIDATES]]
        real = [one for one in tested if one is not None]
        if not real:
            return None
        best = max(real, key=lambda one: one.gain)
        return min((one for one in real if one.gain >= best.gain - best.spread), key=lambda one: one.tries)

    def quantile(self, feature: Feature) -> float:
        """How many standard errors a difference must have, given what was tried: every cut, or every set of values."""
        tries = feature.bins if feature.ordered else 2.0 ** (feature.bins - 1)
        return NormalDist().inv_cdf(1 - max(SIGNIFICANCE / (2 * self.features_and_classes * tries), 1e-15))

    def test(self, node: _Open, split: Split, feature: Feature) -> _Tested | None:
        """Compare the class shares on both sides; None where they may well be the same.

        The gain in gini of a split grows with the squared differences of the shares. What noise adds to them where the
        best of many splits was taken is about their variance times `_tries`, and is taken off again.
        """
        condition = feature.condition(split.left)
        name = quote_name(self.kinds.name)
        yes, no = (
            [f"count(*) FILTER (WHERE {side} AND {name} = {kind})" for kind in self.kinds.values]
            for side in _sides(condition)
        )
        gaps = [f"{a} / ({' + '.join(yes)}) - {b} / ({' + '.join(no)})" for a, b in zip(yes, no, strict=True)]
        rivals = [kind for kind in range(self.kinds.bins) if kind != node.label]
        leads = [f"{side[kind]} - {side[node.label]}" for side in (yes, no) for kind in rivals]
        gaps = gaps[1:]  # they sum to zero
        items = [*yes, *no, *gaps, *(f"ppdm_error({item})" for item in (*gaps, *leads))]
        query = f"SELECT {', '.join(items)} FROM {self.table} WHERE {node.condition}"
        numbers = np.array([math.nan if n is None else n for n in self.con.execute(query).fetchall()[0]], dtype=float)
        rows_yes, rows_no = numbers[: 2 * self.kinds.bins].reshape(2, -1)
        gap, error, spread_yes, spread_no = numbers[2 * self.kinds.bins :].reshape(4, -1)
        if not np.isfinite(numbers).all() or min(rows_yes.sum(), rows_no.sum()) < self.least:
            return None
        if not (np.abs(gap) > self.quantile(feature) * error).any():
            return None
        rows = rows_yes.sum() * rows_no.sum() / (rows_yes.sum() + rows_no.sum())
        tries = _tries(feature)
        gain = rows * float((gap**2 - tries * error**2).sum())
        spread = rows * 2 * float(np.abs(gap * error).sum())
        labels = _label(rows_yes, spread_yes, node.label), _label(rows_no, spread_no, node.label)
        return _Tested(condition, gain, spread, tries, rows_yes, rows_no, labels)


def _tries(feature: Feature) -> float:
    """How many variances noise adds to the squared difference of the best split of a feature that tells nothing.

    Putting each of m categories on the side that its noise favours adds (2 / pi) m of them; the best of many cuts,
    which go together, about twice the logarithm of their number.
    """
    return 2 * math.log(feature.bins) if feature.ordered else 2 / math.pi * feature.bins


def _sides(condition: str) -> tuple[str, str]:
    return f"({condition})", f"({condition}) IS NOT TRUE"


def _label(rows: Array, error: Array, label: int) -> int:
    """The class that most belong to, where it leads that of the whole by more than its standard error."""
    lead = rows - rows[label]
    lead -= np.insert(error, label, 0.0)
    return int(lead.argmax()) if lead.max() > 0 else label
