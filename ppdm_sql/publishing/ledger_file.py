"""The ledger's lines: appended one by one under a lock, each on the disk before anything depends on it.

::

    {"ppdm_ledger": .., "id": "0c1f..", ..}       a release is about to be put in place
    {"confirms": "0c1f.."}                        it is in place
    {"withdraws": "0c1f.."}                       it is certainly not: the attempt failed before

A release without a word on what became of it counts as released, for a crash may have come just after it was put in
place. A line that a crash tore is the last one and has no end: nothing was released after it, so that it is passed
over, and goes with the next line that is written. Any other line that cannot be read is damage.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing.locking import exclusive, sync_folder, write_all

_BEGINNINGS = (b'{"ppdm_ledger": ', b'{"confirms": "', b'{"withdraws": "')
_OUTCOME = re.compile(r'\{"(confirms|withdraws)": "([0-9a-f]+)"\}')
_ID = re.compile(r'\{"ppdm_ledger": \d+, "id": "([0-9a-f]+)"')


@dataclass(frozen=True)
class Record:
    """A release that is, or may be, out: its line, and whether it is known to be in place."""

    line: str
    confirmed: bool


class Journal:
    """A ledger that nobody else writes to meanwhile."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle
        content = _whole(handle)
        lines, torn = _split(content)
        self._end = len(content) - len(torn)
        self._unended = self._end > 0 and content[self._end - 1 : self._end] != b"\n"
        self.records = _records(lines, path)

    def intend(self, line: str) -> None:
        """Enter a release that is about to be put in place; KeyFileError where the disk does not take it."""
        try:
            sync_folder(self._path.parent)  # the ledger's own name, before anything counts on it
        except OSError as error:
            raise _unwritable(self._path, error) from None
        self._append(line)

    def confirm(self, number: str) -> None:
        """Say that a release is in place."""
        self._append(json.dumps({"confirms": number}))

    def withdraw(self, number: str) -> None:
        """Say that a release is certainly not in place."""
        self._append(json.dumps({"withdraws": number}))

    def _append(self, line: str) -> None:
        data = (b"\n" if self._unended else b"") + line.encode() + b"\n"
        try:
            os.ftruncate(self._handle, self._end)
            os.lseek(self._handle, self._end, os.SEEK_SET)
            write_all(self._handle, data)
            os.fsync(self._handle)
        except BaseException as error:
            with suppress(OSError):  # else it is a torn line, or one that counts as released: neither forgets anything
                os.ftruncate(self._handle, self._end)
            if isinstance(error, OSError):
                raise _unwritable(self._path, error) from None
            raise
        self._end += len(data)
        self._unended = False


@contextmanager
def open_journal(path: Path) -> Iterator[Journal]:
    """The ledger, made where there is none, for one reader and writer at a time; one that stays empty is taken back."""
    with exclusive(path, f"ledger {str(path)!r}", KeyFileError) as handle:
        yield Journal(path, handle)


def read_records(path: Path) -> list[Record]:
    """The releases in a ledger that are, or may be, out; none where there is no file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        raise KeyFileError(f"ledger {str(path)!r} cannot be read: check its permissions, or move it away.") from None
    return _records(_split(content)[0], path)


def damaged(path: Path) -> KeyFileError:
    """The error for a line that is none."""
    return KeyFileError(
        f"ledger {str(path)!r} is damaged, or of a later version: update ppdm_sql, or restore it from a copy."
    )


def _unwritable(path: Path, error: OSError) -> KeyFileError:
    return KeyFileError(f"ledger {str(path)!r} cannot be written: {error.strerror}.")


def _whole(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        return file.read()


def _split(content: bytes) -> tuple[list[bytes], bytes]:
    """The lines, and what a crash left of one more."""
    *lines, last = content.split(b"\n")
    if _is_torn(last):
        return lines, last
    return [*lines, last], b""


def _is_torn(line: bytes) -> bool:
    """Whether a line without an end is the beginning of a record, or a hole in the file, and no whole record."""
    if not line.strip(b"\0"):
        return True
    if not any(line.startswith(known[: len(line)]) for known in _BEGINNINGS):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


def _records(lines: Sequence[bytes], path: Path) -> list[Record]:
    try:
        texts = [line.decode() for line in lines if line.strip()]
    except UnicodeDecodeError:
        raise damaged(path) from None
    releases: list[str] = []
    outcomes: dict[str, set[str]] = {"confirms": set(), "withdraws": set()}
    for text in texts:
        if match := _OUTCOME.fullmatch(text):
            outcomes[match[1]].add(match[2])
        else:
            releases.append(text)
    known = [(text, _ID.match(text)) for text in releases]
    confirmed = [Record(text, match is None or match[1] in outcomes["confirms"]) for text, match in known]
    withdrawn = [match is not None and match[1] in outcomes["withdraws"] for _, match in known]
    return [record for record, gone in zip(confirmed, withdrawn, strict=True) if record.confirmed or not gone]
