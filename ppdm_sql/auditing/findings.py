"""What no formula sees: heaping, columns that tell of each other, rows that stand alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ppdm_sql.auditing.dependence import Dependence, dependences
from ppdm_sql.auditing.heaping import Heap, heaps
from ppdm_sql.auditing.priors import counts_of
from ppdm_sql.auditing.tables import Original, open_original
from ppdm_sql.auditing.uniqueness import Uniqueness, uniqueness
from ppdm_sql.domain.types import parse_type
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.policy import Policy, ReleasedColumn, RetainedColumn, load_policy
from ppdm_sql.publishing.layout import lay_out
from ppdm_sql.publishing.sources import Source


@dataclass(frozen=True)
class Audit:
    """What was found; counts and shares of the original, so for the publisher's eyes."""

    rows: int
    heaps: tuple[Heap, ...]
    dependences: tuple[Dependence, ...]
    uniqueness: Uniqueness

    @property
    def clean(self) -> bool:
        """Nothing was found."""
        alone = self.uniqueness
        return not (self.heaps or self.dependences or alone.identifying or alone.unique)


def audit(source: Any, policy: Policy | dict[str, Any] | str | Path, *, level: str | None = None) -> Audit:
    """Look in the original for what a policy's parameters do not show.

    Parameters
    ----------
    source
        The original: whatever `publish` takes.
    policy
        A policy, its TOML file or text, or a mapping of the same shape.
    level
        One of the policy's levels.

    Raises
    ------
    PpdmError
        As `publish` does for a policy that does not fit.
    """
    declared = load_policy(policy).at_level(level)
    with open_original(source, declared) as original:
        return audit_columns(original, columns_of(original, declared))


def columns_of(original: Original, policy: Policy) -> tuple[ReleasedColumn, ...]:
    """The columns as they would be released."""
    names, relation = tuple(original.names.values()), original.relation
    source = Source(original.where, relation, names, tuple(relation.types), original.rows)
    layout = lay_out(policy, source, parquet=False)
    return tuple(ReleasedColumn(c.name, parse_type(c.type), c.perturbed) for c in layout.columns)


def audit_columns(original: Original, columns: Sequence[ReleasedColumn]) -> Audit:
    """The same for columns that are known; those that a mechanism adds to a release are not in the original."""
    columns = [column for column in columns if column.name.casefold() in original.names]
    alone = uniqueness(original, [c.name for c in columns if c.perturbed is None])
    declared = [c.perturbed for c in columns if isinstance(c.perturbed, RetainedColumn)]
    # A column's own values are drawn as often as they occur: none is more common among the rows than among draws.
    retained = [bound for bound in declared if not isinstance(bound, SelfReplacedColumn)]
    heaped = tuple(heap for bound in retained for heap in heaps(bound, *counts_of(original, bound)))
    return Audit(alone.rows, heaped, dependences(original, columns), alone)
