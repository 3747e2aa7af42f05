"""Frequent itemsets and association rules of a released column of baskets, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.connection.connection import Connection
from ppdm_sql.connection.released import name_in_sql
from ppdm_sql.errors import QueryError
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mining.apriori import AT_ONCE, Integers, Level, apriori
from ppdm_sql.mining.ratios import Ratio
from ppdm_sql.syntax.quoting import quote_name

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Baskets:
    """A column of baskets that can be asked for supports."""

    con: Connection
    table: str
    column: BasketColumn
    rows: int

    def count(self, itemsets: Integers) -> Supports:
        """What is known of itemsets, by the numbers of their items."""
        return self.con.supports(self.table, self.column.name, self.items(itemsets))

    def items(self, itemsets: Integers) -> list[list[Any]]:
        """The items that the numbers stand for."""
        return [[self.column.item(number) for number in itemset] for itemset in itemsets.tolist()]

    def frequent(self, least: float, largest: int, confidence: float) -> list[Level]:
        """The itemsets that may be frequent."""
        if self.column.code is not None:
            largest = min(largest, self.column.code.itemsets)
        size, passing = self.column.items.size, least * self.rows
        return list(apriori(self.count, size, passing, largest=largest, confidence=confidence, baskets=self.rows))


def frequent_itemsets(
    con: Connection,
    table: str,
    column: str,
    *,
    min_support: float,
    max_items: int = 3,
    confidence: float = 0.95,
    uncertain: bool = False,
) -> pa.Table:
    """The itemsets that are frequent as far as can be told from randomized baskets.

    Parameters
    ----------
    con
        A connection to a release.
    table, column
        The released table, and its column of baskets.
    min_support
        The share of the baskets that hold a frequent itemset, in (0, 1).
    max_items
        Items of the largest itemsets.
    confidence
        How often an interval holds the true support.
    uncertain
        Also list what passes the threshold by its estimate alone, and may be there by accident.

    Returns
    -------
    pyarrow.Table
        ``itemset`` (a list), ``support`` with its interval ``low`` to ``high``, all as shares of the baskets
        and within [0, 1], and ``certain``: whether the support passes the threshold for sure, which means that an
        interval that holds for all itemsets of that size together, with the asked confidence, is above it.
    """
    baskets = _opened(con, table, column, min_support, max_items, confidence)
    levels = baskets.frequent(min_support, max_items, confidence)
    shown = [level.take(level.support >= min_support * baskets.rows) for level in levels]
    rows = max(baskets.rows, 1)
    item_type = pa.array([baskets.column.item(0)]).type
    itemsets = [itemset for level in shown for itemset in baskets.items(level.itemsets)]
    columns: dict[str, Any] = {"itemset": pa.array(itemsets, pa.list_(item_type))}
    for name in ("support", "low", "high"):
        columns[name] = np.concatenate([np.zeros(0), *(getattr(level, name) / rows for level in shown)])
    columns["certain"] = np.concatenate([np.zeros(0, dtype=bool), *(level.certain for level in shown)])
    result = pa.table(columns).sort_by([("support", "descending")])
    return result if uncertain else result.filter(pc.field("certain"))


def association_rules(
    con: Connection,
    table: str,
    column: str,
    *,
    min_support: float,
    min_confidence: float = 0.5,
    max_items: int = 3,
    confidence: float = 0.95,
    uncertain: bool = False,
) -> pa.Table:
    """Rules `if` => `then` between the items of frequent itemsets.

    Parameters
    ----------
    min_support, max_items, confidence, uncertain
        As for `frequent_itemsets`.
    min_confidence
        The share of the baskets with the items of `if` that hold those of `then`, too.

    Returns
    -------
    pyarrow.Table
        ``if`` and ``then`` (lists), ``support`` of both together, ``confidence`` with its interval ``low`` to ``high``
        by Fieller's theorem, within [0, 1], ``lift`` (how many times more often `then` is there than in all baskets;
        NULL where that is unknown) and ``certain``: whether support and confidence pass their thresholds for sure,
        with the asked confidence for all rules looked at together.
    """
    if not 0 < min_confidence <= 1:
        raise QueryError(f"min_confidence = {min_confidence:g} must lie in (0, 1].")
    baskets = _opened(con, table, column, min_support, max_items, confidence)
    normal = NormalDist()
    alone = normal.inv_cdf(0.5 + confidence / 2)
    found = [
        rules
        for level in baskets.frequent(min_support, max_items, confidence)
        if level.itemsets.shape[1] > 1
        for rules in _rules(baskets, level.take(level.support >= min_support * baskets.rows), alone)
    ]
    together = normal.inv_cdf(1 - (1 - confidence) / max(sum(len(rules.given) for rules in found), 1))
    items = pa.list_(pa.array([baskets.column.item(0)]).type)
    intervals = [rules.ratio.interval(alone) for rules in found]
    certain = [rules.frequent & rules.ratio.exceeds(min_confidence, together) for rules in found]
    result = pa.table(
        {
            "if": pa.array([given for rules in found for given in rules.given], items),
            "then": pa.array([then for rules in found for then in rules.then], items),
            "support": _joined([rules.support for rules in found]),
            "confidence": _joined([rules.ratio.estimate for rules in found]),
            "low": _joined([low for low, _ in intervals]),
            "high": _joined([high for _, high in intervals]),
            "lift": pa.array([lift for rules in found for lift in rules.lift], pa.float64()),
            "certain": _joined(certain).astype(bool),
        }
    )
    passing = result.filter(pc.field("confidence") >= min_confidence).sort_by([("confidence", "descending")])
    return passing if uncertain else passing.filter(pc.field("certain"))


def _joined(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True)
class _Rules:
    """Rules with the same division of an itemset's places: who they are, and arrays of what is known of each."""

    given: list[list[Any]]
    then: list[list[Any]]
    support: Array
    ratio: Ratio
    lift: list[float | None]
    frequent: npt.NDArray[np.bool_]


