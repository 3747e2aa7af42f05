"""Retention and replacement in plain words, for `explain`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.domain.step import describe_microseconds, microseconds
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.retained.domain_size import domain_size
from ppdm_sql.mechanisms.retention import Retention, gamma_of_retention

_SHOWN_VALUES = 8
_NULLS = {
    "error": "NULL is refused",
    "keep": "NULL stays NULL, so which rows are NULL stays visible",
    "value": "NULL is one more value and is perturbed like the others",
}


def explain_retained(
    column: ColumnPolicy, type_name: str | None, levels: Mapping[str, float | None], weights: Sequence[float] = ()
) -> list[str]:
    """A column that is kept or replaced: its domain, what exceptions do, the chances of a value."""
    lines = [f"{column.name}: perturbed", *describe_declared(column, type_name)]
    size = domain_size(column, type_name)
    if column.retention is not None:
        lines += _chances(column.retention, size.drawn, weights)
    for name, shared in levels.items():
        retain = column.levels.get(name, shared)
        if retain is None:
            continue
        first, *rest = _chances(Retention("retain", retain), size.drawn, weights)
        lines += [f"  at level {name}: {first.strip()}", *(f"  {line}" for line in rest)]
    return lines


def describe_declared(column: ColumnPolicy, type_name: str | None) -> list[str]:
    """The domain, and what exceptions do."""
    size = domain_size(column, type_name)
    points = size.points
    plural = "" if points == 1 else "s"
    count = "its size depends on the column's type" if points is None else f"{points:,} value{plural}"
    count += f", {size.condition}" if size.condition else ""
    outside = "becomes the nearest point of it" if column.outside == "clamp" else "is refused"
    return [
        f"  domain: {_domain(column)} ({count})",
        f"  {_NULLS[column.nulls]}; a value outside the domain {outside}",
    ]


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
