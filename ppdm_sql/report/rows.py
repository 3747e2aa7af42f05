"""The row as a whole: what all its columns together tell, and what counts by several of them cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.policy import BoundColumn
from ppdm_sql.privacy.amplification import epsilon, epsilon_of_row
from ppdm_sql.privacy.breaches import highest_posterior
from ppdm_sql.privacy.channel import channel_of
from ppdm_sql.privacy.statements import LIKELY, UNLIKELY, percent
from ppdm_sql.report import charts
from ppdm_sql.report.columns import half_width
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.subject import Subject
from ppdm_sql.report.words import amount, count, listed

MOST_CONDITIONS = 4
HALF = 0.5
"""Each condition holds for half of its domain, and for half of the rows."""


@dataclass(frozen=True)
class RowPage:
    """The row's part of the page."""

    words: tuple[str, ...]
    figures: tuple[Figure, ...]
    costs: tuple[tuple[str, str, str, str], ...]


def row_page(subject: Subject) -> RowPage:
    """All columns together."""
    known = [column.bound for column in subject.perturbed if isinstance(column.bound, BoundColumn)]
    others = [column.name for column in subject.perturbed if not isinstance(column.bound, BoundColumn)]
    words = [] if not known else _total(known)
    if others:
        words.append(f"Not in this total: {listed(others)}, for which there is no such number here.")
    free = [bound for bound in known if not math.isinf(channel_of(bound).gamma)]
    figures = (_parts(free),) if len(free) > 1 else ()
    return RowPage(tuple(words), figures, _costs(known, subject.rows))


def _total(known: Sequence[BoundColumn]) -> list[str]:
    open_ = [bound.name for bound in known if math.isinf(channel_of(bound).gamma)]
    if open_:
        return [
            f"The row has no bound: {listed(open_)} can be published as certain values. What the other columns hide, "
            "they hide by themselves only."
        ]
    total = epsilon_of_row([channel_of(bound) for bound in known])
    most = min(float(highest_posterior(math.exp(min(total, 700)), UNLIKELY)), 0.9999)
    words = [
        "Columns are perturbed independently of each other, so what they tell adds up: the row's epsilon is "
        f"{amount(total)}, the sum of its columns'.",
        f"Something about a whole row that was 10 % likely can become {percent(most)} likely, for somebody who uses "
        "all of its columns at once.",
    ]
    if most > LIKELY:
        words.append(
            "That is hardly a bound. Each column's own promise still holds for what is asked of that column, as long "
            "as the columns do not depend on each other."
        )
    return words


def _parts(known: Sequence[BoundColumn]) -> Figure:
    parts = sorted(((bound.name, epsilon(channel_of(bound))) for bound in known), key=lambda part: -part[1])
    total = sum(part for _, part in parts)
    rows = [{"name": name, "value": value, "label": f"{value:.2f}"} for name, value in parts]
    return Figure(
        "What each column adds to the row's epsilon",
        charts.bars(rows, "epsilon", "~g"),
        f"{parts[0][0]} tells most: {percent(parts[0][1] / total)} of the row's total of {amount(total)}.",
        ("column", "epsilon", "share of the total"),
        [[name, f"{value:.3f}", percent(value / total)] for name, value in parts],
    )


def _costs(known: Sequence[BoundColumn], rows: int) -> tuple[tuple[str, str, str, str], ...]:
    """How counts get worse with each further column that a condition needs."""
    found = []
    for conditions in range(1, min(len(known), MOST_CONDITIONS) + 1):
        wide = half_width(rows, [bound.retain for bound in known[:conditions]], HALF)
        names, counted = listed([bound.name for bound in known[:conditions]]), HALF**conditions
        found.append((names, count(counted * rows), f"± {count(wide * rows)}", f"± {percent(wide / counted)}"))
    return tuple(found)
