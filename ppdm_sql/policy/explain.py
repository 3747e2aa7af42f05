"""A policy in plain words, so that a publisher can read what will happen before it does."""

from __future__ import annotations

from collections.abc import Mapping

from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy.model import DROP, SOURCE, Policy


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
        if column.mechanism == DROP:
            lines += [f"{column.name}: dropped, never released", ""]
        else:
            type_name = known.get(column.name.casefold())
            lines += [*MECHANISMS[column.mechanism].explain(column, type_name, policy.shared_levels), ""]
    lines.append("All other columns are released as they are.")
    if policy.levels:
        said = ", ".join(f"{name} {retain:g}" for name, retain in policy.levels.items())
        lines += ["", f"Levels (retention of every perturbed column): {said}."]
    if policy.order is not None:
        named = "of the source" if policy.order == SOURCE else f"of {', '.join(policy.order)}"
        lines += ["", f"Rows are released in the order {named}."]
    return "\n".join(lines)


def _identity(policy: Policy) -> str:
    if not policy.identity:
        return (
            "A row is known by its position: the same rows must come in the same order whenever it is published again."
        )
    return f"A row is known by {', '.join(policy.identity)}, which must be unique and never NULL."
