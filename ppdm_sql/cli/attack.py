"""`ppdm-sql attack`: what the best guess of every row gets right."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ppdm_sql.auditing import Attack, ColumnAttack, attack
from ppdm_sql.cli.attack_text import baskets_text, mistaken, numbers_text, promises
from ppdm_sql.cli.output import table
from ppdm_sql.cli.release import verify_first
from ppdm_sql.cli.report import check_packages
from ppdm_sql.publishing.sources import source_files

ADVERSARY = {
    "source": "knows how common each value is in the original, and guesses each column by itself",
    "release": "knows the release alone, and guesses each column by itself",
}


def run(arguments: argparse.Namespace) -> int:
    """Print the outcome, and draw it."""
    page = _page(arguments)
    verify_first(arguments.releases, arguments.verify)
    found = attack(arguments.releases, arguments.source, table=arguments.table, prior=arguments.prior)
    if arguments.format == "json":
        print(json.dumps(_plain(found), ensure_ascii=False, allow_nan=False, indent=1))
    else:
        print(describe(found))
    if page is not None:
        from ppdm_sql.report.attack_page import write_attack  # noqa: PLC0415 - plots are an extra

        said = [*promises(found), *mistaken(found), *(_copies(found) if len(found.releases) > 1 else ())]
        write_attack(found, said, page)
    return 0


def _page(arguments: argparse.Namespace) -> Path | None:
    """Where the plots go, known to be free before the work begins."""
    if arguments.plot is None:
        return None
    check_packages()
    from ppdm_sql.report.page import check_page  # noqa: PLC0415 - plots are an extra

    inputs = [*map(Path, arguments.releases), *source_files(arguments.source)]
    return check_page(arguments.plot, replace=arguments.replace, inputs=inputs)


def describe(found: Attack) -> str:
    """The outcome as text."""
    several = len(found.releases) > 1
    lines = [
        f"{found.table}: {found.rows:,} rows, guessed from {_releases(found.releases)}",
        f"adversary: {ADVERSARY[found.prior]}",
        f"rows matched: {found.matched}",
    ]
    if found.columns:
        lines += [
            "",
            "Guessed right, in % of the rows; the commonest value needs no release.",
            table(_heads(found, several), [_line(column, several) for column in found.columns]),
            "",
            _whole(found),
            *promises(found),
            *mistaken(found),
        ]
    if several:
        lines += _copies(found)
    lines += numbers_text(found) + baskets_text(found)
    lines += [f"{name} is left out: {reason}." for name, reason in found.left_out]
    return "\n".join(lines)


def _releases(paths: Sequence[str]) -> str:
    if len(paths) == 1:
        return paths[0]
    return "; ".join(f"{i}: {path}" for i, path in enumerate(paths, 1))


def _heads(found: Attack, several: bool) -> list[str]:
    each = [f"release {i}" for i in range(1, len(found.releases) + 1)] if several else ["release"]
    return ["column", "commonest", *each, *(["together"] if several else []), "surest rows", "right of them"]


def _line(column: ColumnAttack, several: bool) -> list[Any]:
    each = ["" if score is None else _percent(score.share) for score in column.alone]
    best = column.together
    joint = [] if not several else ["" if best is None else _percent(best.share)]
    if best is None:
        return [column.name, _percent(column.baseline), *each, *joint, "", ""]
    surest = best.surest
    right = _percent(surest.right / surest.rows) if surest.rows else ""
    return [column.name, _percent(column.baseline), *each, *joint, f"{surest.rows:,}", right]


def _whole(found: Attack) -> str:
    whole, columns = found.whole_rows, len(found.columns)
    kind = "tabled" if found.numbers or found.baskets else "perturbed"
    named = f"{kind} column" if columns == 1 else f"{kind} columns"
    return (
        f"Of a row's {columns} {named}, {whole.mean:.2f} are guessed right on "
        f"average, and all of them in {whole.whole:,} of {found.rows:,} rows."
    )


def _copies(found: Attack) -> list[str]:
    """What the copies of each column are to each other; columns of which the same can be said, in one line."""
    said: dict[str, list[str]] = {}
    for column in found.columns:
        said.setdefault(relation(column), []).append(column.name)
    return [f"{', '.join(names)}: {words}" for words, names in said.items()]


def relation(column: ColumnAttack) -> str:
    """What a column's copies are to each other, in words."""
    if column.together is None:
        return "the releases draw from different values or in different ways; each is guessed by itself."
    if len(column.chains) == 1 and len(column.chains[0]) == 1:
        return "one release perturbs it."
    doubts = [pair for pair in column.pairs if not (pair.coupling.told and pair.coupling.fits)]
    note = ""
    if doubts:
        names = ", ".join(f"{pair.first + 1} and {pair.second + 1}" for pair in doubts[:3])
        note = f" In doubt: releases {names} agree as neither law says, or in too few rows to tell."
    if len(column.chains) == 1:
        strongest = max(column.chains[0], key=lambda i: column.retentions[i] or 0)
        return f"coupled by one key; release {strongest + 1} alone tells all that they tell together.{note}"
    groups = ", ".join("+".join(str(i + 1) for i in group) for group in column.chains)
    sharing = "; those joined by + share a key" if "+" in groups else ""
    return f"independent copies (releases {groups}{sharing}): what they tell of a value adds up.{note}"


def _percent(share: float) -> float:
    return round(100 * share, 1)


def _plain(found: Attack) -> dict[str, Any]:
    """With shares beside the counts, and releases numbered from 0 as in the list."""
    body = asdict(found)
    for column, plain in zip(found.columns, body["columns"], strict=True):
        plain["baseline"] = column.baseline
        for promise, each in zip(column.promises, plain["promises"], strict=True):
            if promise is not None:
                each["kept"] = promise.kept
        for score, each in [*zip(column.alone, plain["alone"], strict=True), (column.together, plain["together"])]:
            if score is not None:
                each["share"] = score.share
    body["whole_rows"] |= {"whole": found.whole_rows.whole, "mean": found.whole_rows.mean}
    return body
