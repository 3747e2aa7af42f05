"""Columns that are kept or replaced value by value: the likeliest original of every row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ppdm_sql.auditing.matching import Batches, Wanted
from ppdm_sql.auditing.scores import ColumnAttack, Pair, Promise, RowAttack, Tally
from ppdm_sql.auditing.tables import Copy, Original
from ppdm_sql.auditing.targets import Target
from ppdm_sql.auditing.views import PartedView
from ppdm_sql.privacy.collusion import Guesses, Numbers, judge
from ppdm_sql.privacy.coupling import chains, coupling
from ppdm_sql.syntax.quoting import quote_name

Flags = NDArray[np.bool_]
Group = tuple[tuple[int, ...], ...]


class Rows(Protocol):
    """Matched rows of the original and of its copies."""

    original: Original
    copies: Sequence[Copy]

    def read(self, doing: str, wanted: Sequence[Wanted]) -> Batches:
        """What is wanted, batch by batch."""


def guess_values(rows: Rows, targets: Sequence[Target], prior: str) -> tuple[tuple[ColumnAttack, ...], RowAttack]:
    """What the best guess of every value gets right."""
    if not targets:
        return (), RowAttack((0,))
    if prior == "source" and any(target.parted() for target in targets):
        targets = _knowing_parts(targets, _read(rows, targets, "counting parts"))
    pairs: Sequence[tuple[Pair, ...]] = [()] * len(targets)
    if len(rows.copies) > 1:
        pairs = _compared(targets, _read(rows, targets, "comparing copies"))
    found, whole = _guessed(targets, pairs, len(rows.copies), _read(rows, targets, "guessing"), prior == "source")
    return tuple(found), whole


@dataclass(frozen=True)
class _Seen:
    """A column's rows of one batch: which take part, and by release their true numbers, what it shows, their parts."""

    taking: Flags
    truth: Mapping[int, Numbers]
    shown: Mapping[int, Numbers]
    parts: Mapping[int, Numbers]


def _read(rows: Rows, targets: Sequence[Target], doing: str) -> Iterator[list[_Seen]]:
    wanted = [Wanted.of(rows.original, rows.copies, target.column, target.present) for target in targets]
    places: list[dict[int, int]] = []
    for target in targets:
        places.append({})
        for c, view in target.parted().items():
            name = quote_name(view.bound.part_column)
            places[-1][c] = len(wanted)
            wanted.append(Wanted("NULL", tuple(name if i == c else "NULL" for i in range(len(rows.copies)))))
    for batches in rows.read(doing, wanted):
        yield [_seen(rows, target, i, places[i], batches) for i, target in enumerate(targets)]


def _seen(rows: Rows, target: Target, i: int, places: Mapping[int, int], batches: Sequence[pa.RecordBatch]) -> _Seen:
    truth, shown = {}, {}
    taking = np.ones(batches[0].num_rows, dtype=bool)
    for c in target.present:
        view = target.view(c)
        truth[c] = view.numbers(rows.original.where, batches[0].column(i))
        shown[c] = view.numbers(repr(rows.copies[c].path), batches[c + 1].column(i))
        taking &= (truth[c] < view.size) & (shown[c] < view.size)
    parts = {c: batches[c + 1].column(place).to_numpy(zero_copy_only=False) for c, place in places.items()}

    def kept(numbers: Mapping[int, Numbers]) -> dict[int, Numbers]:
        return {c: array[taking].astype(np.int64) for c, array in numbers.items()}

    return _Seen(taking, kept(truth), kept(shown), kept(parts))


def _knowing_parts(targets: Sequence[Target], batches: Iterator[list[_Seen]]) -> list[Target]:
    """The targets with how often each value occurs in each part of the original."""
    counts = [{c: np.zeros((len(v.bound.parts), v.size)) for c, v in target.parted().items()} for target in targets]
    for batch in batches:
        for i, seen in enumerate(batch):
            for c, counted in counts[i].items():
                np.add.at(counted, (seen.parts[c], seen.truth[c]), 1)
    return [target.knowing(counted) for target, counted in zip(targets, counts, strict=True)]


