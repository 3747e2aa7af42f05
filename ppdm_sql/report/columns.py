"""One perturbed column: what happens to a value, what is promised, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.mechanisms.retained.domain_descriptions import describe_value
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.policy import RetainedColumn
from ppdm_sql.privacy.accuracy import count_error
from ppdm_sql.privacy.bounds import likely_error
from ppdm_sql.privacy.breaches import excludes_breach, highest_posterior, lowest_posterior
from ppdm_sql.privacy.channel import channel_of
from ppdm_sql.privacy.statements import LIKELY, UNLIKELY, percent, statements
from ppdm_sql.privacy.subsets import safe_relative_prior, seen_posterior
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.section import section_of
from ppdm_sql.report.subject import Perturbed
from ppdm_sql.report.words import amount, chance, count

TENTH = 0.1
"""Counts are taken to be of a tenth of the rows, by a condition that a tenth of the domain meets."""
MISS = 0.05
NEARLY = 0.9999
"""What a bound so near to 1 is shown as."""
_NULLS = {
    "error": "There are no NULLs: the policy refuses them.",
    "keep": "NULL stays NULL: which rows are NULL stays visible.",
    "value": "NULL is one more value, and is perturbed like the others.",
}
_NUMBERS = ("integer", "decimal", "real")
_TABLED = (0.01, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class ColumnPage:
    """A column's part of the page."""

    name: str
    kind: str
    kept: str
    transition: tuple[str, ...]
    promises: tuple[str, ...]
    notes: tuple[str, ...]
    figures: tuple[Figure, ...]
    strong: bool


def column_page(column: Perturbed, rows: int) -> ColumnPage:
    """All that can be said of a column; of mechanisms without a channel, what they say of themselves."""
    bound = column.bound
    if not isinstance(bound, RetainedColumn) or isinstance(bound, SelfReplacedColumn):
        return _other_page(column, rows)
    said = MECHANISMS[column.mechanism].describe(bound)
    notes = [f"Domain: {said.domain} ({bound.size:,} values{', NULL among them' if bound.nulls == 'value' else ''})."]
    if column.guessed:
        notes.append(f"Taken for a column of type {bound.type.name}: the table was not there to look at.")
    notes.append(_NULLS[bound.nulls])
    if bound.outside == "clamp":
        notes.append("A value outside the domain is taken to its nearest end, which makes the ends common.")
    channel = channel_of(bound)
    strong = not math.isinf(channel.gamma) and excludes_breach(channel.gamma, UNLIKELY, LIKELY)
    figures: tuple[Figure, ...] = ()
    if bound.retain < 1 and bound.size > 1:
        first = _before_and_after(bound.name, channel.gamma) if strong else _seen_and_true(bound)
        figures = (first, _cost(bound, rows, strong))
    return ColumnPage(
        column.name, bound.type.name, said.kept, _transition(bound), statements(channel), tuple(notes), figures, strong
    )


def _other_page(column: Perturbed, rows: int) -> ColumnPage:
    """Another mechanism: its own words, what is known of its values' chances, and what its gamma promises."""
    kept, words, gamma = "", list(column.words), column.gamma
    more = section_of(column.bound, rows)
    if column.bound is not None:
        said = MECHANISMS[column.mechanism].describe(column.bound)
        kept = said.kept
        words = words or [f"Domain: {said.domain}."]
    if gamma is None:
        promise = more.promises or ("There is no bound on what somebody can learn who knew something before.",)
        return ColumnPage(
            column.name, column.mechanism, kept, more.transition, promise, tuple(words), more.figures, strong=False
        )
    strong = not math.isinf(gamma) and excludes_breach(gamma, UNLIKELY, LIKELY)
    most = min(float(highest_posterior(gamma, UNLIKELY)), NEARLY)
    promises = (
        *more.promises,
        f"One original makes an output at most {amount(gamma)} times as likely as another that is possible beside the "
        "exact columns of its row.",
        "Whatever is known before, the exact columns included: what was 10 % likely becomes at most "
        f"{percent(most)} likely.",
    )
    figures = (*((_before_and_after(column.name, gamma),) if strong else ()), *more.figures)
    return ColumnPage(column.name, column.mechanism, kept, more.transition, promises, tuple(words), figures, strong)


