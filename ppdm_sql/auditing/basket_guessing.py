"""Randomized baskets: how likely an item is to be in a basket that shows it, against how often it is.

The adversary knows which share of the baskets of each size hold an item. In baskets of one size each held item is kept
with a probability a, and each other one added with rho: Bayes' rule has it from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.auditing.matching import Wanted
from ppdm_sql.auditing.scores import BasketAttack, ShownItem
from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.auditing.value_guessing import Rows
from ppdm_sql.engine.duckdb.basket_rows import listed_items, shown_items
from ppdm_sql.errors import SourceError
from ppdm_sql.itemsets.patterns import Integers
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.privacy.collusion import Array
from ppdm_sql.syntax.quoting import quote_name

MOST_ITEMS = 4096
"""The commonest items are guessed; what is rarer is told by fewer baskets, and less."""
MOST_OF_SEEDS = 256
"""Of compressed baskets, whose seeds must be tried for each item."""


def guess_baskets(rows: Rows) -> tuple[BasketAttack, ...]:
    """How often shown items are true, for each column of baskets of each release."""
    found = [
        _guess(rows, release, column)
        for release, copy in enumerate(rows.copies)
        for column in copy.manifest.perturbed
        if isinstance(column, BasketColumn)
    ]
    return tuple(each for each in found if each is not None)


class _Counts:
    """What was seen so far, by size and item: baskets that hold it, that show it, that do both; `kept` as expected."""

    def __init__(self, column: BasketColumn, used: Integers) -> None:
        shape = (column.largest + 1, len(used))
        self.baskets = np.zeros(shape[0], dtype=np.int64)
        self.held, self.shown, self.both = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        self.kept = np.zeros(shape)
        self._rho = np.array([operator.rho for operator in column.operators])
        self._keep = np.array([_kept_share(operator.keep) for operator in column.operators])
        self._places = np.full(column.items.size, -1)
        self._places[used] = np.arange(len(used))

    def add(self, sizes: Integers, held: tuple[Integers, Integers], shown: tuple[Integers, Integers]) -> None:
        """Take a batch of baskets into account, each given by where its items begin and by their numbers."""
        width = self.held.shape[1]
        self.baskets += np.bincount(sizes, minlength=len(self.baskets))
        ours, lengths = self._pairs(*held)
        theirs, _ = self._pairs(*shown)
        for counts, pairs in ((self.held, ours), (self.shown, theirs), (self.both, np.intersect1d(ours, theirs))):
            np.add.at(counts, (sizes[pairs // width], pairs % width), 1)
        row = ours // width
        # A basket that was cut: what was cut off it is an item like any other.
        part = np.minimum(sizes[row] / lengths[row], 1.0)
        chances = part * self._keep[sizes[row]] + (1 - part) * self._rho[sizes[row]]
        np.add.at(self.kept, (sizes[row], ours % width), chances)

    def posterior(self) -> Array:
        """The chance that a shown item is held, by size and item."""
        others = (self.baskets[:, None] - self.held) * self._rho[:, None]
        total = self.kept + others
        result: Array = np.divide(self.kept, total, out=np.zeros_like(total), where=total > 0)
        return result

    def _pairs(self, offsets: Integers, items: Integers) -> tuple[Integers, Integers]:
        """Rows and items as one number each, every pair once, and how many different items each row has."""
        rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        each = np.unique(rows * len(self._places) + items)
        rows, items = each // len(self._places), each % len(self._places)
        lengths = np.bincount(rows, minlength=len(offsets) - 1)
        wanted = self._places[items] >= 0
        return rows[wanted] * self.held.shape[1] + self._places[items[wanted]], lengths


def _kept_share(keep: Sequence[float]) -> float:
    """The chance that a held item is kept."""
    size = len(keep) - 1
    return sum(j * p for j, p in enumerate(keep)) / size if size else 0.0


def _guess(rows: Rows, release: int, column: BasketColumn) -> BasketAttack | None:
    used = _commonest(rows.original, column)
    if not len(used):
        return None
    counts = _Counts(column, used)
    others = ["NULL"] * len(rows.copies)

    def only(name: str) -> tuple[str, ...]:
        return (*others[:release], quote_name(name), *others[release + 1 :])

    theirs = f"CAST({quote_name(rows.original.name(column.name))} AS {column.item_type.name}[])"
    wanted = [Wanted(theirs, only(column.name)), Wanted("NULL", only(column.size_column))]
    for batches in rows.read("guessing baskets", wanted):
        lists, shown = batches[0].column(0), batches[release + 1].column(0)
        known = pc.and_(pc.is_valid(lists), pc.is_valid(shown))
        lists, shown = lists.filter(known), shown.filter(known)
        sizes = batches[release + 1].column(1).filter(known).to_numpy(zero_copy_only=False).astype(np.int64)
        seen = listed_items(shown, column) if column.code is None else shown_items(shown, sizes, column, used)
        counts.add(sizes, _listed(rows.original, lists, column), seen)
    return _found(column, release, used, counts)


def _listed(original: Original, lists: pa.Array, column: BasketColumn) -> tuple[Integers, Integers]:
    with np.errstate(invalid="ignore"):  # what is no item becomes a number below zero
        offsets, items = listed_items(lists, column)
    if len(items) and not (items.min() >= 0 and items.max() < column.items.size):
        raise _foreign(original, column)
    return offsets, items


def _foreign(original: Original, column: BasketColumn) -> SourceError:
    return SourceError(
        f"{original.where}: column {column.name!r} has items that its released item set does not hold: is it the table "
        "that was published?"
    )


def _commonest(original: Original, column: BasketColumn) -> Integers:
    """The numbers of the items that most baskets hold, ascending."""
    most = MOST_ITEMS if column.code is None else MOST_OF_SEEDS
    select = f"CAST({quote_name(original.name(column.name))} AS {column.item_type.name}[]) AS v"
    every = f"SELECT unnest(v) AS i FROM {SCANNED}"
    found = original.ask(select, f"SELECT i FROM ({every}) GROUP BY i ORDER BY count(*) DESC, i LIMIT {most}")
    numbers = [number for (item,) in found if (number := column.number(item)) is not None]
    if len(numbers) < len(found):
        raise _foreign(original, column)
    return np.array(sorted(numbers), dtype=np.int64)


def _found(column: BasketColumn, release: int, used: Integers, counts: _Counts) -> BasketAttack:
    after = np.where(counts.shown > 0, counts.posterior(), 0.0)
    expected = counts.shown * after
    shown = counts.shown.sum(axis=0)
    telling = np.divide(expected.sum(axis=0), shown, out=np.zeros(len(used)), where=shown > 0)
    place = int(telling.argmax())
    size, item = (int(i) for i in np.unravel_index(int(after.argmax()), after.shape))
    worst = ShownItem(
        str(column.item(int(used[place]))),
        int(shown[place]),
        int(counts.both[:, place].sum()),
        float(expected[:, place].sum()),
    )
    return BasketAttack(
        column.name, release, int(counts.baskets.sum()), len(used), int(shown.sum()), int(counts.both.sum()),
        float(expected.sum()), worst, float(after[size, item]),
        float(counts.held[size, item] / max(counts.baskets[size], 1)), column.gamma,
    )  # fmt: skip
