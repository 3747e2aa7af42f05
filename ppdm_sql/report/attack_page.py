"""What guessing gets right, as a page of plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ppdm_sql.auditing import Attack, ColumnAttack, Score
from ppdm_sql.privacy.collusion import Prior, coupled_reconstruction, independent_reconstruction
from ppdm_sql.privacy.statements import percent
from ppdm_sql.report import charts
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.page import render, write_page
from ppdm_sql.report.words import amount, count, plural

COPIES = 30
"""How many copies the picture of further releases goes to."""
EXAMPLE_SIZE = 50


def write_attack(found: Attack, said: Sequence[str], page: Path) -> None:
    """Write the page; `said` are the sentences on how copies are coupled, and `page` was checked before."""
    whole = found.whole_rows
    several = len(found.releases) > 1
    figures = [_rights(found), _sureness(found)] if found.columns else []
    if several and found.columns:
        figures.append(_further(found))
    if found.numbers:
        figures.append(numbers_figure(found))
    if found.baskets:
        figures.append(baskets_figure(found))
    text = render(
        "attack.html",
        title=f"{found.table}: what guessing gets right",
        table=found.table,
        rows=plural(found.rows, "row"),
        releases=[Path(path).name for path in found.releases],
        matched=found.matched,
        knows="how common each value is in the original" if found.prior == "source" else "the release alone",
        whole=f"Of a row's {plural(len(found.columns), 'column')} of values, {amount(whole.mean)} are guessed right on "
        f"average, and all of them in {count(whole.whole)} of {count(found.rows)} rows."
        if found.columns
        else "",
        said=list(said),
        figures=figures,
        left_out=found.left_out,
    )
    write_page(page, text)


def _rights(found: Attack) -> Figure:
    several = len(found.releases) > 1
    kinds = ["the commonest value", "the best single release" if several else "the best guess from the release"]
    kinds += ["all releases together"] if several else []
    rows, table = [], []
    for column in found.columns:
        best = max((score.share for score in column.alone if score is not None), default=0.0)
        shares = [column.baseline, best]
        if several:
            shares.append(best if column.together is None else column.together.share)
        rows += [{"name": column.name, "kind": k, "value": v} for k, v in zip(kinds, shares, strict=True)]
        table.append([column.name, *(percent(share) for share in shares)])
    most = max(table, key=lambda row: float(row[-1].removeprefix("over ").removesuffix(" %")))
    return Figure(
        "Values guessed right",
        charts.grouped_bars(rows, kinds, "values guessed right"),
        f"Best guessed is {most[0]}: {most[-1]} of its values.",
        ("column", *kinds),
        table,
    )


def numbers_figure(found: Attack) -> Figure:
    """Columns with noise: how far guesses are off, as shares of what guessing the mean is off."""
    several = len(found.releases) > 1
    kinds = ["the mean alone", "the best single release" if several else "the best guess from the release"]
    kinds += ["all releases together"] if several else []
    rows, table = [], []
    for number in found.numbers:
        best = min(score.error for score in number.alone if score is not None)
        errors = [number.deviation, best, *([number.together.error] if several else [])]
        rows += [
            {"name": number.name, "kind": k, "value": e / number.deviation} for k, e in zip(kinds, errors, strict=True)
        ]
        together = number.together
        table.append([number.name, *(amount(e) for e in errors), amount(together.expected), percent(together.within)])
    return Figure(
        "How far guesses of noisy numbers are off",
        charts.grouped_bars(rows, kinds, "error, in % of the column's own spread"),
        "Root mean square errors of the best linear guess. Who has no release guesses the mean, and is off by the "
        "column's own spread: 100 %.",
        ("column", *kinds, "expected", "off by no more than expected"),
        table,
    )


def baskets_figure(found: Attack) -> Figure:
    """Baskets: how often a shown item is held, of all items and of the most telling one."""
    kinds = ["a shown item is held", "the most telling item is held where shown"]
    rows, table = [], []
    for basket in found.baskets:
        name = basket.name if len(found.releases) == 1 else f"{basket.name} ({basket.release + 1})"
        worst = basket.worst
        shares = [basket.held / max(basket.shown, 1), worst.held / max(worst.shown, 1)]
        rows += [{"name": name, "kind": k, "value": v} for k, v in zip(kinds, shares, strict=True)]
        expected = [basket.expected / max(basket.shown, 1), worst.expected / max(worst.shown, 1)]
        table.append(
            [
                name,
                *(percent(v) for v in (shares[0], expected[0])),
                worst.item,
                *(percent(v) for v in (shares[1], expected[1])),
            ]
        )
    return Figure(
        "How often an item that a basket shows is truly in it",
        charts.grouped_bars(rows, kinds, "of the baskets that show it"),
        "The guesser knows how common each item is in the original's baskets of each size.",
        ("column", "shown items held", "expected", "most telling item", "held", "expected"),
        table,
    )


def _sureness(found: Attack) -> Figure:
    """All columns together: a guess that is 70 % sure is right 7 times in 10, or the guesser is mistaken."""
    scores = [score for column in found.columns if (score := _best(column)) is not None]
    tenths = np.sum([score.calibration for score in scores], axis=0)
    kept = [(float(n), float(right), float(sure)) for n, right, sure in tenths if n]
    rows = [{"sure": sure / n, "right": right / n, "guesses": n} for n, right, sure in kept]
    return Figure(
        "How sure guesses are, and how often they are right",
        charts.calibration(rows),
        "On the line, the guesser is as often right as expected. Larger points stand for more guesses.",
        ("sure", "right", "guesses"),
        [[percent(row["sure"]), percent(row["right"]), count(row["guesses"])] for row in rows],
    )


def _best(column: ColumnAttack) -> Score | None:
    alone = [score for score in column.alone if score is not None]
    return column.together or max(alone, key=lambda score: score.right, default=None)


def _further(found: Attack) -> Figure:
    """What more copies like these would tell of an example column, by both laws."""
    kept = [p for column in found.columns for p in column.retentions if p is not None]
    mean = float(np.mean(kept))
    prior = Prior.from_counts(np.arange(EXAMPLE_SIZE), np.ones(EXAMPLE_SIZE))
    retentions = [mean] * COPIES
    laws = {
        "independent copies": independent_reconstruction(prior, retentions, EXAMPLE_SIZE),
        "copies coupled by one key": coupled_reconstruction(prior, retentions, EXAMPLE_SIZE),
    }
    rows = [{"x": i + 1, "y": float(y), "kind": kind} for kind, curve in laws.items() for i, y in enumerate(curve)]
    table = [[str(n), *(percent(float(curve[n - 1])) for curve in laws.values())] for n in (1, 2, 5, 10, 20, 30)]
    return Figure(
        "What further releases would tell",
        charts.curves(rows, list(laws), "releases", "probability of the true value"),
        f"By formula, for a column of {EXAMPLE_SIZE} equally common values of which {percent(mean)} are kept, the "
        "mean over these releases: how likely the true value is to whoever has them all.",
        ("releases", *laws),
        table,
    )
