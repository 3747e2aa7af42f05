"""A column of its own values on a page."""

from __future__ import annotations

import numpy as np

from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.privacy.accuracy import own_count_error
from ppdm_sql.privacy.bounds import likely_error
from ppdm_sql.privacy.statements import UNLIKELY, percent
from ppdm_sql.privacy.subsets import identity_posterior
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.section import MechanismSection
from ppdm_sql.report.words import count

TENTH = 0.1
MISS = 0.05
_TABLED = (0.01, 0.05, 0.1, 0.25, 0.5)


def section(bound: SelfReplacedColumn, rows: int) -> MechanismSection:
    """What becomes of a value, what is promised, and what it costs."""
    p = bound.retain
    if p >= 1:
        return MechanismSection(("Every value is published as it is: nothing is hidden.",))
    after = float(identity_posterior(p, TENTH))
    transition = (
        f"A value that a tenth of the rows have is published as itself with {percent(after)}, and as a value that "
        f"1 % of them have with {percent((1 - p) * 0.01)}: what replaces a value is drawn among the column's own.",
    )
    if bound.mechanism == "swap":
        cost = "Counts by this column alone are those of the original: its values only change places."
    else:
        wide = likely_error(own_count_error(max(rows, 1), p, TENTH), MISS)
        cost = (
            f"A count of a tenth of {count(rows)} rows by this column alone is right to ± {percent(float(wide))} of "
            f"the rows (± {count(float(wide) * rows)}) in 95 % of releases."
        )
    promises = (
        f"Whoever sees a value and knows how common it is: what was 10 % likely becomes {percent(after)} likely. A "
        f"rare value that is seen is its row's own with at least {percent(p)}.",
        "Every published value is somebody's. Rare ones should be blanked out in the source.",
        cost,
    )
    before = np.linspace(0, 1, 41)
    lines = {"at most": identity_posterior(p, before), "nothing learnt": before}
    rows_drawn = [
        {"before": float(b), "after": float(a), "line": line}
        for line, values in lines.items()
        for b, a in zip(before, np.asarray(values), strict=True)
    ]
    marked = [{"before": UNLIKELY, "after": after, "line": "at most", "label": f"10 % → {percent(after)}"}]
    figure = Figure(
        f"{bound.name}: how likely a set of values becomes when one of them is seen",
        charts.before_and_after(rows_drawn, marked),
        "A kept value is its row's own; a replaced one is as likely of the set as any row. So what is seen is true "
        "with the share that is kept, and a little more.",
        ("likely before", "after one is seen"),
        [[percent(b), percent(float(identity_posterior(p, b)))] for b in _TABLED],
    )
    return MechanismSection(transition, promises, (figure,))


MECHANISMS = {"identity": section, "swap": section}