def _rules(baskets: _Baskets, level: Level, quantile: float) -> Iterator[_Rules]:
    """Every way to divide the itemsets of one size in two."""
    size = level.itemsets.shape[1]
    for start in range(0, len(level.itemsets), AT_ONCE):
        part = level.take(np.arange(len(level.itemsets)) // AT_ONCE == start // AT_ONCE)
        known = baskets.count(part.itemsets)
        for mask in range(1, (1 << size) - 1):
            yield _divided(known, baskets, part, mask, quantile)


def _divided(known: Supports, baskets: _Baskets, level: Level, mask: int, quantile: float) -> _Rules:
    """The rules from the items of a mask to the others; where the items of `if` may be nowhere, there is none."""
    rest = known.whole ^ mask
    settled = Ratio.of(known, mask).settled(quantile)
    level, known = level.take(settled), Supports(known.operators, known.counts[settled])
    ratio, then = Ratio.of(known, mask), known.estimate(rest)
    share = np.divide(ratio.estimate * baskets.rows, then, out=np.zeros_like(then), where=then > 0)
    told = then > quantile * known.errors(rest)
    lift = [float(each) if tells else None for each, tells in zip(share, told, strict=True)]
    inside, outside = ([b for b in range(level.itemsets.shape[1]) if part >> b & 1] for part in (mask, rest))
    given, others = (baskets.items(level.itemsets[:, places]) for places in (inside, outside))
    return _Rules(given, others, level.support / max(baskets.rows, 1), ratio, lift, level.certain)


def _opened(
    con: Connection, table: str, column: str, min_support: float, max_items: int, confidence: float
) -> _Baskets:
    if not 0 < min_support < 1:
        raise QueryError(f"min_support = {min_support:g} must lie between 0 and 1: it is a share of the baskets.")
    if not 0 < confidence < 1:
        raise QueryError(f"confidence = {confidence:g} must lie between 0 and 1.")
    if not 1 <= max_items <= 8:
        raise QueryError(f"max_items = {max_items} must lie between 1 and 8.")
    manifest = con.manifest(table)
    for released in manifest.columns:
        if released.name.casefold() == column.casefold() and isinstance(released.perturbed, BasketColumn):
            return _Baskets(con, table, released.perturbed, _rows(con, table, released.perturbed))
    known = [c.name for c in manifest.columns if isinstance(c.perturbed, BasketColumn)]
    said = f"Columns of baskets: {', '.join(known)}." if known else "It has no column of baskets."
    raise QueryError(f"{column!r} is not a column of randomized baskets of {manifest.table}. {said}")


def _rows(con: Connection, table: str, column: BasketColumn) -> int:
    """The baskets that there are; NULL is none."""
    name = name_in_sql(table)
    with con.cursor() as cursor:
        found = cursor.execute(f"SELECT count({quote_name(column.size_column)}) FROM {name}").fetchall()
    return int(found[0][0])
