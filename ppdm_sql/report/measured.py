"""What only the original tells: how good answers are, what guessing gets right, and what no formula sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ppdm_sql.auditing import Attack, Audit
from ppdm_sql.auditing.dependence import Dependence
from ppdm_sql.auditing.heaping import CERTAIN, Heap
from ppdm_sql.auditing.scores import Promise
from ppdm_sql.auditing.uniqueness import Uniqueness
from ppdm_sql.privacy.statements import percent
from ppdm_sql.report import charts
from ppdm_sql.report.attack_page import baskets_figure, numbers_figure
from ppdm_sql.report.figures import Figure
from ppdm_sql.report.queries import Answer
from ppdm_sql.report.words import amount, count, listed, plural


@dataclass(frozen=True)
class Finding:
    """Something that was found, and what to do about it."""

    title: str
    words: str
    remedy: str


@dataclass(frozen=True)
class Measured:
    """The page's part that needs the original."""

    answers: tuple[Answer, ...]
    rows: tuple[tuple[str, str, str, str, str, str], ...]
    estimates: Figure | None
    guessed: Figure | None
    findings: tuple[Finding, ...]
    fine: tuple[str, ...]
    guesses: tuple[tuple[str, str, str, str], ...]
    further: tuple[Figure, ...] = ()
    said: tuple[str, ...] = ()


def measured(answers: Sequence[Answer], attack: Attack | None, audit: Audit) -> Measured:
    """All of it, in words."""
    rows = tuple(_row(number, answer) for number, answer in enumerate(answers, 1))
    findings = (
        *(_heaped(heap) for heap in audit.heaps),
        *(_depends(found) for found in audit.dependences),
        *_alone(audit.uniqueness),
    )
    drawn = _estimates(answers), _guesses(attack)
    further: list[Figure] = []
    said: list[str] = []
    if attack is not None:
        further += [numbers_figure(attack)] if attack.numbers else []
        further += [baskets_figure(attack)] if attack.baskets else []
        said = [_kept(column.name, promise) for column in attack.columns for promise in column.promises if promise]
        said += [f"{name} is not guessed: {reason}." for name, reason in attack.left_out]
    return Measured(
        tuple(answers), rows, *drawn, findings, _fine(audit), _guess_rows(attack), tuple(further), tuple(said)
    )


def _kept(name: str, promise: Promise) -> str:
    shown = f" Where it is shown it is true in {count(promise.right)} of {count(promise.rows)} rows."
    return (
        f"{name}: the protected value that is told best becomes {percent(promise.highest)} likely in its part; "
        f"promised is below {percent(promise.rho2)}.{shown if promise.rows else ''}"
    )


def _number(answer: Answer, value: float) -> str:
    return count(value) if answer.count else amount(value)


def _row(number: int, answer: Answer) -> tuple[str, str, str, str, str, str]:
    low, high = _number(answer, answer.low), _number(answer, answer.high)
    held = "yes" if answer.held else "no"
    return (
        f"{number}. {answer.words}",
        answer.sql,
        _number(answer, answer.truth),
        _number(answer, answer.estimate),
        f"{low} to {high}",
        held,
    )


def _estimates(answers: Sequence[Answer]) -> Figure | None:
    drawn = [(number, answer) for number, answer in enumerate(answers, 1) if answer.truth]
    if not drawn:
        return None
    rows, table = [], []
    for number, answer in drawn:
        off = [(value - answer.truth) / abs(answer.truth) for value in (answer.low, answer.estimate, answer.high)]
        held = "holds the truth" if answer.held else "misses it"
        rows.append({"name": f"{number}.", "low": off[0], "middle": off[1], "high": off[2], "held": held})
        table.append([f"{number}. {answer.words}", *(f"{100 * share:+.3g} %" for share in off)])
    right = sum(answer.held for answer in answers)
    return Figure(
        "Estimates and their 95 % intervals, as differences from the truth",
        charts.estimates(rows),
        f"{right} of {plural(len(answers), 'interval')} hold the truth; 95 % of them do in the long run.",
        ("query", "lower end", "estimate", "upper end"),
        table,
    )


