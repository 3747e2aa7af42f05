"""What a page asks of numbers with noise: how many are above their mean."""

from __future__ import annotations

from ppdm_sql.auditing.tables import Original
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.report.questions import Question, braced
from ppdm_sql.syntax.quoting import quote_name


def above_mean(original: Original, column: NoisyColumn) -> Question:
    """About half of the rows."""
    return f"{column.name} above {column.centre:g}", f"{braced(quote_name(column.name))} > {column.centre:g}"


MECHANISMS = {"gaussian": above_mean}
