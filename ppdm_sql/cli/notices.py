"""Everything that the command line writes to stderr: one line a message, `ppdm-sql: ...`."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from ppdm_sql.errors import PpdmError, PpdmWarning

NAME = "ppdm-sql"


def say(message: str) -> None:
    """One line to stderr."""
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    print(f"{NAME}: {line}", file=sys.stderr, flush=True)


@contextmanager
def progress_line() -> Iterator[Callable[[str], None] | None]:
    """What writes over one line of a terminal, which is empty afterwards; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    clear = "\r\x1b[K"
    try:
        yield lambda text: print(f"{clear}{NAME}: {text}", end="", file=sys.stderr, flush=True)
    finally:
        print(clear, end="", file=sys.stderr, flush=True)


def message_of(error: BaseException) -> str | None:
    """What to tell a user about an error; None for a bug, which needs its traceback."""
    if isinstance(error, PpdmError):
        return " ".join([str(error), *getattr(error, "__notes__", ())])
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return reason if error.filename is None else f"{str(error.filename)!r}: {reason}."
    duckdb = sys.modules.get("duckdb")  # where it was never imported, the error is not its own
    if duckdb is not None and isinstance(error, duckdb.Error):
        return str(error).split("\n\nLINE", maxsplit=1)[0]
    return None


def is_interrupt(error: BaseException) -> bool:
    """Whether the user stopped the work; DuckDB has errors of its own for it."""
    if isinstance(error, RuntimeError) and str(error) == "Query interrupted":
        return True
    duckdb = sys.modules.get("duckdb")
    return isinstance(error, KeyboardInterrupt) or (duckdb is not None and isinstance(error, duckdb.InterruptException))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Our warnings become lines like the others; those of libraries stay as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PpdmWarning)
        others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, PpdmWarning):
                say(f"warning: {message}")
            else:
                others(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield
