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
    figures = [_rights(found), _sureness(found)]
    if several:
        figures.append(_further(found))
    text = render(
        "attack.html",
        title=f"{found.table}: what guessing gets right",
        table=found.table,
        rows=plural(found.rows, "row"),
        releases=[Path(path).name for path in found.releases],
        matched=found.matched,
        knows="how common each value is in the original" if found.prior == "source" else "the release alone",
        whole=f"Of a row's {plural(len(found.columns), 'perturbed column')}, {amount(whole.mean)} are guessed right on "
        f"average, and all of them in {count(whole.whole)} of {count(found.rows)} rows.",
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
