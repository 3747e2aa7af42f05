"""`ppdm-sql levels`: what a key has released, from its ledger."""

from __future__ import annotations

import argparse
from pathlib import Path

from ppdm_sql.cli.output import table
from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing.ledger import Entry, ledger_path, read_ledger


def run(arguments: argparse.Namespace) -> int:
    """List the releases, the oldest first."""
    if not Path(arguments.key).name:
        raise KeyFileError(
            f"{arguments.key!r} is not the name of a key file: name the one that releases were made with."
        )
    path = ledger_path(arguments.key)
    if not path.exists():
        raise KeyFileError(
            f"there is no ledger {str(path)!r}: nothing was released with this key yet, or the ledger was not kept "
            "beside it."
        )
    names = ("when", "table", "level", "kept", "rows", "release")
    print(table(names, [_row(entry) for entry in read_ledger(Path(path))]))
    return 0


def _row(entry: Entry) -> tuple[str, ...]:
    kept = ", ".join(f"{name} {_strength(words)}" for name, words in entry.columns.items())
    to = entry.to if entry.confirmed else f"{entry.to} (perhaps: publishing did not end)"
    return (entry.when, entry.table, entry.level or "", kept, f"{entry.rows:,}", to)


def _strength(words: object) -> str:
    assert isinstance(words, dict)
    return f"{words['retain']:.3g}" if "retain" in words else str(words["mechanism"])
