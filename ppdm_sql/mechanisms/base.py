"""The contract of mechanisms: what each says of itself, and what the rest of the program knows of its columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ppdm_sql.domain.domain import Grid, Range, Values
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.types import SqlType
from ppdm_sql.mechanisms.retention import Retention

NULL_RULES = ("error", "keep", "value")
OUTSIDE_RULES = ("error", "clamp")
OTHER_ROWS = "it had other rows or values then, and what replaces a value depends on all of them"


def declared_rules(nulls: str, outside: str = "error") -> dict[str, Any]:
    """The rules of a column for NULL and for what is outside its domain, as far as they are not the usual ones."""
    return {key: rule for key, rule in (("nulls", nulls), ("outside", outside)) if rule != "error"}


@dataclass(frozen=True)
class ColumnPolicy:
    """What happens to one column; a mechanism that needs further words has a subclass of its own.

    `levels` has the retention for recipients by name, where the column says so itself.
    """

    name: str
    mechanism: str
    domain: Range | Values | None = None
    retention: Retention | None = None
    nulls: str = "error"
    outside: str = "error"
    levels: Mapping[str, float] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether it is said how much is kept, whoever the recipient is."""
        return self.retention is not None

    def at_level(self, level: str, shared: float | None) -> ColumnPolicy:
        """The column for one recipient: as it says itself, or as [levels] says for all, or as it always is."""
        retain = self.levels.get(level, shared)
        return self if retain is None else replace(self, retention=Retention("retain", retain))


@dataclass(frozen=True)
class PerturbedColumn:
    """A perturbed column whose type is known; what else is public of it depends on its mechanism."""

    name: str
    type: SqlType
    mechanism: str = field(default="", kw_only=True)

    @property
    def exact(self) -> bool:
        """Whether every value is published as it is."""
        return False

    @property
    def by_value(self) -> bool:
        """Whether conditions on values of the column, and sums over it, are reconstructed at all."""
        return False

    @property
    def keeps_null(self) -> bool:
        """Whether the NULLs of the release are those of the original."""
        return False

    @property
    def drawn_from_release(self) -> bool:
        """Whether the distribution that replacements are drawn from is read off the release."""
        return False

    @property
    def drift(self) -> float:
        """How far that distribution, where it is read off the release, follows each of its rows."""
        return 0.0

    @property
    def declared_grid(self) -> Grid | None:
        """The grid of all values that a release may hold, where one was declared."""
        return None

    @property
    def middle(self) -> float:
        """A public number among the values, taken off where their mean does not matter; 0 where none is needed."""
        return 0.0

    @property
    def ranges_only(self) -> bool:
        """Whether conditions can only be ranges, for single values are hidden."""
        return False

    @property
    def adds_noise(self) -> bool:
        """Whether a number is added to each value, which sums of powers and products are corrected for."""
        return False

    def noise_with(self, other: PerturbedColumn) -> float:
        """The covariance of what is added to a number of this column and to one of another, in the same row."""
        return 0.0

    @property
    def holds_items(self) -> bool:
        """Whether each value is a set of items, which conditions ask for one by one."""
        return False

    @property
    def whole_items(self) -> bool:
        """Whether the items, where a value holds some, are whole numbers."""
        return False

    @property
    def size_column(self) -> str:
        """The exact column that holds the number of items of each value."""
        return ""

    @property
    def parted_by(self) -> str | None:
        """The exact column that numbers the part of a row, where the column is perturbed otherwise in each part."""
        return None

    @property
    def in_each_part(self) -> tuple[PerturbedColumn, ...]:
        """The column as it is perturbed in each part of the rows."""
        return (self,)

    @property
    def whole(self) -> PerturbedColumn:
        """The column as a query is understood with it: on the whole domain, where each part of the rows has its own."""
        return self

    def exact_in(self, relation: str) -> PerturbedColumn:
        """The column where its values are published as they are: those that a query gives."""
        raise TypeError(f"no rows have {self.name!r}, perturbed by {self.mechanism}, as it is")

    def read_from(self, source: str) -> PerturbedColumn:
        """The column once the released table is known, as SQL."""
        return self


@dataclass(frozen=True)
class Description:
    """What is public of a perturbed column, as far as its mechanism has it; `kept` says the strength in a few words."""

    kept: str
    domain: str | None = None
    size: int | None = None
    retention: float | None = None
    gamma: float | None = None
    epsilon: float | None = None
    nulls: str | None = None
    outside: str | None = None


@dataclass(frozen=True)
class RowCheck:
    """What shows that stored rows were not made by a mechanism.

    `problem` gives SQL that is true of a value that it never makes, None where it makes any; `lacks` says of a column,
    of rows that have a value, of all rows and of different values among them whether so few are no accident.
    """

    problem: Callable[[Any], str | None]
    lacks: Callable[[Any, int, int, int], bool] = lambda column, known, rows, different: False


class Mechanism(ABC):
    """One mechanism, as a policy and a manifest know it: the module `declare` of its folder."""

    name: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]
    """The keys that a column of this mechanism may have, `mechanism` left out."""

    level_keys: ClassVar[tuple[str, ...]] = ()
    """What may differ, of what a manifest holds, between two releases of one key that are coupled all the same."""

    besides: ClassVar[str] = "its values were of another kind then"
    """What was another at an earlier release with other coins, where all that a manifest holds is alike."""

    @abstractmethod
    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """Read a column's keys, all of which are known; `has_levels` where the policy has [levels] for all columns."""

    @abstractmethod
    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """Check a column against its SQL type; PolicyError names the rule that does not hold."""

    @abstractmethod
    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """What a manifest holds of the column besides name, type and mechanism."""

    @abstractmethod
    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column from a manifest, whose fields are taken one by one; ReleaseError where one is not right."""

    @abstractmethod
    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """What a policy would say of a released column, `mechanism` left out; `perturbed` are all of the release."""

    def companions(self, column: PerturbedColumn) -> tuple[str, ...]:
        """The exact columns of whole numbers that a release has beside this one."""
        return ()

    @abstractmethod
    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """The column in plain words, from what its policy says; lines after the first are indented.

        `levels` has every recipient, with the retention that [levels] gives all columns for it, if it does.
        """

    @abstractmethod
    def describe(self, column: PerturbedColumn) -> Description:
        """What is public of a released column."""
