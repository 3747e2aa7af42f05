"""The best guess of every row, by Bayes' rule, from one release and from several together."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ppdm_sql.auditing.basket_guessing import guess_baskets
from ppdm_sql.auditing.matching import Batches, Matching, Wanted, match, rows_of
from ppdm_sql.auditing.number_guessing import guess_numbers
from ppdm_sql.auditing.scores import Attack
from ppdm_sql.auditing.tables import Copy, Original, open_copies, open_original, policy_of
from ppdm_sql.auditing.targets import PRIORS, find_targets
from ppdm_sql.auditing.value_guessing import guess_values
from ppdm_sql.errors import ReleaseError


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

    Numbers with Gaussian noise are guessed by the linear estimate of least square error. Of baskets it is counted how
    often a shown item is in the basket.

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
        retained release lets one reconstruct. The latter takes the likeliest shares for the true ones: where many
        values are seen a few times each, as on a fine grid, its guesses are far less often right than it believes.
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
        rows = _Rows(original, copies, match(original, copies), progress)
        targets, left_out = find_targets(original, copies, prior)
        columns, whole = guess_values(rows, targets, prior)
        numbers, nameless = guess_numbers(rows, prior)
        baskets = guess_baskets(rows)
    left_out += nameless
    if not (columns or numbers or baskets or left_out):
        raise ReleaseError(f"{copies[0].path!r} has no perturbed column that can be guessed: there is nothing to do.")
    paths = tuple(copy.path for copy in copies)
    return Attack(
        copies[0].manifest.table, paths, rows.count, rows.matching.words, prior, columns, whole, left_out,
        numbers, baskets,
    )  # fmt: skip


@dataclass
class _Rows:
    """The matched rows, which can be read as often as it takes; `count` is how many there were."""

    original: Original
    copies: Sequence[Copy]
    matching: Matching
    progress: bool | None
    count: int = 0

    def read(self, doing: str, wanted: Sequence[Wanted]) -> Batches:
        """What is wanted, batch by batch."""
        self.count = 0
        with _bar(self.progress, doing, self.copies[0].manifest.rows) as bar:
            for batches in rows_of(self.original, self.copies, self.matching, wanted):
                yield batches
                self.count += batches[0].num_rows
                bar.update(batches[0].num_rows)


def _bar(progress: bool | None, doing: str, rows: int) -> Any:
    shown = sys.stderr.isatty() if progress is None else progress
    return tqdm(total=rows, desc=doing, unit=" rows", unit_scale=True, disable=not shown)
