"""The page's beginning: what is released, in short."""

from __future__ import annotations

from collections.abc import Sequence

from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.breaches import highest_posterior
from ppdm_sql.privacy.channel import channel_of
from ppdm_sql.privacy.statements import UNLIKELY, percent
from ppdm_sql.report.columns import NEARLY, half_width
from ppdm_sql.report.measured import Measured
from ppdm_sql.report.subject import Subject, declared_columns
from ppdm_sql.report.words import listed, plural


def short(subject: Subject, found: Measured | None) -> list[str]:
    """What to take away from the page."""
    exact = "all others" if subject.exact is None else str(len(subject.exact))
    dropped = f", {len(subject.dropped)} not released" if subject.dropped else ""
    lines = [f"{plural(len(subject.perturbed), 'column')} perturbed, {exact} released as they are{dropped}."]
    known = declared_columns(subject)
    if known:
        ordered = sorted(known, key=lambda bound: channel_of(bound).gamma)
        if len(ordered) > 1:
            lines.append(f"Best protected: {ordered[0].name}. Least protected: {ordered[-1].name}.")
        best, worst = max(known, key=lambda b: b.retain), min(known, key=lambda b: b.retain)
        widths = [half_width(subject.rows, bound.retain) for bound in (best, worst)]
        between = (
            percent(widths[0])
            if best == worst
            else f"{percent(widths[0])} ({best.name}) to {percent(widths[1])} ({worst.name})"
        )
        lines.append(
            f"A count of a tenth of the rows by one column is right to ± {between} of the rows, in 95 % of releases."
        )
    if found is not None:
        held = sum(answer.held for answer in found.answers)
        if found.answers:
            lines.append(
                f"Of {plural(len(found.answers), 'typical query', 'typical queries')}, {held} have the truth in "
                "their 95 % interval."
            )
        lines.append(
            f"The audit found {plural(len(found.findings), 'thing')} that the parameters do not show."
            if found.findings
            else "The audit found nothing that the parameters do not show."
        )
    return lines


def released(subject: Subject) -> list[Sequence[str]]:
    """Every column: what happens to it, how often a value stays itself, and what its promise is."""
    rows: list[Sequence[str]] = []
    for column in subject.perturbed:
        bound = column.bound
        gamma = column.gamma
        most = "no bound" if gamma is None else percent(min(float(highest_posterior(gamma, UNLIKELY)), NEARLY))
        if not isinstance(bound, RetainedColumn):
            rows.append((column.name, f"perturbed ({column.mechanism})", "", most))
            continue
        p = bound.retain
        drawn = 1 / bound.size if bound.weights is None and bound.size else None
        itself = percent(p + (1 - p) * drawn) if drawn is not None else f"at least {percent(p)}"
        most = "100 %" if p == 1 else most
        rows.append((column.name, f"perturbed, {p:.3g} kept", itself, most))
    if subject.exact is None:
        rows.append(("all other columns", "released as they are", "always", "100 %"))
    else:
        rows += [(name, "released as it is", "always", "100 %") for name in subject.exact]
    rows += [(name, "not released", "", "") for name in subject.dropped]
    return rows


def identity(subject: Subject) -> list[str]:
    """What names a row, where that is known."""
    if subject.identity is None:
        return []
    if not subject.identity:
        return ["A row is known by its position, for the coins of the perturbation."]
    return [f"A row is known by {listed(list(subject.identity))}, for the coins of the perturbation."]
