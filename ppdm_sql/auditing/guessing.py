"""The best guess of every row, by Bayes' rule, from one release and from several together."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from ppdm_sql.auditing.matching import match, rows_of
from ppdm_sql.auditing.priors import numbers_of
from ppdm_sql.auditing.scores import Attack, ColumnAttack, Pair, RowAttack, Tally
from ppdm_sql.auditing.tables import Copy, Original, open_copies, open_original, policy_of
from ppdm_sql.auditing.targets import PRIORS, Target, find_targets
from ppdm_sql.errors import ReleaseError
from ppdm_sql.privacy.collusion import Guesses, Numbers, judge
from ppdm_sql.privacy.coupling import chains, coupling

Flags = NDArray[np.bool_]
Group = tuple[tuple[int, ...], ...]


def attack(
    releases: Sequence[str | Path],
    source: Any,
    *,
    table: str | None = None,
    prior: str = "source",
    progress: bool | None = None,
) -> Attack:
    """Guess every perturbed value of releases, and count what is right.

    The adversary knows the perturbation's parameters, sees every published value, and takes the likeliest original. A
    column is guessed by itself: what other columns tell of it is in `audit`. Several releases are first compared: where
    two agree as often as copies along one key's path do, only the more retained one counts; else their evidence
    multiplies.

    Parameters
    ----------
    releases
        Files, ``*.duckdb`` or ``*.parquet``.
    source
        The original: whatever `publish` takes.
    table
        Which table, where a release holds several.
    prior
        What the adversary knows of how common values are: ``"source"``, the truth; or ``"release"``, what the most
        retained release lets one reconstruct.
    progress
        Show a bar; None shows one on a terminal only.

    Raises
    ------
    PpdmError
        If a file cannot be read, or rows cannot be matched. No message holds a value of the original.
    """
    if prior not in PRIORS:
        raise ValueError(f"prior is one of {PRIORS}, not {prior!r}")
    if not releases:
        raise ReleaseError("there is no release to attack: name at least one.")
    with (
        open_copies([str(path) for path in releases], table) as copies,
        open_original(source, policy_of(copies[0].manifest)) as original,
    ):
        targets, left_out = find_targets(original, copies, prior)
        matching = match(original, copies)

        def read(doing: str) -> Iterator[list[_Seen]]:
            with _bar(progress, doing, copies[0].manifest.rows) as bar:
                for batches in rows_of(original, copies, matching, [target.column for target in targets]):
                    yield [_seen(original, copies, target, i, batches) for i, target in enumerate(targets)]
                    bar.update(batches[0].num_rows)

        pairs = _compared(targets, read("comparing copies")) if len(copies) > 1 else [()] * len(targets)
        columns, whole = _guessed(targets, pairs, len(copies), read("guessing"))
    paths, rows = tuple(copy.path for copy in copies), sum(whole.right_columns)
    return Attack(copies[0].manifest.table, paths, rows, matching.words, prior, columns, whole, left_out)


@dataclass(frozen=True)
class _Seen:
    """A column's rows of one batch: which take part, their true numbers, and what each release shows."""

    taking: Flags
    truth: Numbers
    shown: Mapping[int, Numbers]


def _seen(
    original: Original, copies: Sequence[Copy], target: Target, i: int, batches: Sequence[pa.RecordBatch]
) -> _Seen:
    truth = numbers_of(original.where, batches[0].column(i), target.first)
    taking = truth < target.first.size
    shown = {}
    for c in target.present:
        bound = target.bounds[c]
        assert bound is not None
        shown[c] = numbers_of(repr(copies[c].path), batches[c + 1].column(i), bound)[taking]
    return _Seen(taking, truth[taking], shown)


def _compared(targets: Sequence[Target], batches: Iterator[list[_Seen]]) -> list[tuple[Pair, ...]]:
    """For every column, which pairs of copies share their coins."""
    agreeing = [dict.fromkeys(combinations(t.present if t.comparable else (), 2), 0) for t in targets]
    rows = [0] * len(targets)
    for batch in batches:
        for i, seen in enumerate(batch):
            rows[i] += len(seen.truth)
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
    targets: Sequence[Target], pairs: Sequence[tuple[Pair, ...]], copies: int, batches: Iterator[list[_Seen]]
) -> tuple[tuple[ColumnAttack, ...], RowAttack]:
    groups = [_groups(target, found) for target, found in zip(targets, pairs, strict=True)]
    alone = [{c: Tally() for c in target.present} for target in targets]
    together = [Tally() for _ in targets]
    commonest = [0] * len(targets)
    right_columns = np.zeros(len(targets) + 1, dtype=np.int64)
    for batch in batches:
        count = np.zeros(len(batch[0].taking), dtype=np.int64)
        for i, seen in enumerate(batch):
            target = targets[i]
            commonest[i] += int(np.count_nonzero(seen.truth == target.prior.commonest))
            for c, tally in alone[i].items():
                right = tally.add(_judged(target, [c], seen), seen.truth)
            if target.comparable and len(target.present) > 1:
                strongest = [max(group, key=target.retain) for group in groups[i]]
                right = together[i].add(_judged(target, strongest, seen), seen.truth)
            count[~seen.taking] += 1  # a NULL that stays is plain to see
            count[np.flatnonzero(seen.taking)[right]] += 1
        right_columns += np.bincount(count, minlength=len(right_columns))
    columns = []
    for i, target in enumerate(targets):
        scores = tuple(alone[i][c].score() if c in alone[i] else None for c in range(copies))
        known = [score for score in scores if score is not None]
        joint = known[0] if len(known) == 1 else together[i].score() if target.comparable else None
        retentions = tuple(None if bound is None else bound.retain for bound in target.bounds)
        columns.append(
            ColumnAttack(
                target.column.name, known[0].rows, commonest[i], scores, joint, retentions, groups[i], pairs[i]
            )
        )
    return tuple(columns), RowAttack(tuple(right_columns.tolist()))


def _judged(target: Target, releases: Sequence[int], seen: _Seen) -> Guesses:
    shown = np.stack([seen.shown[c] for c in releases])
    odds = np.stack([target.odds(c, seen.shown[c]) for c in releases])
    return judge(target.prior, shown, odds, seen.truth)


def _groups(target: Target, pairs: Sequence[Pair]) -> Group:
    """Releases whose copies of the column are coupled, in one group each."""
    coupled = {(pair.first, pair.second) for pair in pairs if pair.coupling.coupled}
    last = max(target.present) + 1
    return tuple(group for group in chains(last, coupled) if group[0] in target.present)


def _bar(progress: bool | None, doing: str, rows: int) -> Any:
    shown = sys.stderr.isatty() if progress is None else progress
    return tqdm(total=rows, desc=doing, unit=" rows", unit_scale=True, disable=not shown)
