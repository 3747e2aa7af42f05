"""A policy in plain words, so that a publisher can read what will happen before it does."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from ppdm_sql.policy.binding import bind
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


def explain_policy(policy: Policy, types: Mapping[str, str] | None = None) -> str:
    """What a policy does, column by column.

    With `types` (column name to SQL type), the size of every domain is known, and with it what a value's chances are.

    >>> from ppdm_sql.policy.load import parse_policy
    >>> age = {"mechanism": "uniform", "domain": {"min": 17, "max": 90}, "retain": 0.3}
    >>> print(explain_policy(parse_policy({"table": "adult", "columns": {"age": age}}), {"age": "INTEGER"}))
    Table 'adult'
    A row is known by its position: the same rows must come in the same order whenever it is published again.
    <BLANKLINE>
    age: perturbed
      domain: 17 to 90 (74 values)
      NULL is refused; a value outside the domain is refused
      retention 0.3 (as declared): gamma 32.71, epsilon 3.488
      a value is published as itself with 30.9 %, as any given other value with 0.946 %
    <BLANKLINE>
    All other columns are released as they are.
    """
    known = {name.casefold(): type_name for name, type_name in (types or {}).items()}
    lines = [f"Table {policy.table!r}", _identity(policy), ""]
    for column in policy.columns:
        if column.mechanism == "drop":
            lines += [f"{column.name}: dropped, never released", ""]
        else:
            lines += [*_column(policy, column, known.get(column.name.casefold())), ""]
    lines.append("All other columns are released as they are.")
    if policy.levels:
        said = ", ".join(f"{name} {retain:g}" for name, retain in policy.levels.items())
        lines += ["", f"Levels (retention of every perturbed column): {said}."]
    return "\n".join(lines)


def _identity(policy: Policy) -> str:
    if not policy.identity:
        return (
            "A row is known by its position: the same rows must come in the same order whenever it is published again."
        )
    return f"A row is known by {', '.join(policy.identity)}, which must be unique and never NULL."


def _column(policy: Policy, column: ColumnPolicy, type_name: str | None) -> list[str]:
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
        lines += _chances(column.retention, drawn)
    for name, retain in policy.levels.items():
        first, *rest = _chances(Retention("retain", retain), drawn)
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
        # A retention of 1 stands in for one that only a level gives: the size does not depend on it.
        whole = column.retention or Retention("retain", 1.0)
        return bind(ColumnPolicy(column.name, column.mechanism, column.domain, whole), type_name).domain.size
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


def _chances(retention: Retention, size: int | None) -> list[str]:
    asked = _asked(retention)
    if size is None and retention.asked != "retain":
        return [f"  retention: whatever {asked} allows on this domain"]
    retain = retention.probability(size or 1)
    came = "as declared" if retention.asked == "retain" else f"the largest that {asked} allows"
    if size is None:
        return [f"  retention {retain:.4g} ({came})"]
    if retain >= 1:
        return [f"  retention 1 ({came}): every value is published as it is; this protects nothing"]
    gamma = gamma_of_retention(retain, size)
    other = (1 - retain) / size
    return [
        f"  retention {retain:.4g} ({came}): gamma {gamma:.4g}, epsilon {math.log(gamma):.4g}",
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
