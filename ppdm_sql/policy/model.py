"""The policy as declared, and the words it may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy.domain import Range, Values
from ppdm_sql.policy.retention import Retention

MECHANISMS = ("uniform", "drop")
NULL_RULES = ("error", "keep", "value")
OUTSIDE_RULES = ("error", "clamp")


@dataclass(frozen=True)
class ColumnPolicy:
    """What happens to one column."""

    name: str
    mechanism: str
    domain: Range | Values | None = None
    retention: Retention | None = None
    nulls: str = "error"
    outside: str = "error"


@dataclass(frozen=True)
class Policy:
    """What happens to a table; columns that are not named are released as they are."""

    table: str
    columns: tuple[ColumnPolicy, ...] = ()
    identity: tuple[str, ...] = ()
    levels: Mapping[str, float] = field(default_factory=dict)

    @property
    def perturbed(self) -> tuple[ColumnPolicy, ...]:
        """The columns that are perturbed."""
        return tuple(c for c in self.columns if c.mechanism != "drop")

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are never released."""
        return tuple(c.name for c in self.columns if c.mechanism == "drop")

    def at_level(self, level: str | None) -> Policy:
        """The policy for one recipient: every perturbed column at the level's retention."""
        if level is None:
            bare = [c.name for c in self.perturbed if c.retention is None]
            if bare:
                known = ", ".join(self.levels) or "none declared"
                raise PolicyError(
                    f"column {bare[0]!r} has no retention of its own: name a level (declared: {known}), or give the "
                    "column retain, gamma, epsilon or privacy."
                )
            return self
        if level not in self.levels:
            known = ", ".join(self.levels) or "none"
            raise PolicyError(f"level {level!r} is not declared in [levels] (declared: {known}).")
        retention = Retention("retain", self.levels[level])
        return replace(
            self,
            columns=tuple(c if c.mechanism == "drop" else replace(c, retention=retention) for c in self.columns),
        )
