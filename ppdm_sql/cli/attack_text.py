"""What attacks come to on mechanisms that are not simply kept or redrawn, as text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ppdm_sql.auditing import Attack, NumberAttack
from ppdm_sql.cli.output import table
from ppdm_sql.privacy.statements import percent

MISTAKEN = 1.1
"""A guesser who expected so many times what was right is called mistaken, if chance does not explain it."""


def promises(found: Attack) -> Iterator[str]:
    """Whether small domains keep their word."""
    several = len(found.releases) > 1
    for column in found.columns:
        for release, promise in enumerate(column.promises, 1):
            if promise is None:
                continue
            where = f" in release {release}" if several else ""
            measured = ""
            if promise.rows:
                measured = f"; where that value is shown, it is true in {promise.right:,} of {promise.rows:,} rows"
            yield (
                f"{column.name}{where}: of its {promise.protected:,} values with at most {percent(promise.rho1)} of "
                f"the rows, none gets likelier than {percent(promise.highest)}{measured}. Promised is below "
                f"{percent(promise.rho2)}: {'kept' if promise.kept else 'BROKEN'}."
            )


def mistaken(found: Attack) -> Iterator[str]:
    """Where the guesser believed in far more guesses than were right."""
    for column in found.columns:
        score = column.together or next(score for score in column.alone if score is not None)
        spread = math.sqrt(max(score.right, 1))
        if score.expected > MISTAKEN * score.right and score.expected > score.right + 4 * spread:
            yield (
                f"{column.name}: the guesser takes {score.expected:,.0f} guesses for right, and {score.right:,} are: "
                "of many values that are seen a few times each, shares read off a release are taken for surer than "
                "they are."
            )


def numbers_text(found: Attack) -> list[str]:
    """Columns with Gaussian noise."""
    if not found.numbers:
        return []
    several = len(found.releases) > 1
    each = [f"release {i}" for i in range(1, len(found.releases) + 1)] if several else ["release"]
    heads = ["column", "mean alone", *each, *(["together"] if several else []), "expected", "within that (%)"]
    lines = [
        "",
        "Noisy numbers, by the best linear guess: the root mean square error.",
        table(heads, [_number_line(number, several) for number in found.numbers]),
    ]
    if several:
        lines += [f"{number.name}: {_noise_relation(number)}" for number in found.numbers]
    return lines


def _number_line(number: NumberAttack, several: bool) -> list[str]:
    errors = ["" if score is None else f"{score.error:.4g}" for score in number.alone]
    joint = [f"{number.together.error:.4g}"] if several else []
    within = f"{100 * number.together.within:.1f}"
    return [number.name, f"{number.deviation:.4g}", *errors, *joint, f"{number.together.expected:.4g}", within]


def _noise_relation(number: NumberAttack) -> str:
    """What a column's noisy copies are to each other, in words."""
    note = ""
    if number.doubtful:
        names = ", ".join(f"{one + 1} and {two + 1}" for one, two in number.doubtful[:3])
        note = f" In doubt: releases {names} differ as neither law says, or in too few rows to tell."
    present = [i for group in number.chains for i in group]
    if len(present) == 1:
        return "one release adds noise to it."
    if len(number.chains) == 1:
        least = min(present, key=lambda i: number.noise[i] or math.inf)
        return f"coupled by one key; release {least + 1} alone tells all that they tell together.{note}"
    groups = ", ".join("+".join(str(i + 1) for i in group) for group in number.chains)
    sharing = "; those joined by + share a key" if "+" in groups else ""
    return f"independent noise (releases {groups}{sharing}): averaged, it gets smaller with every copy.{note}"


def baskets_text(found: Attack) -> list[str]:
    """Columns of baskets; the adversary knows how common each item is, whatever else is known."""
    lines = []
    for basket in found.baskets:
        where = f" in release {basket.release + 1}" if len(found.releases) > 1 else ""
        worst = basket.worst
        lines += [
            "",
            f"{basket.name}{where}: {basket.baskets:,} baskets; a shown item is held in "
            f"{_share(basket.held, basket.shown)} of {basket.shown:,} cases ({_share(basket.expected, basket.shown)} "
            "expected by who knows how common items are).",
            f"  The most telling item is {worst.item}: held in {_share(worst.held, worst.shown)} of {worst.shown:,} "
            f"baskets that show it ({_share(worst.expected, worst.shown)} expected).",
            f"  In baskets of one size, an item that was {percent(basket.before)} likely becomes at most "
            f"{percent(basket.highest)} likely.",
        ]
    several = {basket.name for basket in found.baskets if sum(b.name == basket.name for b in found.baskets) > 1}
    if several:
        lines.append(
            f"{', '.join(sorted(several))}: copies of baskets are not put together; each is guessed by itself."
        )
    return lines


def _share(part: float, whole: int) -> str:
    return percent(part / whole) if whole else "none"
