"""What a mechanism adds to a column's part of a page: what becomes of a value, what is promised, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.registry import capability, has
from ppdm_sql.report.figures import Figure


@dataclass(frozen=True)
class MechanismSection:
    """Sentences and plots."""

    transition: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


def section_of(bound: PerturbedColumn | None, rows: int) -> MechanismSection:
    """What a column's mechanism says of it; nothing where all there is to say is said of every column."""
    if bound is None or not has(bound.mechanism, "report"):
        return MechanismSection()
    found: MechanismSection = capability(bound.mechanism, "report")(bound, rows)
    return found
