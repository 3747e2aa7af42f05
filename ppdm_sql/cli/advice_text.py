"""Advice on a policy as a person reads it: a table of the columns, then what can be done, then the row."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from ppdm_sql.cli.output import table
from ppdm_sql.itemsets import lowest_discoverable
from ppdm_sql.mechanisms.baskets.declare import BasketPolicy, chosen_operators
from ppdm_sql.mechanisms.retention import Retention, gamma_for_breach
from ppdm_sql.policy import Policy
from ppdm_sql.privacy import Advice, ColumnAdvice, highest_posterior, statements
from ppdm_sql.privacy.advice_request import AdviceRequest
from ppdm_sql.privacy.statements import UNLIKELY, percent

NAMES = ("column", "values", "kept now", "kept", "gamma", "error", "within (95 %)", "bound (95 %)", "as asked")
UNKNOWN = "?"


def advice_text(policy: Policy, advice: Advice) -> str:
    """All of it."""
    parts = [
        "\n".join(_head(advice)),
        *([table(NAMES, [_line(column) for column in advice.columns])] if advice.columns else []),
        *(["\n".join(_legend(policy, advice))] if advice.columns else []),
        *_promises(advice),
        *(_remedies(column, advice.wishes) for column in advice.columns if column.remedies is not None),
        *_baskets(policy, advice.wishes.rows),
        "\n".join(_row(policy, advice)),
    ]
    return "\n\n".join(parts)


def _head(advice: Advice) -> Iterator[str]:
    wishes = advice.wishes
    yield f"{advice.table}: {wishes.rows:,} rows, {len(advice.columns) + len(advice.others)} perturbed columns"
    asked = []
    if wishes.promise is not None:
        asked.append(f"{_asked(wishes.promise)}, for {'the row as a whole' if wishes.whole_row else 'each column'}")
    if wishes.error is not None:
        asked.append(f"a standard error of at most {percent(wishes.error)} of the rows")
    yield f"asked: {'; '.join(asked) or 'nothing, so this is the policy as it stands'}"
    count = "1 condition, which holds" if wishes.predicates == 1 else f"{wishes.predicates} conditions, which each hold"
    yield f"counts by {count} for {percent(wishes.selectivity)} of the domain and of the rows"


def _asked(promise: Retention) -> str:
    if promise.rho2 is None:
        return f"{promise.asked} at most {promise.value:.4g}"
    bound = gamma_for_breach(promise.value, promise.rho2)
    return (
        f"what was at most {percent(promise.value)} likely never gets {percent(promise.rho2)} likely, "
        f"so gamma below {bound:.4g}"
    )


def _line(column: ColumnAdvice) -> tuple[str, ...]:
    return (
        column.name,
        UNKNOWN if column.size is None else f"{column.size:,}",
        "" if column.declared is None else f"{column.declared:.4g}",
        UNKNOWN if column.retain is None else f"{column.retain:.4g}",
        UNKNOWN if column.gamma is None else f"{column.gamma:.4g}",
        *(UNKNOWN if e is None else _error(e) for e in (column.error, column.likely_error)),
        "" if column.bound_error is None else _error(column.bound_error),
        {None: "", True: "yes", False: "no"}[column.both],
    )


def _legend(policy: Policy, advice: Advice) -> Iterator[str]:
    alike = "" if advice.wishes.predicates == 1 else " by conditions on columns that are kept as this one is"
    yield f"error: the standard error of a count{alike}, in % of all rows; 95 % of counts are within the next number."
    if advice.wishes.predicates == 1:
        yield "bound: what Theorem 1 of Privacy Preserving OLAP promises for any condition; it is loose."
    else:
        yield "Conditions are taken to be met independently of each other."
    for condition in dict.fromkeys(column.condition for column in advice.columns if column.condition):
        names = ", ".join(column.name for column in advice.columns if column.condition == condition)
        yield f"{names}: {condition}. Of another type it has more values, and the same promise keeps less."
    unknown = ", ".join(column.name for column in advice.columns if column.size is None)
    if unknown:
        yield f"{unknown}: how many values the domain has, and so what a promise keeps, depends on the column's type."
    visible = ", ".join(column.name for column in policy.perturbed if column.nulls == "keep")
    if visible:
        yield f"{visible}: which rows are NULL stays visible; promises are of the other values."


def _promises(advice: Advice) -> Iterator[str]:
    """What each column promises, where that was not asked for."""
    if advice.wishes.promise is None:
        for column in advice.columns:
            if (channel := column.channel) is not None:
                said = statements(channel)
                yield "\n".join([f"{column.name}, kept with {channel.retain:.4g}:", *(f"  {line}" for line in said)])


def _remedies(column: ColumnAdvice, wishes: AdviceRequest) -> str:
    found, needed = column.remedies, column.needed
    assert found is not None and needed is not None
    lines = [f"{column.name}: both cannot be had. The error takes a retention of {needed:.4g}. One of these would do:"]
    if found.domain is not None:
        lines.append(
            f"  a coarser domain, of at most {found.values:,} values: {found.domain}, and the source made to fit it"
        )
    if found.small_domain:
        lines.append(
            f'  mechanism = "small_domain", if the rows fall into parts that hold at most {found.values:,} of its '
            "values each; its promise is of single values"
        )
    if found.rows is not None:
        lines.append(f"  more rows: {found.rows:,}" if found.rows < 1e15 else f"  more rows: {found.rows:.3g}")
    lines.append(f"  less privacy: gamma {found.gamma:.4g}")
    if found.domain is None:
        lines.append("  Not even a domain of two values would do.")
    if found.relative_prior is not None and found.relative_prior >= 1:
        rho1, rho2 = wishes.breach or (UNLIKELY, float(highest_posterior(column.gamma or 1, UNLIKELY)))
        lines.append(
            f"  What holds at that retention: where a value is seen that is less than {found.relative_prior:.3g} times "
            f"as common among the rows as among draws,\n  whatever was at most {percent(rho1)} likely stays below "
            f"{percent(rho2)}. Check that no value is more common."
        )
    return "\n".join(lines)


def _row(policy: Policy, advice: Advice) -> Iterator[str]:
    total = advice.row_epsilon
    if advice.others:
        names = ", ".join(advice.others)
        yield f"the row as a whole: not known, for there is no advice on columns of other mechanisms ({names})."
    elif total is None:
        yield "the row as a whole: not known before the columns' types are."
    elif math.isinf(total):
        yield "the row as a whole: a column is published as it is, so nothing is promised of it."
    else:
        gamma = math.exp(total) if total < 700 else math.inf
        highest = float(highest_posterior(gamma, UNLIKELY))
        yield (
            f"the row as a whole: epsilon {total:.4g}, the sum over its columns; gamma {gamma:.4g}. What was "
            f"{percent(UNLIKELY)} likely of a row may become {percent(highest)} likely."
        )
    if advice.row_error is not None and advice.wishes.predicates > 1:
        yield f"the worst count by {advice.wishes.predicates} conditions: error {_error(advice.row_error)}."
    if policy.level_names and advice.wishes.promise is not None:
        yield from _levels(policy, advice)


def _levels(policy: Policy, advice: Advice) -> Iterator[str]:
    shared = _capped(advice.levels, policy.levels)
    if shared:
        yield f"levels that keep the promise for every column: {shared}"
    for column, declared in ((c, d) for d in policy.perturbed for c in advice.columns if c.name == d.name):
        if column.levels:
            yield f"levels of {column.name} that keep it: {_capped(column.levels, declared.levels)}"
    if any(column.retain is None for column in advice.columns):
        yield "  as far as the sizes of the domains are known: check them when the types are."


def _capped(levels: Mapping[str, float], now: Mapping[str, float]) -> str:
    return ", ".join(
        f"{name} {retain:.4g}{'' if retain == now[name] else f' (now {now[name]:.4g})'}"
        for name, retain in levels.items()
    )


def _error(share: float) -> str:
    return percent(share) if share < 1 else "over 100 %"


def _baskets(policy: Policy, rows: int) -> Iterator[str]:
    """The lowest discoverable supports of each column of baskets, by their size."""
    for column in policy.perturbed:
        if isinstance(column, BasketPolicy):
            operators, _ = chosen_operators(column)
            lines = [
                (str(o.size), f"{100 * o.rho:.3g} %", *(_support(lowest_discoverable(o, k, rows)) for k in (1, 2, 3)))
                for o in operators[1:]
            ]
            names = ("items in a basket", "others added", "1 item", "2 items", "3 items")
            yield (
                f"{column.name}: the lowest support that can be told from none, of itemsets of 1 to 3 items, if all "
                f"{rows:,} baskets had as many items; four standard errors\n{table(names, lines)}"
            )


def _support(share: float) -> str:
    return "" if math.isinf(share) else percent(share)