def _compared(targets: Sequence[Target], batches: Iterator[list[_Seen]]) -> list[tuple[Pair, ...]]:
    """For every column, which pairs of copies share their coins."""
    agreeing = [dict.fromkeys(combinations(t.present if t.comparable else (), 2), 0) for t in targets]
    rows = [0] * len(targets)
    for batch in batches:
        for i, seen in enumerate(batch):
            rows[i] += int(np.count_nonzero(seen.taking))
            for one, two in agreeing[i]:
                agreeing[i][one, two] += int(np.count_nonzero(seen.shown[one] == seen.shown[two]))
    return [
        tuple(
            Pair(one, two, coupling(count, rows[i], target.retain(one), target.retain(two), target.draws))
            for (one, two), count in agreeing[i].items()
        )
        for i, target in enumerate(targets)
    ]


def _guessed(
    targets: Sequence[Target],
    pairs: Sequence[tuple[Pair, ...]],
    copies: int,
    batches: Iterator[list[_Seen]],
    informed: bool,
) -> tuple[list[ColumnAttack], RowAttack]:
    groups = [_groups(target, found) for target, found in zip(targets, pairs, strict=True)]
    alone = [{c: Tally() for c in target.present} for target in targets]
    promised = [{c: _Kept(view) for c, view in t.parted().items() if informed} for t in targets]
    together = [Tally() for _ in targets]
    commonest = [0] * len(targets)
    right_columns = np.zeros(len(targets) + 1, dtype=np.int64)
    for batch in batches:
        count = np.zeros(len(batch[0].taking), dtype=np.int64)
        for i, seen in enumerate(batch):
            target = targets[i]
            first = target.present[0]
            commonest[i] += int(np.count_nonzero(seen.truth[first] == target.first.prior.commonest))
            for c, tally in alone[i].items():
                found = target.view(c).judge(seen.shown[c], seen.truth[c], seen.parts.get(c))
                right = tally.add(found, seen.truth[c])
            for c, kept in promised[i].items():
                kept.add(seen.shown[c], seen.truth[c], seen.parts[c])
            if target.comparable and len(target.present) > 1:
                strongest = [max(group, key=target.retain) for group in groups[i]]
                right = together[i].add(_judged(target, strongest, seen), seen.truth[first])
            count[~seen.taking] += 1  # a NULL that stays is plain to see
            count[np.flatnonzero(seen.taking)[right]] += 1
        right_columns += np.bincount(count, minlength=len(right_columns))
    columns = []
    for i, target in enumerate(targets):
        scores = tuple(alone[i][c].score() if c in alone[i] else None for c in range(copies))
        known = [score for score in scores if score is not None]
        joint = known[0] if len(known) == 1 else together[i].score() if target.comparable else None
        retentions = tuple(None if view is None else view.retain for view in target.views)
        promises = tuple(promised[i][c].promise() if c in promised[i] else None for c in range(copies))
        made = promises if any(promises) else ()
        counted = (target.column.name, known[0].rows, commonest[i])
        columns.append(ColumnAttack(*counted, scores, joint, retentions, groups[i], pairs[i], made))
    return columns, RowAttack(tuple(right_columns.tolist()))


def _judged(target: Target, releases: Sequence[int], seen: _Seen) -> Guesses:
    shown = np.stack([seen.shown[c] for c in releases])
    odds = np.stack([target.view(c).odds(seen.shown[c]) for c in releases])
    return judge(target.first.prior, shown, odds, seen.truth[releases[0]])


def _groups(target: Target, pairs: Sequence[Pair]) -> Group:
    """Releases whose copies of the column are coupled, in one group each."""
    coupled = {(pair.first, pair.second) for pair in pairs if pair.coupling.coupled}
    last = max(target.present) + 1
    return tuple(group for group in chains(last, coupled) if group[0] in target.present)


class _Kept:
    """Whether the values that small domains protect stay below what was promised, by formula and by count."""

    def __init__(self, view: PartedView) -> None:
        self._bound, prior = view.bound, view.prior
        self._protected = prior.values[(prior.shares > 0) & (prior.shares <= view.bound.rho1 * (1 + 1e-12))]
        self._worst = view.highest(self._protected.tolist())
        self._rows = self._right = 0

    def add(self, shown: Numbers, truth: Numbers, parts: Numbers) -> None:
        """Count the rows that show the worst value in the worst part, and those of them that have it."""
        if self._worst is not None:
            _, part, value = self._worst
            here = (shown == value) & (parts == part)
            self._rows += int(np.count_nonzero(here))
            self._right += int(np.count_nonzero(truth[here] == value))

    def promise(self) -> Promise:
        """Of all that was added."""
        highest = 0.0 if self._worst is None else self._worst[0]
        return Promise(self._bound.rho1, self._bound.rho2, len(self._protected), highest, self._rows, self._right)
