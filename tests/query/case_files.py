"""Reads the rewriter's case files.

A case is its name, one statement, and what becomes of it: `--! expect` and the SQL that runs, `--! error:` and the text
of the refusal (its beginning suffices), or `--! untouched`. `--! ordered by an estimate` keeps the order of rows out
of comparisons with the truth; `--! too many states for Bayes` says that it is refused there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """One statement and its fate."""

    file: str
    name: str
    sql: str
    error: str | None = None
    untouched: bool = False
    by_estimate: bool = False
    only_inversion: bool = False
    expect: str | None = None

    @property
    def accepted(self) -> bool:
        """Whether the statement is answered by reconstruction."""
        return self.error is None and not self.untouched


def read_cases() -> list[Case]:
    """Every case of every file."""
    return [case for path in sorted(FOLDER.glob("*.sql")) for case in _read(path)]


def _read(path: Path) -> list[Case]:
    cases = []
    for block in path.read_text(encoding="utf-8").split("--! case: ")[1:]:
        name, *lines = block.splitlines()
        sql = [line for line in lines if not line.startswith("--!")]
        marks = [line.removeprefix("--! ") for line in lines if line.startswith("--!")]
        if "expect" in marks:
            cut = lines.index("--! expect")
            sql = [line for line in lines[:cut] if not line.startswith("--!")]
        error = next((mark.removeprefix("error: ") for mark in marks if mark.startswith("error:")), None)
        expect = "\n".join(lines[lines.index("--! expect") + 1 :]).strip() if "expect" in marks else None
        cases.append(
            Case(
                path.stem,
                name,
                "\n".join(sql).strip(),
                error,
                "untouched" in marks,
                "ordered by an estimate" in marks,
                "too many states for Bayes" in marks,
                expect,
            )
        )
    return cases
