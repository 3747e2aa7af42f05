"""How one release shows a column, and what the adversary knows of it: enough for Bayes' rule on every row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ppdm_sql.auditing.priors import drawn, numbers_of
from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.collusion import Array, Guesses, Numbers, Prior, judge, log_odds


class View(ABC):
    """A column in one release; values are numbered, and those from `size` on are NULLs that stay."""

    prior: Prior

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values there are."""

    @property
    @abstractmethod
    def retain(self) -> float:
        """The probability that a value is kept; the largest, where it differs from part to part."""

    @property
    @abstractmethod
    def kind(self) -> Hashable:
        """Views of the same kind draw from the same values, so that their copies can be put together; None: never."""

    @abstractmethod
    def numbers(self, where: str, array: pa.Array) -> Numbers:
        """The numbers of values."""

    @abstractmethod
    def odds(self, shown: Numbers) -> Array:
        """How much likelier the release makes the values that it shows; logarithms."""

    def judge(self, shown: Numbers, truth: Numbers, parts: Numbers | None) -> Guesses:
        """The best guess of every row by this release alone."""
        return judge(self.prior, shown[None], self.odds(shown)[None], truth)


@dataclass(frozen=True)
class DeclaredView(View):
    """Replacements come from a declared domain."""

    bound: RetainedColumn
    prior: Prior

    @property
    def size(self) -> int:
        """The domain's."""
        return self.bound.size

    @property
    def retain(self) -> float:
        """As declared."""
        return self.bound.retain

    @property
    def kind(self) -> Hashable:
        """All that draws depend on."""
        bound = self.bound
        return bound.mechanism, bound.domain, bound.nulls, bound.weights

    def numbers(self, where: str, array: pa.Array) -> Numbers:
        """Places in the domain."""
        return numbers_of(where, array, self.bound)

    def odds(self, shown: Numbers) -> Array:
        """By the shares among draws."""
        return log_odds(self.bound.retain, drawn(self.bound, shown))


@dataclass(frozen=True)
class OwnView(View):
    """Replacements are the column's own values, drawn as often as they occur: as the prior has them."""

    bound: SelfReplacedColumn
    prior: Prior
    known: pa.Array

    @property
    def size(self) -> int:
        """Of the values that occur; NULL is one of them where it is a value."""
        return len(self.known)

    @property
    def retain(self) -> float:
        """As declared."""
        return self.bound.retain

    @property
    def kind(self) -> Hashable:
        """Drawn values of one key may be coupled; dealt ones of two retentions follow no law that is known here."""
        swap = self.bound.mechanism == "swap"
        return self.bound.mechanism, self.bound.nulls, self.bound.retain if swap else None

    def numbers(self, where: str, array: pa.Array) -> Numbers:
        """Places among the values that occur."""
        plain = array.cast(self.known.type) if array.type != self.known.type else array
        found = pc.index_in(plain, value_set=self.known)
        unknown = found.null_count - (0 if self.bound.nulls == "value" else array.null_count)
        if unknown:
            raise SourceError(
                f"{where}: column {self.bound.name!r} has values that do not occur in the original: is it the table "
                "that was published?"
            )
        return np.asarray(pc.fill_null(found, self.size).to_numpy(zero_copy_only=False), dtype=np.int64)

    def odds(self, shown: Numbers) -> Array:
        """By the shares among the rows."""
        return log_odds(self.bound.retain, self.prior.of(shown))


@dataclass(frozen=True)
class PartedView(View):
    """Replacements come from the few values of the part that a row is in, which anybody can see."""

    bound: SmallDomainColumn
    prior: Prior
    priors: tuple[Prior, ...]

    @property
    def whole(self) -> RetainedColumn:
        """The column as if it were in one part, for its numbering."""
        return whole_domain(self.bound)

    @property
    def size(self) -> int:
        """The domain's."""
        return self.bound.size

    @property
    def retain(self) -> float:
        """The largest of the parts."""
        return max(part.retain for part in self.bound.parts)

    @property
    def kind(self) -> Hashable:
        """Rows are parted anew in every release."""
        return None

    def numbers(self, where: str, array: pa.Array) -> Numbers:
        """Places in the domain."""
        return numbers_of(where, array, self.whole)

    def odds(self, shown: Numbers) -> Array:
        """Differ from part to part."""
        raise AssertionError("parts are judged one by one: ask judge")

    def judge(self, shown: Numbers, truth: Numbers, parts: Numbers | None) -> Guesses:
        """Within the part of each row."""
        assert parts is not None
        value, confidence, true = np.zeros_like(shown), np.zeros(len(shown)), np.zeros(len(shown))
        for i, (part, prior) in enumerate(zip(self.bound.parts, self.priors, strict=True)):
            here = parts == i
            odds = np.full((1, int(here.sum())), log_odds(part.retain, 1 / len(part.places)))
            found = judge(prior, shown[here][None], odds, truth[here])
            assert found.truth is not None
            value[here], confidence[here], true[here] = found.value, found.confidence, found.truth
        return Guesses(value, confidence, true)

    def highest(self, protected: Sequence[int]) -> tuple[float, int, int] | None:
        """The largest posterior that a protected value can get, with the part and the value that has it.

        A value is likeliest where it is itself what is shown.
        """
        best: tuple[float, int, int] | None = None
        wanted = np.asarray(protected, dtype=np.int64)
        for i, (part, prior) in enumerate(zip(self.bound.parts, self.priors, strict=True)):
            values = np.intersect1d(wanted, np.asarray(part.places))
            if not len(values):
                continue
            share, odds = prior.of(values), np.exp(log_odds(part.retain, 1 / len(part.places)))
            after = share * odds / (1 + share * (odds - 1))
            most = int(after.argmax())
            if best is None or after[most] > best[0]:
                best = (float(after[most]), i, int(values[most]))
        return best


def whole_domain(column: SmallDomainColumn) -> RetainedColumn:
    """The column as if it were in one part."""
    return RetainedColumn(column.name, column.type, column.domain, 1.0, column.nulls, column.outside)


def with_priors(view: PartedView, counts: Array) -> PartedView:
    """The view of somebody who knows how often each value occurs in each part; shape (parts, size)."""
    numbers = np.arange(view.size)
    priors = tuple(
        Prior.from_counts(numbers[row > 0], row[row > 0]) if row.any() else view.prior for row in np.asarray(counts)
    )
    return replace(view, priors=priors)
