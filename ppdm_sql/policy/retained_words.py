"""Retention and replacement in plain words, for `explain`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal

from ppdm_sql.policy.binding import bind_domain
from ppdm_sql.policy.domain import Range, Values
from ppdm_sql.policy.model import ColumnPolicy, Policy
from ppdm_sql.policy.retention import Retention, gamma_of_retention
from ppdm_sql.policy.step import describe_microseconds, microseconds

_SHOWN_VALUES = 8
_NULLS = {
    "error": "NULL is refused",
    "keep": "NULL stays NULL, so which rows are NULL stays visible",
    "value": "NULL is one more value and is perturbed like the others",
}


def explain_retained(
    policy: Policy, column: ColumnPolicy, type_name: str | None, weights: Sequence[float] = ()
) -> list[str]:
    """A column that is kept or replaced: its domain, what exceptions do, the chances of a value."""
    guess, condition = _guess(column) if type_name is None else (type_name, "")
    size = _size(column, guess)
    count = "its size depends on the column's type" if size is None else f"{size:,} value{'' if size == 1 else 's'}"
    count += condition
    outside = "becomes the nearest point of it" if column.outside == "clamp" else "is refused"
    lines = [
        f"{column.name}: perturbed",
        f"  domain: {_domain(column)} ({count})",
        f"  {_NULLS[column.nulls]}; a value outside the domain {outside}",
    ]
    drawn = None if size is None else size + (column.nulls == "value")
    if column.retention is not None:
        lines += _chances(column.retention, drawn, weights)
    for name in policy.level_names:
        retain = column.levels.get(name, policy.levels.get(name))
        if retain is None:
            continue
        first, *rest = _chances(Retention("retain", retain), drawn, weights)
        lines += [f"  at level {name}: {first.strip()}", *(f"  {line}" for line in rest)]
    return lines


def _guess(column: ColumnPolicy) -> tuple[str | None, str]:
    """The type that a domain without a step looks made for, and how to say that it is a guess."""
    domain = column.domain
    if not isinstance(domain, Range):
        return None, ""
    if isinstance(domain.low, datetime):
        return ("TIMESTAMP", "") if isinstance(domain.step, timedelta) else (None, "")
    if isinstance(domain.low, date):
        return "DATE", ", if the column holds dates"
    if isinstance(domain.low, int) and isinstance(domain.high, int) and domain.step is None:
        return "HUGEINT", ", if the column holds whole numbers"
    return None, ""


def _size(column: ColumnPolicy, type_name: str | None) -> int | None:
    """The number of declared values, None where only the type can tell."""
    if type_name is not None:
        assert column.domain is not None
        where = f"column {column.name!r} ({type_name})"
        return bind_domain(where, column.domain, type_name)[0].size
    domain = column.domain
    if isinstance(domain, Values):
        return domain.size
    assert domain is not None
    if isinstance(domain.low, int | Decimal) and isinstance(domain.step, int | Decimal):
        points = (Decimal(domain.high) - Decimal(domain.low)) / Decimal(domain.step)  # type: ignore[arg-type]
        return int(points) + 1 if points == int(points) else None
    return None


def _domain(column: ColumnPolicy) -> str:
    domain = column.domain
    if isinstance(domain, Values):
        words = [str(value).lower() if isinstance(value, bool) else str(value) for value in domain.values]
        shown = ", ".join(words[:_SHOWN_VALUES])
        return f"{shown}, .." if domain.size > _SHOWN_VALUES else shown
    assert isinstance(domain, Range)
    text = f"{domain.low} to {domain.high}"
    if domain.step is None:
        return text
    step = describe_microseconds(microseconds(domain.step)) if isinstance(domain.step, timedelta) else domain.step
    return f"{text} by {step}"


def _chances(retention: Retention, size: int | None, weights: Sequence[float]) -> list[str]:
    """What becomes of a value; weights, where some are given, are of all values that are drawn."""
    asked = _asked(retention)
    total = math.fsum(weights)
    spread = total / min(weights) if weights else None if size is None else float(size)
    if spread is None and retention.asked != "retain":
        return [f"  retention: whatever {asked} allows on this domain"]
    retain = retention.probability(spread or 1)
    came = "as declared" if retention.asked == "retain" else f"the largest that {asked} allows"
    if spread is None:
        return [f"  retention {retain:.4g} ({came})"]
    if retain >= 1:
        return [f"  retention 1 ({came}): every value is published as it is; this protects nothing"]
    gamma = gamma_of_retention(retain, spread)
    first = f"  retention {retain:.4g} ({came}): gamma {gamma:.4g}, epsilon {math.log(gamma):.4g}"
    other = (1 - retain) / spread
    if weights:
        most = (1 - retain) * max(weights) / total
        return [
            first,
            f"  a value is published as itself with at least {_percent(retain + other)}, as a given other value with "
            f"{_percent(other)} to {_percent(most)}, by the weights of replace",
        ]
    return [
        first,
        f"  a value is published as itself with {_percent(retain + other)}, as any given other value with "
        f"{_percent(other)}",
    ]


def _asked(retention: Retention) -> str:
    if retention.asked == "privacy":
        return f"privacy rho1 = {retention.value:g} to rho2 = {retention.rho2:g}"
    return f"{retention.asked} = {retention.value:g}"


def _percent(share: float) -> str:
    """Three significant digits."""
    return f"{100 * share:.3g} %"
