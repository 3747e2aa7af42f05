"""Paths inside SQL, quoted; and names that a reader may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from ppdm_sql.syntax.file_patterns import PATTERN
from ppdm_sql.syntax.quoting import quote_text


def quote_path(path: str | Path) -> str:
    """A path as a string literal for DuckDB's readers, which take some characters as a pattern.

    >>> quote_path("part[1].csv")
    "'part[[]1].csv'"
    """
    return quote_text("".join(f"[{c}]" if c in PATTERN else c for c in str(path)))


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names what may have been meant, or what there is.

    >>> nearest("agee", ["age", "sex"])
    "Did you mean 'age'?"
    >>> nearest("x", ["age", "sex"])
    "There are 'age', 'sex'."
    """
    names = {each.casefold(): each for each in known}
    close = get_close_matches(name.casefold(), list(names), n=3)
    if close:
        return f"Did you mean {' or '.join(repr(names[each]) for each in close)}?"
    shown = [repr(each) for each in names.values()]
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return f"There are {', '.join(shown[:20])}{more}." if shown else "There are none."
