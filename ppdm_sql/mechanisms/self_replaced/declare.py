"""Identity and swap: a value is kept with probability p, else replaced by one of the column's own values.

Identity draws with replacement among all rows; swap deals the replaced values out again among the replaced rows. No
domain is declared: the released values are the domain, which says of every value that somebody has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ppdm_sql.domain.checks import one_of
from ppdm_sql.domain.fields import Fields
from ppdm_sql.domain.types import SqlType, parse_type
from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import (
    NULL_RULES,
    OTHER_ROWS,
    ColumnPolicy,
    Description,
    Mechanism,
    PerturbedColumn,
    declared_rules,
)
from ppdm_sql.mechanisms.retention import LEAST_RETENTION, parse_retention
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn

_HOW = {
    "identity": "replaced by the value of a row drawn among all",
    "swap": "given to another of the replaced rows",
}


@dataclass(frozen=True)
class OwnPolicy(ColumnPolicy):
    """A column that is the same for every recipient."""

    def at_level(self, level: str, shared: float | None) -> ColumnPolicy:
        """As it always is: copies at two retentions could not be coupled."""
        return self


class Own(Mechanism):
    """What identity and swap have in common, which is all that a policy sees."""

    keys: ClassVar[tuple[str, ...]] = ("retain", "nulls")
    besides = OTHER_ROWS

    def parse(self, name: str, raw: Mapping[str, Any], *, has_levels: bool) -> ColumnPolicy:
        """How much is kept, and what NULL does."""
        where = f"column {name!r}"
        nulls = one_of(where, "nulls", raw.get("nulls", "error"), NULL_RULES)
        if "retain" not in raw:
            raise PolicyError(f"{where} says nothing of how much is kept: give retain, a number in (0, 1].")
        retention, levels = parse_retention(where, raw, has_levels)
        if levels:
            raise PolicyError(
                f'{where}: mechanism = "{self.name}" has one retention for all recipients: what replaces a value '
                "depends on the other rows, so that copies at two retentions would give values away. Use uniform or "
                "custom, or one number."
            )
        return OwnPolicy(name, self.name, None, retention, nulls)

    def bind(self, column: ColumnPolicy, type_name: str) -> PerturbedColumn:
        """Any type whose values can be told apart."""
        assert column.retention is not None
        sql_type = parse_type("VARCHAR" if type_name.upper().startswith("ENUM(") else type_name)
        if sql_type.family == "other":
            raise PolicyError(
                f"column {column.name!r} ({type_name}): values of this type cannot be perturbed. Cast it in the source "
                'to a number, a date, a timestamp, text or a boolean, or use mechanism = "drop".'
            )
        return SelfReplacedColumn(
            column.name, sql_type, retain=column.retention.value, nulls=column.nulls, mechanism=self.name
        )

    def to_json(self, column: PerturbedColumn) -> dict[str, Any]:
        """Retention and NULL rule; the replacing distribution is in the release itself."""
        assert isinstance(column, SelfReplacedColumn)
        return {"retain": column.retain, "nulls": column.nulls}

    def from_json(self, name: str, fields: Fields, sql_type: SqlType) -> PerturbedColumn:
        """The column as it was bound."""
        if sql_type.family == "other":
            fields.refuse("type", "is none whose values can be perturbed")
        retain, nulls = fields.number("retain", LEAST_RETENTION, 1), fields.word("nulls", NULL_RULES)
        return SelfReplacedColumn(name, sql_type, retain=retain, nulls=nulls, mechanism=self.name)

    def declared(self, column: PerturbedColumn, perturbed: Sequence[PerturbedColumn]) -> dict[str, Any]:
        """Retention and NULL rule."""
        assert isinstance(column, SelfReplacedColumn)
        return {"retain": column.retain} | declared_rules(column.nulls)

    def explain(self, column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None]) -> list[str]:
        """What happens, and what is promised: Lemma 1 of the OLAP paper."""
        assert column.retention is not None
        retain = column.retention.value
        after = retain + (1 - retain) * 0.1
        return [
            f"{column.name}: perturbed by {self.name}",
            f"  kept with probability {retain:.4g}, else {_HOW[self.name]}",
            f"  what is 10 % likely of a row becomes at most {100 * after:.3g} % likely, for who knows no rare values",
            "  every released value is somebody's: rare ones (the highest wage) should be blanked out in the source",
        ]

    def describe(self, column: PerturbedColumn) -> Description:
        """Retention; there is no gamma, for what is rare may be as rare as it likes."""
        assert isinstance(column, SelfReplacedColumn)
        words = f"{column.retain:.3g} kept, else {'redrawn from itself' if self.name == 'identity' else 'swapped'}"
        return Description(words, "its own values", None, column.retain, nulls=column.nulls)


class Identity(Own):
    """Drawn among all rows."""

    name = "identity"
    level_keys = ("retain",)  # as long as the column is the same, so is the path


class Swap(Own):
    """Dealt out among the replaced rows."""

    name = "swap"


MECHANISMS: dict[str, Mechanism] = {"identity": Identity(), "swap": Swap()}