def _guesses(attack: Attack | None) -> Figure | None:
    if attack is None or not attack.columns:
        return None
    kinds = ("the commonest value, without the release", "the best guess from the release")
    rows = []
    for column in attack.columns:
        assert column.together is not None
        rows.append({"name": column.name, "kind": kinds[0], "value": column.baseline})
        rows.append({"name": column.name, "kind": kinds[1], "value": column.together.share})
    whole = attack.whole_rows
    return Figure(
        "Values guessed right, with and without the release",
        charts.grouped_bars(rows, kinds, "values guessed right"),
        f"The guesser knows how common each value is in the original. Of a row's "
        f"{plural(len(attack.columns), 'perturbed column')}, {amount(whole.mean)} are guessed right on average, and "
        f"all of them in {count(whole.whole)} of {count(attack.rows)} rows.",
        ("column", "commonest value", "best guess"),
        [[c.name, percent(c.baseline), percent(c.together.share if c.together else 0)] for c in attack.columns],
    )


def _guess_rows(attack: Attack | None) -> tuple[tuple[str, str, str, str], ...]:
    found = []
    for column in () if attack is None else attack.columns:
        score = column.together
        assert score is not None
        surest = score.surest
        sure = f"{percent(surest.right / surest.rows)} of {count(surest.rows)} rows" if surest.rows else ""
        found.append((column.name, percent(column.baseline), percent(score.share), sure))
    return tuple(found)


def _rare(share: float) -> str:
    return f"{percent(share)} of draws" if share >= 0.001 else f"one draw in {count(1 / share)}"


def _heaped(heap: Heap) -> Finding:
    return Finding(
        f"{heap.column}: {heap.words}",
        f"{percent(heap.prior)} of the rows have such a value, but only {_rare(heap.share)}: it is "
        f"{amount(heap.relative_prior)} times as common among the rows as among draws. A published one is its row's "
        f"own with {percent(heap.true)}, where any published value is with {percent(heap.usual)}.",
        "Use a coarser step or a narrower domain, so that draws look like the data; or keep less of the column.",
    )


def _depends(found: Dependence) -> Finding:
    what = "its value" if found.groups is None else f"which of {found.groups} groups of equal size its value is in"
    how = "determine" if found.determined else "foretell"
    if len(found.by) == 1:
        how += "s"
    kind = "perturbed too" if not found.exact else "released as it is" if len(found.by) == 1 else "released as they are"
    return Finding(
        f"{found.column}: {listed(list(found.by))} {how} it",
        f"From {listed(list(found.by))} ({kind}), {what} is guessed right in {percent(found.right)} of rows; the "
        f"commonest alone gets {percent(found.baseline)}. Learnt from one half of {plural(found.rows, 'row')}, "
        "tried on the other.",
        "Perturb or drop the column that tells." if found.exact else "Drop one of the two, or keep less of both.",
    )


def _alone(unique: Uniqueness) -> list[Finding]:
    found = [
        Finding(
            f"{name} names rows",
            "This column is released as it is, and nearly every row has a value of its own in it.",
            "If anybody else knows these values, drop the column, or give rows new numbers.",
        )
        for name in unique.identifying
    ]
    if unique.unique:
        found.append(
            Finding(
                f"{plural(unique.unique, 'row')} alone in {'their' if unique.unique > 1 else 'its'} exact columns",
                f"By {listed(list(unique.columns))} alone, {count(unique.unique)} of {count(unique.rows)} rows are "
                f"the only ones of their kind, and {count(unique.few)} share theirs with at most three others. Who "
                "knows these values of a person finds the person's row.",
                "Drop or coarsen exact columns, or perturb them.",
            )
        )
    return found


def _fine(audit: Audit) -> tuple[str, ...]:
    """What was looked for and not found."""
    found = []
    if not audit.heaps:
        found.append(f"No set of values makes a published value more than {percent(CERTAIN)} sure by being common.")
    if not any(each.exact for each in audit.dependences):
        found.append("No exact column, nor all of them together, foretells a perturbed one much better than chance.")
    unique = audit.uniqueness
    if not unique.unique and unique.columns:
        found.append(
            f"No row is alone in its exact columns ({listed(list(unique.columns))}): each shares them with at least "
            f"{count(unique.smallest - 1)} others."
        )
    return tuple(found)
