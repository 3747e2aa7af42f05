"""The row as a whole: what all its columns together tell, and what counts by several of them cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.breaches import highest_posterior
from ppdm_sql.privacy.statements import LIKELY, UNLIKELY, percent
from ppdm_sql.report import charts
from ppdm_sql.report.columns import NEARLY, half_width
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.subject import Subject, declared_columns
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
    gammas = {column.name: column.gamma for column in subject.perturbed}
    unknown = [name for name, gamma in gammas.items() if gamma is None]
    known = {name: gamma for name, gamma in gammas.items() if gamma is not None}
    words = [] if not known else _total(known, whole=not unknown)
    if unknown:
        words.append(
            f"There is no such number for {listed(unknown)}, and so no bound on what the row as a whole tells."
        )
    parts = {name: math.log(gamma) for name, gamma in known.items() if not math.isinf(gamma)}
    figures = (_parts(parts),) if len(parts) > 1 else ()
    return RowPage(tuple(words), figures, _costs(declared_columns(subject), subject.rows))


def _total(known: Mapping[str, float], *, whole: bool) -> list[str]:
    """`whole` says whether these are all of the perturbed columns."""
    certain = [name for name, gamma in known.items() if math.isinf(gamma)]
    if certain:
        return [
            f"The row has no bound: in {listed(certain)} a published value can be certain. What the other columns "
            "hide, they hide by themselves only."
        ]
    total = math.fsum(math.log(gamma) for gamma in known.values())
    names = "the row's epsilon" if whole else f"the epsilon of {listed(list(known))} together"
    words = [
        f"Columns are perturbed independently of each other, so what they tell adds up: {names} is {amount(total)}, "
        "the sum of the columns'."
    ]
    if not whole:
        return words
    most = min(float(highest_posterior(math.exp(min(total, 700)), UNLIKELY)), NEARLY)
    words.append(
        f"Something about a whole row that was 10 % likely, its exact columns known, can become {percent(most)} likely "
        "for somebody who uses all of its columns at once."
    )
    if most > LIKELY:
        words.append(
            "That is hardly a bound. Each column's own promise still holds for what is asked of that column, as long "
            "as the columns do not depend on each other."
        )
    return words


def _parts(epsilons: Mapping[str, float]) -> Figure:
    parts = sorted(epsilons.items(), key=lambda part: -part[1])
    total = sum(part for _, part in parts) or 1.0
    rows = [{"name": name, "value": value, "label": f"{value:.2f}"} for name, value in parts]
    return Figure(
        "What each column adds to the row's epsilon",
        charts.bars(rows, "epsilon", "~g"),
        f"{parts[0][0]} tells most: {percent(parts[0][1] / total)} of the total of {amount(total)}.",
        ("column", "epsilon", "share of the total"),
        [[name, f"{value:.3f}", percent(value / total)] for name, value in parts],
    )


def _costs(known: Sequence[RetainedColumn], rows: int) -> tuple[tuple[str, str, str, str], ...]:
    """How counts get worse with each further column that a condition needs."""
    found = []
    for conditions in range(1, min(len(known), MOST_CONDITIONS) + 1):
        wide = half_width(rows, [bound.retain for bound in known[:conditions]], HALF)
        names, counted = listed([bound.name for bound in known[:conditions]]), HALF**conditions
        found.append((names, count(counted * rows), f"± {count(wide * rows)}", f"± {percent(wide / counted)}"))
    return tuple(found)
