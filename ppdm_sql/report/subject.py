"""What a page is about: a released table, or what a policy would make of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.baskets.declare import BasketPolicy
from ppdm_sql.mechanisms.gaussian.column import NoisePolicy
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.self_replaced.declare import OwnPolicy
from ppdm_sql.policy import ColumnPolicy, Manifest, PerturbedColumn, Policy, ReleasedColumn, RetainedColumn, bind
from ppdm_sql.policy.model import SOURCE
from ppdm_sql.privacy.channel import channel_of

ROWS = 100_000
"""What errors are computed for where nobody said how many rows there are."""


@dataclass(frozen=True)
class Perturbed:
    """A perturbed column. `bound` is None where its type is not known, and then `words` say what the policy says."""

    name: str
    mechanism: str
    bound: PerturbedColumn | None
    words: tuple[str, ...] = ()
    guessed: bool = False

    @property
    def gamma(self) -> float | None:
        """How many times likelier one value makes an output than another does; None where there is no such number."""
        if isinstance(self.bound, SelfReplacedColumn):
            return None  # a value may be as rare as it likes
        if isinstance(self.bound, RetainedColumn):
            return channel_of(self.bound).gamma
        return None if self.bound is None else MECHANISMS[self.mechanism].describe(self.bound).gamma


@dataclass(frozen=True)
class Subject:
    """A table: how many rows, which columns are perturbed, exact (None: all others) and dropped, what names a row.

    `as_in_source` where rows are released in the order that they have there.
    """

    table: str
    rows: int
    rows_known: bool
    level: str | None
    perturbed: tuple[Perturbed, ...]
    exact: tuple[str, ...] | None
    dropped: tuple[str, ...] = ()
    identity: tuple[str, ...] | None = None
    as_in_source: bool = False


def declared_columns(subject: Subject) -> list[RetainedColumn]:
    """The columns that are kept, or redrawn by a distribution that the policy declares."""
    bounds = [column.bound for column in subject.perturbed]
    return [
        bound for bound in bounds if isinstance(bound, RetainedColumn) and not isinstance(bound, SelfReplacedColumn)
    ]


def subject_of_release(manifest: Manifest) -> Subject:
    """A release says all there is to know, but for what was dropped and what names a row."""
    columns = manifest.columns
    of_rows = (manifest.table, manifest.rows, True, manifest.level, _perturbed(columns), _exact(columns))
    return Subject(*of_rows, as_in_source=manifest.order is None and manifest.view is None)


def subject_of_policy(policy: Policy, level: str | None, rows: int | None) -> Subject:
    """A policy alone: types are guessed from the domains where these look made for one."""
    columns = tuple(_guessed(policy, column) for column in policy.perturbed)
    known = rows is not None
    of_rows = (policy.table, rows or ROWS, known, level, columns, None, policy.dropped, policy.identity)
    return Subject(*of_rows, policy.order == SOURCE)


def subject_of_source(policy: Policy, level: str | None, columns: Sequence[ReleasedColumn], rows: int) -> Subject:
    """A policy with the table it is for."""
    lines = {column.name: _words(policy, column) for column in policy.perturbed}
    perturbed = tuple(replace(column, words=lines.get(column.name, ())) for column in _perturbed(columns))
    of_rows = (policy.table, rows, True, level, perturbed, _exact(columns), policy.dropped, policy.identity)
    return Subject(*of_rows, policy.order == SOURCE)


def _perturbed(columns: Sequence[ReleasedColumn]) -> tuple[Perturbed, ...]:
    return tuple(Perturbed(c.name, c.perturbed.mechanism, c.perturbed) for c in columns if c.perturbed is not None)


def _exact(columns: Sequence[ReleasedColumn]) -> tuple[str, ...]:
    return tuple(c.name for c in columns if c.perturbed is None)


def _guessed(policy: Policy, column: ColumnPolicy) -> Perturbed:
    words = _words(policy, column)
    type_name = _likely_type(column)
    bound = None
    if type_name is not None:
        try:
            bound = bind(column, type_name)
        except PolicyError:  # the guess was wrong; the policy itself was read without complaint
            bound = None
    return Perturbed(column.name, column.mechanism, bound, words, guessed=True)


def _words(policy: Policy, column: ColumnPolicy) -> tuple[str, ...]:
    """What the mechanism says of the column as declared, a sentence a line."""
    lines = MECHANISMS[column.mechanism].explain(column, None, policy.shared_levels)[1:]
    return tuple(f"{line.strip()[:1].upper()}{line.strip()[1:]}." for line in lines)


def _likely_type(column: ColumnPolicy) -> str | None:
    """The type that a column looks made for."""
    if isinstance(column, NoisePolicy):
        return "DOUBLE"
    if isinstance(column, OwnPolicy):
        return "VARCHAR"  # whatever it is: its own values are drawn
    found = _type_of_domain(column)
    return f"{found}[]" if isinstance(column, BasketPolicy) and found else found


def _type_of_domain(column: ColumnPolicy) -> str | None:
    domain = column.domain
    if isinstance(domain, Values):
        points: Sequence[object] = domain.values
    elif isinstance(domain, Range):
        points = (domain.low, domain.high)
    else:
        return None
    kinds = {
        bool: "BOOLEAN", str: "VARCHAR", datetime: "TIMESTAMP", date: "DATE", int: "HUGEINT", Decimal: "DOUBLE"
    }  # fmt: skip
    found = {kinds.get(type(point)) for point in points}
    if found == {"HUGEINT", "DOUBLE"} or (isinstance(domain, Range) and isinstance(domain.step, Decimal)):
        return "DOUBLE"
    return found.pop() if len(found) == 1 else None
