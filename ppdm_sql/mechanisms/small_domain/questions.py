"""What a page asks of a column in parts: what it asks of the whole."""

from __future__ import annotations

from ppdm_sql.auditing.tables import Original
from ppdm_sql.auditing.views import whole_domain
from ppdm_sql.mechanisms.retained.questions import half
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.report.questions import Question


def half_of_whole(original: Original, column: SmallDomainColumn) -> Question | None:
    """Of the column as if it were one part."""
    return half(original, whole_domain(column))


MECHANISMS = {"small_domain": half_of_whole}
