"""What guesses got right, added up batch by batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ppdm_sql.privacy.collusion import Guesses, Numbers
from ppdm_sql.privacy.coupling import Coupling

BINS = 1000
"""Confidences are told apart to a thousandth."""
SUREST = 0.01
"""The share of rows that the surest guesses are looked for in."""


@dataclass(frozen=True)
class Surest:
    """The surest guesses, at least one row in a hundred: all that are at least `confidence` sure."""

    rows: int
    right: int
    confidence: float


@dataclass(frozen=True)
class Score:
    """What the best guess of every row got right.

    `expected` is how many were to be right by the guesses' own confidence, `reconstruction` the mean posterior of the
    true values (Equation 25 of Xiao, Tao and Chen). `calibration` has a triple for each tenth of confidence: guesses,
    those that were right, and the sum of their confidences.
    """

    rows: int
    right: int
    expected: float
    reconstruction: float
    surest: Surest
    calibration: tuple[tuple[int, int, float], ...]

    @property
    def share(self) -> float:
        """The share of rows that were guessed right."""
        return self.right / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class Pair:
    """Two releases, by their place in the list, and whether their copies of a column share their coins."""

    first: int
    second: int
    coupling: Coupling


@dataclass(frozen=True)
class Promise:
    """What small domains promise of the values whose share is at most `rho1`, and what became of it.

    `highest` is the largest posterior that one of the `protected` values can get, for somebody who knows how often each
    value occurs in each part. Of the `rows` that show that value in that part, it is truly the value of `right`.
    """

    rho1: float
    rho2: float
    protected: int
    highest: float
    rows: int
    right: int

    @property
    def kept(self) -> bool:
        """Whether no protected value gets as likely as `rho2`."""
        return self.highest < self.rho2


@dataclass(frozen=True)
class ColumnAttack:
    """A column: what guessing its commonest value gets right, what each release alone, and what all together.

    `alone` has None for a release that does not perturb the column; `together` is None where domains differ. Releases
    in one group of `chains` are coupled by one key: only the most retained of each group counts. `promises` has one for
    each release that has the column in small domains, and is empty where none has.
    """

    name: str
    rows: int
    commonest: int
    alone: tuple[Score | None, ...]
    together: Score | None
    retentions: tuple[float | None, ...]
    chains: tuple[tuple[int, ...], ...] = ()
    pairs: tuple[Pair, ...] = ()
    promises: tuple[Promise | None, ...] = ()

    @property
    def baseline(self) -> float:
        """The share of rows that have the commonest value."""
        return self.commonest / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class RowAttack:
    """Rows by how many of their perturbed columns were guessed right: none, one, .., all."""

    right_columns: tuple[int, ...]

    @property
    def whole(self) -> int:
        """Rows of which every column was guessed right."""
        return self.right_columns[-1]

    @property
    def mean(self) -> float:
        """Columns guessed right, a row."""
        rows = sum(self.right_columns)
        return sum(k * n for k, n in enumerate(self.right_columns)) / rows if rows else 0.0


@dataclass(frozen=True)
class NumberScore:
    """How far guesses of a noisy column are from the truth: root mean square errors, `error` as measured.

    `expected` is what the guess's formula says of any originals with this spread. `within` is the share of rows whose
    guess is off by at most `expected`.
    """

    error: float
    expected: float
    within: float


@dataclass(frozen=True)
class NumberAttack:
    """A column with Gaussian noise, guessed by each release alone and by all together.

    Without a release the mean is the best guess, off by `deviation`. `noise` has the standard deviation of each
    release's noise, None where a release adds none. Releases in one group of `chains` share a key's noise.
    """

    name: str
    rows: int
    deviation: float
    alone: tuple[NumberScore | None, ...]
    together: NumberScore
    noise: tuple[float | None, ...]
    chains: tuple[tuple[int, ...], ...]
    doubtful: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ShownItem:
    """An item in baskets that show it: how many do, how many of them hold it, and how many were expected to."""

    item: str
    shown: int
    held: int
    expected: float


@dataclass(frozen=True)
class BasketAttack:
    """A column of baskets in one release: how often a shown item is held, over all items, and of the most telling one.

    `expected` follows from the shares of the original's baskets of each size that hold an item. `highest` is the
    largest posterior that any item has in baskets of any one size, and `before` what it was without the release.
    """

    name: str
    release: int
    baskets: int
    items: int
    shown: int
    held: int
    expected: float
    worst: ShownItem
    highest: float
    before: float
    gamma: float


@dataclass(frozen=True)
class Attack:
    """The outcome for one table."""

    table: str
    releases: tuple[str, ...]
    rows: int
    matched: str
    prior: str
    columns: tuple[ColumnAttack, ...]
    whole_rows: RowAttack
    left_out: tuple[tuple[str, str], ...] = ()
    numbers: tuple[NumberAttack, ...] = ()
    baskets: tuple[BasketAttack, ...] = ()


class Tally:
    """Adds up guesses."""

    def __init__(self) -> None:
        self._seen: NDArray[np.int64] = np.zeros(BINS, dtype=np.int64)
        self._right: NDArray[np.int64] = np.zeros(BINS, dtype=np.int64)
        self._sure: NDArray[np.float64] = np.zeros(BINS)
        self._truth = 0.0

    def add(self, guesses: Guesses, truth: Numbers) -> NDArray[np.bool_]:
        """Take a batch into account; which of its rows were right."""
        right: NDArray[np.bool_] = guesses.value == truth
        place = np.minimum((guesses.confidence * BINS).astype(np.int64), BINS - 1)
        self._seen += np.bincount(place, minlength=BINS)
        self._right += np.bincount(place[right], minlength=BINS)
        self._sure += np.bincount(place, weights=guesses.confidence, minlength=BINS)
        assert guesses.truth is not None
        self._truth += float(guesses.truth.sum())
        return right

    def score(self) -> Score:
        """Of all that was added."""
        rows, right = int(self._seen.sum()), int(self._right.sum())
        tenths = [tuple(array.reshape(10, -1).sum(axis=1).tolist()) for array in (self._seen, self._right, self._sure)]
        calibration = tuple(zip(*tenths, strict=True))
        return Score(
            rows, right, float(self._sure.sum()), self._truth / rows if rows else 0.0, self._surest(rows), calibration
        )

    def _surest(self, rows: int) -> Surest:
        falling = np.cumsum(self._seen[::-1])
        if not rows:
            return Surest(0, 0, 0.0)
        last = int(np.searchsorted(falling, max(SUREST * rows, 1)))
        start = BINS - 1 - last
        return Surest(int(falling[last]), int(self._right[start:].sum()), start / BINS)
