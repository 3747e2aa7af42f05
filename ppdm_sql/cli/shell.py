"""`ppdm-sql shell`: a prompt that answers SQL on a release; where stdin is no terminal, without the prompts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import sqlglot
from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from ppdm_sql.cli import notices
from ppdm_sql.cli.query import ask
from ppdm_sql.cli.release import describe, open_release
from ppdm_sql.connection.connection import Connection
from ppdm_sql.errors import PpdmError, QueryError
from ppdm_sql.syntax.dialects import ANALYST

PROMPT = "ppdm> "
MORE = "  ..> "
HELP = """\
SELECT ... ;        ask; a statement ends with a semicolon and may take several lines
SET ppdm_method = 'auto' | 'inversion' | 'bayes';
SET ppdm_errors = 'columns' | 'off';       with the interval's ends after each estimate, or without
SET ppdm_confidence = 0.95;                how often intervals hold the truth
.tables             the released tables and their columns
.explain SELECT ... what a query will do (on one line)
.help               this
.quit               the end, as Ctrl-D"""


class Quit(Exception):
    """The user asked for the end."""


def run(arguments: argparse.Namespace) -> int:
    """Read, answer, and go on until the end; without a terminal, the exit code tells whether anything failed."""
    interactive = sys.stdin.isatty()
    shell = Shell(open_release(arguments.release, arguments.verify), interactive)
    with shell.con:
        if interactive:
            with suppress(ImportError):
                __import__("readline")  # importing it is what gives input() a history
            names = ", ".join(manifest.table for manifest in shell.released)
            print(f"released: {names}. A statement ends with a semicolon; .help tells more.")
        with suppress(Quit):
            shell.read(_typed if interactive else _piped)
    return 0 if interactive or not shell.failed else PpdmError.exit_code


class Shell:
    """An open release, and what was typed of a statement that is not complete yet."""

    def __init__(self, con: Connection, interactive: bool) -> None:
        self.con = con
        self.released = con.manifests()
        self.interactive = interactive
        self.failed = False
        self._pending = ""

    def read(self, line_after: Callable[[str], str | None]) -> None:
        """Answer until there are no lines; `line_after` takes a prompt and gives None at the end."""
        while True:
            try:
                line = line_after(MORE if self._pending else PROMPT)
            except KeyboardInterrupt:
                if not self.interactive:
                    raise
                print()
                self._pending = ""
                continue
            if line is None:
                break
            self.take(line)
        rest, self._pending = self._pending, ""
        if rest.strip():
            self._try(partial(self._answer, rest))

    def take(self, line: str) -> None:
        """One line: a command with a dot, or a part of a statement."""
        if not self._pending and line.lstrip().startswith("."):
            self._try(partial(self._command, line.strip()))
            return
        if not self._pending and not _says_something(line):
            return
        self._pending += line.rstrip("\n") + "\n"
        if ";" not in line:
            return
        found, self._pending = complete_statements(self._pending)
        for statement in found:
            self._try(partial(self._answer, statement))

    def _answer(self, sql: str) -> None:
        ask(self.con, sql.lstrip(), "table")

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        if name in (".quit", ".exit"):
            raise Quit
        if name == ".help":
            print(HELP)
        elif name == ".tables":
            print("\n\n".join(describe(manifest) for manifest in self.released))
        elif name == ".explain" and rest.strip():
            print(self.con.explain(rest))
        elif name == ".explain":
            raise QueryError("write the query after .explain, on the same line.")
        else:
            raise QueryError(f"there is no command {name!r}. Known: .tables, .explain, .help, .quit.")

    def _try(self, action: Callable[[], None]) -> None:
        """Tell what went wrong, and go on."""
        try:
            action()
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except BaseException as error:
            message = notices.message_of(error)
            if notices.is_interrupt(error):
                message = "stopped" if self.interactive else None
            if message is None:
                raise
            self.failed = True
            sys.stdout.flush()  # so that both streams keep their order
            notices.say(message)


def complete_statements(text: str) -> tuple[list[str], str]:
    """The statements that a semicolon ends, and what is left.

    >>> complete_statements("SELECT 1; SELECT ';'")
    (['SELECT 1'], " SELECT ';'")
    """
    try:
        tokens = sqlglot.tokenize(text, dialect=ANALYST)
    except SqlglotError:  # within a string or a comment
        return [], text
    found, last = [], 0
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            found.append(text[last : token.start])
            last = token.end + 1
    rest = text[last:]
    return [statement for statement in found if statement.strip()], rest if _says_something(rest) else ""


def _says_something(text: str) -> bool:
    """Whether more than blanks and comments is left."""
    try:
        return bool(sqlglot.tokenize(text, dialect=ANALYST))
    except SqlglotError:
        return True


def _typed(prompt: str) -> str | None:
    try:
        return input(prompt).encode("utf-8", "replace").decode()  # a terminal may send what is no text
    except EOFError:
        print()
        return None


def _piped(prompt: str) -> str | None:
    try:
        line = sys.stdin.readline()
        line.encode()
        return line or None
    except UnicodeError:
        raise QueryError("standard input is not UTF-8 text.") from None
