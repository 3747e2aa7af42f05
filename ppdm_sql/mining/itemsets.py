"""Frequent itemsets and association rules of a released column of baskets, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ppdm_sql.connection import Connection
from ppdm_sql.engines.quoting import quote_name
from ppdm_sql.errors import QueryError
from ppdm_sql.itemsets.supports import Supports
from ppdm_sql.mining.apriori import AT_ONCE, Integers, Level, apriori
from ppdm_sql.policy.basket_column import BasketColumn

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
        return list(
            apriori(self.count, self.column.items.size, least * self.rows, largest=largest, confidence=confidence)
        )


def frequent_itemsets(
    con: Connection,
    table: str,
    column: str,
    *,
    min_support: float,
    max_items: int = 3,
    confidence: float = 0.95,
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

    Returns
    -------
    pyarrow.Table
        ``itemset`` (a list), ``support`` with its interval ``low`` to ``high``, all as shares of the baskets, and
        ``certain``: whether the support passes the threshold for sure, with the asked confidence for all itemsets of
        that size together. Only itemsets whose estimate passes the threshold are listed; with small supports the one
        or the other of them is there by accident, which `certain` tells.
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
    return pa.table(columns).sort_by([("support", "descending")])


def association_rules(
    con: Connection,
    table: str,
    column: str,
    *,
    min_support: float,
    min_confidence: float = 0.5,
    max_items: int = 3,
    confidence: float = 0.95,
) -> pa.Table:
    """Rules `if` => `then` between the items of frequent itemsets.

    Parameters
    ----------
    min_support, max_items, confidence
        As for `frequent_itemsets`.
    min_confidence
        The share of the baskets with the items of `if` that hold those of `then`, too.

    Returns
    -------
    pyarrow.Table
        ``if`` and ``then`` (lists), ``support`` of both together, ``confidence`` with its interval ``low`` to ``high``
        by the delta method, ``lift`` (how many times more often `then` is there than in all baskets) and ``certain``:
        whether the confidence passes its threshold for sure, for all rules listed together.
    """
    if not 0 < min_confidence <= 1:
        raise QueryError(f"min_confidence = {min_confidence:g} must lie in (0, 1].")
    baskets = _opened(con, table, column, min_support, max_items, confidence)
    levels = baskets.frequent(min_support, max_items, confidence)
    found = [
        rule
        for level in levels
        if level.itemsets.shape[1] > 1
        for rule in _rules(baskets, level.take(level.support >= min_support * baskets.rows))
    ]
    kept = [rule for rule in found if rule.confidence >= min_confidence]
    normal = NormalDist()
    alone = normal.inv_cdf(0.5 + confidence / 2)
    together = normal.inv_cdf(1 - (1 - confidence) / max(len(found), 1))
    kept.sort(key=lambda rule: -rule.confidence)
    items = pa.list_(pa.array([baskets.column.item(0)]).type)
    return pa.table(
        {
            "if": pa.array([rule.given for rule in kept], items),
            "then": pa.array([rule.then for rule in kept], items),
            "support": np.array([rule.support / max(baskets.rows, 1) for rule in kept]),
            "confidence": np.array([rule.confidence for rule in kept]),
            "low": np.array([rule.confidence - alone * rule.error for rule in kept]),
            "high": np.array([rule.confidence + alone * rule.error for rule in kept]),
            "lift": np.array([rule.lift for rule in kept]),
            "certain": np.array([rule.confidence - together * rule.error >= min_confidence for rule in kept], bool),
        }
    )


@dataclass(frozen=True)
class _Rule:
    given: list[Any]
    then: list[Any]
    support: float
    confidence: float
    error: float
    lift: float


def _rules(baskets: _Baskets, level: Level) -> list[_Rule]:
    """Every way to divide the itemsets of one size in two."""
    size = level.itemsets.shape[1]
    found = []
    for start in range(0, len(level.itemsets), AT_ONCE):
        part = level.itemsets[start : start + AT_ONCE]
        known = baskets.count(part)
        names = baskets.items(part)
        for mask in range(1, (1 << size) - 1):
            found += _divided(known, names, mask, baskets.rows)
    return found


def _divided(known: Supports, names: Sequence[list[Any]], mask: int, rows: int) -> list[_Rule]:
    """The rules from the items of a mask to the others; where the items of `if` may be nowhere, there is none."""
    whole = known.whole
    both, given, then = known.estimate(), known.estimate(mask), known.estimate(whole ^ mask)
    settled = given > 2 * known.errors(mask)
    share = np.divide(both, given, out=np.zeros_like(both), where=settled)
    variance = known.covariance() - 2 * share * known.covariance(whole, mask) + share**2 * known.covariance(mask, mask)
    error = np.divide(np.sqrt(np.maximum(variance, 0.0)), given, out=np.zeros_like(both), where=settled)
    lift = np.divide(share * rows, then, out=np.full_like(both, np.nan), where=settled & (then > 0))
    result = []
    for i in np.flatnonzero(settled).tolist():
        items = list(enumerate(names[i]))
        inside = [item for place, item in items if mask >> place & 1]
        outside = [item for place, item in items if not mask >> place & 1]
        numbers = (float(array[i]) for array in (both, share, error, lift))
        result.append(_Rule(inside, outside, *numbers))
    return result


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
    name = ".".join(quote_name(part) for part in table.split("."))
    with con.cursor() as cursor:
        found = cursor.execute(f"SELECT count({quote_name(column.size_column)}) FROM {name}").fetchall()
    return int(found[0][0])
