"""What is asked of a perturbed column and may mean something else later: the clock, a variable, another table.

The share of the domain that a condition holds for is computed once. An answer that is kept would go on with that share
while its condition has become another one.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from ppdm_sql.query.plan.plan import Plan

CURRENT = (
    exp.CurrentDate,
    exp.CurrentDatetime,
    exp.CurrentTime,
    exp.CurrentTimestamp,
    exp.CurrentSchema,
    exp.CurrentUser,
    exp.Localtime,
    exp.Localtimestamp,
)
CURRENT_NAMES = {
    *("current_catalog", "current_database", "current_date", "current_localtime", "current_localtimestamp"),
    *("current_role", "current_schema", "current_schemas", "current_setting", "current_time", "current_timestamp"),
    *("get_current_time", "get_current_timestamp", "getenv", "getvariable", "in_search_path", "localtime"),
    *("localtimestamp", "now", "session_user", "today", "transaction_timestamp", "txid_current", "user"),
}


def varying(plans: Iterable[Plan]) -> exp.Expr | None:
    """The first part of what is asked of perturbed columns that may be another one when the answer is read later."""
    for plan in plans:
        for axis in plan.query.axes:
            for node in (*axis.terms, *axis.values, *axis.labels) if axis.columns else ():
                if (found := _varying(node)) is not None:
                    return found
        if (found := varying(plan.parts)) is not None:
            return found
    return None


def _varying(node: exp.Expr) -> exp.Expr | None:
    for below in node.walk():
        if isinstance(below, (*CURRENT, exp.Query)):
            return below
        if isinstance(below, exp.Func) and _name(below) in CURRENT_NAMES:
            return below
        if isinstance(below, exp.Anonymous) and below.name.lower() == "age" and len(below.expressions) == 1:
            return below  # the age of today
    return None


def _name(call: exp.Func) -> str:
    return (call.name if isinstance(call, exp.Anonymous) else call.sql_name()).lower()
