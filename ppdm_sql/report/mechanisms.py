"""Mechanisms beyond keeping or redrawing evenly: what becomes of a value, what is promised, and what it costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ppdm_sql.itemsets import lowest_discoverable
from ppdm_sql.mechanisms.baskets.column import BasketColumn
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.mechanisms.small_domain.column import SmallDomainColumn
from ppdm_sql.mechanisms.small_domain.declare import plain_retention
from ppdm_sql.privacy.accuracy import own_count_error
from ppdm_sql.privacy.bounds import likely_error
from ppdm_sql.privacy.gaussian import distortion, interval_of_value
from ppdm_sql.privacy.statements import UNLIKELY, percent
from ppdm_sql.privacy.subsets import identity_posterior
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.words import amount, chance, count, plural

TENTH = 0.1
MISS = 0.05
MOST_PARTS = 12
MOST_SIZES = 6
_TABLED = (0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class MechanismSection:
    """What a mechanism adds to a column's part of the page."""

    transition: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


def told(bound: object, rows: int) -> MechanismSection:
    """All that is known of a column of such a mechanism."""
    if isinstance(bound, SelfReplacedColumn):
        return _own(bound, rows)
    if isinstance(bound, NoisyColumn):
        return _noisy(bound, rows)
    if isinstance(bound, SmallDomainColumn):
        return _parted(bound)
    if isinstance(bound, BasketColumn):
        return _baskets(bound, rows)
    return MechanismSection()


def _own(bound: SelfReplacedColumn, rows: int) -> MechanismSection:
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


def _noisy(bound: NoisyColumn, rows: int) -> MechanismSection:
    left = math.sqrt(distortion([bound.noise]))
    said = f"Noise of {percent(math.sqrt(bound.noise))} of the column's spread is added"
    if bound.weights:
        reach = interval_of_value(math.sqrt(bound.deviation**2 + bound.rounding))
        said = (
            f"Normal noise with a standard deviation of {amount(bound.deviation)} is added: in 95 % of rows the "
            f"published number is within ± {amount(reach)} of the original"
        )
    transition = (f"{said}; the sum is rounded to {bound.step}.",)
    promises = (
        "Who knows the mean and the spread of the originals, and guesses by the published number, is still off by "
        f"{percent(left)} of the spread (root mean square), where guessing the mean is off by all of it; if the spread "
        "that noise is declared for is the column's own.",
        "Numbers that lie far out stay far out: noise hides a number among those near it. There is no bound on what "
        "somebody can learn who knew something before.",
        f"The mean of {count(rows)} rows is right to ± {percent(_mean_width(bound.noise, rows))} of the spread in 95 % "
        "of releases.",
    )
    levels = np.unique(np.concatenate([np.geomspace(0.01, 100, 60), [bound.noise]]))
    curve = [
        {"retain": float(s), "privacy": math.sqrt(distortion([float(s)])), "error": _mean_width(float(s), rows)}
        for s in levels
    ]
    wide = _mean_width(bound.noise, rows)
    point = {"privacy": left, "error": wide, "label": f"noise {bound.noise:.3g}"}
    title = "a guess is still off by, of the spread"
    figure = Figure(
        f"{bound.name}: distortion against precision",
        charts.privacy_and_error(curve, point, title, "the mean is right to ± % of the spread"),
        f"With noise {bound.noise:.3g}, guesses of single numbers are off by {percent(left)} of the column's spread; "
        f"the mean of {count(rows)} rows by {percent(wide)} at most, in 95 % of releases. To the right more "
        "private, lower down more accurate.",
        ("noise", title, "the mean is right to"),
        [
            [
                f"{s:.3g}{' (chosen)' if s == bound.noise else ''}",
                percent(math.sqrt(distortion([s]))),
                f"± {percent(_mean_width(s, rows))}",
            ]
            for s in sorted({0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0, bound.noise})
        ],
    )
    return MechanismSection(transition, promises, (figure,))


def _mean_width(noise: float, rows: int) -> float:
    """What a mean is right to with 95 %, over the coins of the noise, as a share of the column's spread."""
    return float(likely_error(math.sqrt(noise / max(rows, 1)), MISS))


def _parted(bound: SmallDomainColumn) -> MechanismSection:
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


def _baskets(bound: BasketColumn, rows: int) -> MechanismSection:
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
