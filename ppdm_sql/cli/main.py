"""The entry point: run a command, and turn whatever ends it into an exit code and at most one line on stderr."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ppdm_sql.cli import notices
from ppdm_sql.cli.arguments import parse
from ppdm_sql.errors import PpdmError

BAD_INPUT = PpdmError.exit_code
INTERRUPTED = 130
CLOSED_PIPE = 141
"""128 and the number of the signal, as a shell reports it for other programs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    _open_closed_streams()
    with notices.warnings_as_lines():
        try:
            return _run(sys.argv[1:] if argv is None else argv)
        except BrokenPipeError:
            _give_up_stdout()
            return CLOSED_PIPE
        except BaseException as error:
            if notices.is_interrupt(error):
                return INTERRUPTED
            message = notices.message_of(error)
            if message is None:
                raise
            _flush_or_give_up()
            notices.say(message)
            return error.exit_code if isinstance(error, PpdmError) else BAD_INPUT


def _run(argv: Sequence[str]) -> int:
    for argument in argv:
        if any("\ud800" <= c <= "\udfff" for c in argument):
            notices.say(f"argument {argument!r} is not UTF-8 text")
            return BAD_INPUT
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower().replace("-", "") != "utf8":
        sys.stdout.reconfigure(encoding="utf-8")  # a value may hold any letter, whatever the locale
    try:
        arguments = parse(argv)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    else:
        code = int(importlib.import_module(f"ppdm_sql.cli.{arguments.command}").run(arguments))
    sys.stdout.flush()
    return code


def _open_closed_streams() -> None:
    """Where the caller has closed stdin or stdout, as `>&-` does: nothing comes, and nobody reads what is said.

    The next file to be opened, a release maybe, would else take the number of the stream that is missing.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  # as long as we run


def _flush_or_give_up() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_stdout()


def _give_up_stdout() -> None:
    """Python flushes stdout once more when it ends, and would complain again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
