"""A column in parts of few values on a page."""

from __future__ import annotations

from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.mechanisms.small_domain.declare import plain_retention
from ppdm_sql.privacy.statements import percent
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.section import MechanismSection
from ppdm_sql.report.words import chance, plural

MOST_PARTS = 12


def section(bound: SmallDomainColumn, rows: int) -> MechanismSection:
    """What becomes of a value, what is promised, and what it costs."""
    plain = plain_retention(bound)
    promise = (
        f"Of the values that at most {percent(bound.rho1)} of the rows have, none gets as likely as "
        f"{percent(bound.rho2)}, for who knows how common values are in each part. The promise is of single values."
    )
    beside = f"Kept or redrawn evenly over all {bound.size:,} values, {percent(plain)} would be kept for that."
    if not bound.parts:
        return MechanismSection((), (promise, beside))
    order = sorted(range(len(bound.parts)), key=lambda i: -bound.parts[i].retain)
    middle = bound.parts[order[len(order) // 2]]
    p, size = middle.retain, len(middle.places)
    others = f", and as any given other of the part's {size} values with {chance((1 - p) / size)}" if size > 1 else ""
    transition = (
        f"The rows fall into {plural(len(bound.parts), 'part')}, which column {bound.part_column} tells. In part "
        f"{order[len(order) // 2]}, a value is published as itself with {percent(p + (1 - p) / size)}{others}.",
    )
    shown = order[: MOST_PARTS - 1] if len(order) > MOST_PARTS else order
    bars = [
        {
            "name": f"part {i} ({len(bound.parts[i].places)})",
            "value": bound.parts[i].retain,
            "label": percent(bound.parts[i].retain),
        }
        for i in shown
    ]
    bars.append({"name": f"in one ({bound.size})", "value": plain, "label": percent(plain)})
    hidden = f" {plural(len(order) - len(shown), 'further part')} keep less." if len(shown) < len(order) else ""
    figure = Figure(
        f"{bound.name}: what each part keeps, beside the column in one",
        charts.bars(bars, "kept", charts.PERCENT),
        f"In brackets how many values are drawn from. The last bar is plain uniform retention under the same promise: "
        f"{percent(plain)}.{hidden}",
        ("part", "values", "kept"),
        [
            *([str(i), f"{len(bound.parts[i].places):,}", percent(bound.parts[i].retain)] for i in order),
            ["in one", f"{bound.size:,}", percent(plain)],
        ],
    )
    return MechanismSection(transition, (promise, beside), (figure,))


MECHANISMS = {"small_domain": section}
