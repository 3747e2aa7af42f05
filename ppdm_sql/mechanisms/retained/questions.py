"""What a page asks of a column that is kept or redrawn: how many rows have half of its range, or its first value."""

from __future__ import annotations

from ppdm_sql.auditing.tables import Original
from ppdm_sql.domain.domain import Grid
from ppdm_sql.measuring.domains import constant
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_point
from ppdm_sql.report.questions import Question, braced
from ppdm_sql.syntax.quoting import quote_name

_LITERALS = {"date": "DATE", "timestamp": "TIMESTAMP"}


def half(original: Original, column: RetainedColumn) -> Question | None:
    """A condition that tells something, None where there is but one value."""
    return _condition(column) if column.domain.size > 1 else None


def _condition(bound: RetainedColumn) -> tuple[str, str]:
    """The middle half of a range; the first value of a list."""
    name, domain = braced(quote_name(bound.name)), bound.domain
    if isinstance(domain, Grid):
        first = domain.size // 4
        places = (first, first + (domain.size + 1) // 2 - 1)
        low, high = (describe_point(bound, domain.low + place * domain.step) for place in places)
        literal = _LITERALS.get(bound.type.family)
        ends = [f"{literal} '{end}'" if literal else end for end in (low, high)]
        return f"{bound.name} from {low} to {high}", f"{name} BETWEEN {ends[0]} AND {ends[1]}"
    value = domain.values[0]
    if isinstance(value, bool):
        return f"{bound.name} {'true' if value else 'false'}", name if value else f"NOT {name}"
    return f"{bound.name} {value}", f"{name} = {braced(constant(value))}"


MECHANISMS = {"uniform": half, "custom": half}
