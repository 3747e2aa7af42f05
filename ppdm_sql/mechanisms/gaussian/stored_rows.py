"""What stored numbers with noise cannot be: off the step, infinite, or NULL where there is none."""

from __future__ import annotations

from ppdm_sql.mechanisms.base import RowCheck
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.syntax.quoting import quote_name


def off_step(column: NoisyColumn) -> str:
    """SQL that is true of such a number."""
    name = quote_name(column.name)
    steps = f"({name} / {float(column.step)!r}::DOUBLE)"
    between = f"abs({steps} - round({steps})) > 1e-6 * greatest(1, abs({steps}))"
    null = f"{name} IS NULL OR " if column.nulls == "error" else ""
    return f"{null}NOT isfinite({name}) OR {between}"


MECHANISMS = {"gaussian": RowCheck(off_step)}