def _transition(bound: RetainedColumn) -> tuple[str, ...]:
    """What becomes of a value in the middle of the domain."""
    value = describe_value(bound, bound.domain.size // 2)
    named = f"A {value}" if bound.type.family in _NUMBERS else f"The value {value}"
    p, size = bound.retain, bound.size
    if p >= 1:
        return (f"{named} is published as {value}, always: nothing is hidden.",)
    if bound.weights is None:
        itself, other = p + (1 - p) / size, (1 - p) / size
        others = f", and as any given other value with {chance(other)} each" if size > 1 else ""
        return (f"{named} is published as {value} with {percent(itself)}{others}.",)
    shares = np.asarray(bound.weights) / math.fsum(bound.weights)
    itself = p + (1 - p) * float(shares[bound.domain.size // 2])
    rest = (1 - p) * np.delete(shares, bound.domain.size // 2)
    return (
        f"{named} is published as {value} with {percent(itself)}, and as any given other value with "
        f"{percent(float(rest.min()))} to {percent(float(rest.max()))}, as the replacing distribution has it.",
    )


def _before_and_after(name: str, gamma: float) -> Figure:
    before = np.sin(np.linspace(0, np.pi / 2, 61)) ** 2  # dense at both ends, where the curves bend
    lines = {
        "at most": highest_posterior(gamma, before),
        "at least": lowest_posterior(gamma, before),
        "nothing learnt": before,
    }
    rows = [
        {"before": float(b), "after": float(a), "line": line}
        for line, after in lines.items()
        for b, a in zip(before, after, strict=True)
    ]
    most = float(highest_posterior(gamma, UNLIKELY))
    marked = [{"before": UNLIKELY, "after": most, "line": "at most", "label": f"10 % → {percent(most)}"}]
    table = [
        [
            percent(b),
            percent(float(lowest_posterior(gamma, b))),
            percent(float(highest_posterior(gamma, b))),
        ]
        for b in _TABLED
    ]
    return Figure(
        f"{name}: how likely anything about a value can become once its published value is seen",
        charts.before_and_after(rows, marked),
        f"Somebody who held something about this value 10 % likely can come to hold it {percent(most)} likely at most. "
        "Between the curves lies all that can happen, whatever was known before.",
        ("likely before", "after: at least", "after: at most"),
        table,
    )


def _seen_and_true(bound: RetainedColumn) -> Figure:
    relative = np.geomspace(0.1, 10_000, 81)
    safe = safe_relative_prior(bound.retain, UNLIKELY, LIKELY)
    rows = [
        {
            "relative": float(r),
            "after": float(seen_posterior(bound.retain, r, b)),
            "line": f"{percent(b)} likely before",
        }
        for b in (UNLIKELY, 0.01)
        for r in relative
    ]
    table = [
        [amount(r), *(percent(float(seen_posterior(bound.retain, r, b))) for b in (0.01, UNLIKELY))]
        for r in (0.1, 1, 10, 100, 1000)
    ]
    shown = safe if 0.1 < safe < 10_000 else None
    return Figure(
        f"{bound.name}: how likely a value is to be of a set when a value of the set is published",
        charts.seen_and_true(rows, shown),
        "On a domain this fine no promise holds for every value. What counts is how much more common a set of values "
        f"is among the rows than among draws: up to {amount(safe)} times (dashed), a published member of a set that "
        f"was at most 10 % likely is truly of it with less than {percent(LIKELY)}.",
        ("times as common", "1 % likely before", "10 % likely before"),
        table,
    )


def half_width(rows: int, retains: float | Sequence[float], met: float = TENTH) -> float:
    """What a count is right to with 95 %, as a share of the rows: one condition a retention, met by `met` each."""
    kept = np.atleast_1d(np.asarray(retains, dtype=np.float64))
    error = count_error(max(rows, 1), kept, np.full(kept.shape, met), np.full(kept.shape, met))
    return float(likely_error(error, MISS))


def _cost(bound: RetainedColumn, rows: int, strong: bool) -> Figure:
    """Privacy against accuracy: for every retention, and the one that was chosen."""
    size, chosen = bound.size, bound.retain

    def privacy(retain: float) -> float:
        if strong:
            return float(highest_posterior(channel_of(replace(bound, retain=retain)).gamma, UNLIKELY))
        return retain + (1 - retain) / size

    kept = np.unique(np.concatenate([np.geomspace(0.01, 0.9, 60), np.linspace(0.9, 0.9999, 20), [chosen]]))
    curve = [{"retain": float(p), "privacy": privacy(float(p)), "error": half_width(rows, float(p))} for p in kept]
    wide = half_width(rows, chosen)
    point = {"privacy": privacy(chosen), "error": wide, "label": f"{chosen:.3g} kept"}
    title = "what was 10 % likely becomes, at most" if strong else "a published value is true with"
    table = [
        [f"{p:.3g}{' (chosen)' if p == chosen else ''}", percent(privacy(p)), f"± {percent(half_width(rows, p))}"]
        for p in sorted({0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, chosen})
    ]
    return Figure(
        f"{bound.name}: privacy against accuracy",
        charts.privacy_and_error(curve, point, title),
        f"With {chosen:.3g} kept, a count of a tenth of {count(rows)} rows by this column is right to ± "
        f"{percent(wide)} of the rows (± {count(wide * rows)}) in 95 % of releases. To the left more private, lower "
        "down more accurate.",
        ("kept", title, "count of a tenth of the rows"),
        table,
    )
