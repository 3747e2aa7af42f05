"""What all releases of one table tell together, as the ledger of their key has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ppdm_sql.errors import KeyFileError
from ppdm_sql.privacy.breaches import highest_posterior
from ppdm_sql.privacy.statements import UNLIKELY, percent
from ppdm_sql.publishing.ledger import Entry, added_up, read_ledger
from ppdm_sql.report.words import amount, listed, plural

NEARLY = 0.9999
_SAME = 1e-9


@dataclass(frozen=True)
class SeveralPage:
    """The page's part on several releases; a row a column: its releases, epsilons, and what they allow."""

    words: tuple[str, ...]
    rows: tuple[tuple[str, str, str, str, str], ...]


def several_page(ledger: str | Path, table: str) -> SeveralPage:
    """All releases in a ledger that are of the table; KeyFileError where there is no ledger."""
    path = Path(ledger)
    if not path.exists():
        raise KeyFileError(f"there is no ledger {str(path)!r}: it lies beside the key, with .ledger at its end.")
    entries = _related(read_ledger(path), table)
    if not entries:
        return SeveralPage((f"The ledger knows of no release of {table}.",), ())
    together = _together(entries)
    alone = [_together([entry]) for entry in entries]
    rows, adding = [], []
    names = {name.casefold(): name for entry in entries for name in entry.columns}
    for name in names.values():
        count = sum(any(found.casefold() == name.casefold() for found in entry.columns) for entry in entries)
        total = together.get(name.casefold())
        if total is None:
            rows.append((name, f"{count:,}", "no such number", "no such number", "no bound"))
            continue
        most = max(each.get(name.casefold(), 0.0) for each in alone)
        if total > most + _SAME:
            adding.append(name)
        after = min(float(highest_posterior(math.exp(min(total, 700)), UNLIKELY)), NEARLY)
        rows.append((name, f"{count:,}", amount(most), amount(total), percent(after)))
    return SeveralPage((_words(len(entries), table, adding),), tuple(rows))


def _words(releases: int, table: str, adding: Sequence[str]) -> str:
    said = f"The ledger knows {plural(releases, 'release')} of {table}."
    if releases == 1:
        return said
    if not adding:
        return f"{said} Their copies are coupled by the key: together they tell no more than the one that keeps most."
    return (
        f"{said} Copies of {listed(list(adding))} cannot be coupled with each other: they are independent draws of the "
        "same values, and what they tell adds up."
    )


def _related(entries: Sequence[Entry], table: str) -> list[Entry]:
    """Releases of the table, under whatever name its source was published."""
    own = [entry for entry in entries if entry.table.casefold() == table.casefold()]
    sources = {entry.source for entry in own if entry.source is not None}
    return [entry for entry in entries if entry in own or entry.source in sources]


def _together(entries: Sequence[Entry]) -> dict[str, float]:
    """Epsilons by folded name; coins of different keys are independent, and add up."""
    found: dict[str, float] = {}
    for key in dict.fromkeys(entry.key for entry in entries):
        for name, epsilon in added_up([entry for entry in entries if entry.key == key]).items():
            found[name.casefold()] = found.get(name.casefold(), 0.0) + epsilon
    return found
