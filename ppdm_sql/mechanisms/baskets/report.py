"""A column of baskets on a page."""

from __future__ import annotations

import math

from ppdm_sql.itemsets import lowest_discoverable
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.privacy.statements import percent
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.section import MechanismSection
from ppdm_sql.report.words import count, plural

MOST_SIZES = 6


def section(bound: BasketColumn, rows: int) -> MechanismSection:
    """What becomes of a value, what is promised, and what it costs."""
    sizes = list(range(1, bound.largest + 1))
    if len(sizes) > MOST_SIZES:
        sizes = sorted({1, 2, 3, 5, (5 + bound.largest) // 2, bound.largest} & set(sizes))
    kinds = ["of 1 item", "of 2 items", "of 3 items"]
    lowest = {
        (size, k): lowest_discoverable(bound.operators[size], k, max(rows, 1)) for size in sizes for k in (1, 2, 3)
    }
    drawn = [
        {"name": f"{size} item{'' if size == 1 else 's'}", "kind": kinds[k - 1], "value": found}
        for (size, k), found in lowest.items()
        if not math.isinf(found)
    ]
    middle = bound.operators[sizes[len(sizes) // 2]]
    kept = sum(j * p for j, p in enumerate(middle.keep)) / middle.size
    transition = (
        f"Of a basket of {plural(middle.size, 'item')}, each is shown with {percent(kept)}, and any other item of the "
        f"item set with {percent(middle.rho)}. The size is released as it is, in column {bound.size_column}.",
    )
    if not drawn:
        return MechanismSection(transition, (f"Of {count(rows)} baskets no support can be told from none.",))
    top = max(found for found in lowest.values() if not math.isinf(found))
    figure = Figure(
        f"{bound.name}: the lowest support that can be told from none",
        charts.grouped_bars(drawn, kinds, "of the baskets", top=min(1.0, 1.1 * top)),
        f"If all {count(rows)} baskets had as many items: itemsets in fewer baskets than this cannot be told from such "
        "as are in none, by four standard errors.",
        ("items in a basket", *kinds),
        [[str(size), *(_support(lowest[size, k]) for k in (1, 2, 3))] for size in sizes],
    )
    return MechanismSection(transition, (), (figure,))


def _support(share: float) -> str:
    return "none can" if math.isinf(share) else percent(share)


MECHANISMS = {"select_a_size": section}
