"""The policy as declared, and the words it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy

DROP = "drop"
"""The mechanism that perturbs nothing: the column is not released."""
SOURCE = "source"
"""The order of rows that a policy may ask for in place of columns: that of the source."""
TRIAL = "trial"
"""The source's order of a trial that is thrown away: nobody sees it but the publisher, so that it may tell anything."""


@dataclass(frozen=True)
class Policy:
    """What happens to a table; columns that are not named are released as they are.

    `order` has the exact columns that released rows are ordered by, or is SOURCE or TRIAL; None leaves it to the
    identity.
    """

    table: str
    columns: tuple[ColumnPolicy, ...] = ()
    identity: tuple[str, ...] = ()
    levels: Mapping[str, float] = field(default_factory=dict)
    order: tuple[str, ...] | str | None = None

    @property
    def perturbed(self) -> tuple[ColumnPolicy, ...]:
        """The columns that are perturbed."""
        return tuple(c for c in self.columns if c.mechanism != DROP)

    @property
    def naming(self) -> tuple[str, ...]:
        """The identity's columns by name: a row has the same coins in whatever order the policy lists them."""
        return tuple(sorted(self.identity, key=str.casefold))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are never released."""
        return tuple(c.name for c in self.columns if c.mechanism == DROP)

    @property
    def level_names(self) -> tuple[str, ...]:
        """Every recipient that is named anywhere, each once."""
        named = [*self.levels, *(name for column in self.perturbed for name in column.levels)]
        return tuple(dict.fromkeys(named))

    @property
    def shared_levels(self) -> Mapping[str, float | None]:
        """Every recipient, with the retention that [levels] gives all columns for it, if it does."""
        return {name: self.levels.get(name) for name in self.level_names}

    def at_level(self, level: str | None) -> Policy:
        """The policy for one recipient: every perturbed column with one retention."""
        known = ", ".join(self.level_names)
        if level is not None and level not in self.level_names:
            raise PolicyError(f"level {level!r} is not declared in [levels] (declared: {known or 'none'}).")
        if level is None:
            settled = self
        else:
            shared = self.levels.get(level)
            columns = (c if c.mechanism == DROP else c.at_level(level, shared) for c in self.columns)
            settled = replace(self, columns=tuple(columns))
        bare = [c.name for c in settled.perturbed if not c.settled]
        if bare and level is None:
            raise PolicyError(
                f"column {bare[0]!r} has no retention of its own: name a level (declared: {known or 'none declared'}), "
                "or give the column retain, gamma, epsilon or privacy."
            )
        if bare:
            raise PolicyError(
                f"column {bare[0]!r} has no retention at level {level!r}: add one to its retain, or to [levels]."
            )
        return settled
