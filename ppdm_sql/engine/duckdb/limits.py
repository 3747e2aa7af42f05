"""What a connection may spend on a statement: seconds, rows of its result, memory; and how it is interrupted.

DuckDB is interrupted when the time is up, or the caller asks for it. Our own part of the work (reading SQL, planning,
reconstruction) is Python, which nobody can interrupt from outside but by an exception that is set for its thread.
"""

from __future__ import annotations

import ctypes
import math
import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn, TypeVar

import duckdb

from ppdm_sql.errors import LimitExceeded, QueryError, ReleaseError, SettingError
from ppdm_sql.syntax.quoting import quote_name

Done = TypeVar("Done")

AGAIN = 0.25
"""Seconds until work that did not stop is told once more."""

FILE = re.compile(r"\bfile ['\"]")
"""How DuckDB's errors name a file."""

TIMES = 100
"""How often it is told: work that goes on after that cannot be stopped."""


@dataclass(frozen=True)
class Limits:
    """Seconds for each call, rows of each result, and DuckDB's memory; None where there is no limit."""

    timeout: float | None = None
    max_rows: int | None = None
    max_memory: str | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not (_is_number(self.timeout) and 0 < self.timeout < math.inf):
            raise SettingError(f"timeout={self.timeout!r} must be a number of seconds above 0.")
        if self.max_rows is not None and (not isinstance(self.max_rows, int) or isinstance(self.max_rows, bool)):
            raise SettingError(f"max_rows={self.max_rows!r} must be a whole number.")
        if self.max_rows is not None and self.max_rows < 1:
            raise SettingError(f"max_rows={self.max_rows!r} must be 1 or more.")
        if self.max_memory is not None and not isinstance(self.max_memory, str):
            raise SettingError(f"max_memory={self.max_memory!r} must be a size such as '2GB'.")

    def one_too_many(self, sql: str, columns: Sequence[str]) -> str:
        """A query that gives as many rows as there may be, and one more where there are more."""
        most = "" if self.max_rows is None else f" LIMIT {self.max_rows + 1}"
        return f"SELECT {by_place(columns)} FROM (\n{sql}\n){most}"

    def refuse_rows(self) -> LimitExceeded:
        """What is raised for a result that has more rows than it may."""
        return LimitExceeded(
            f"the result has more rows than max_rows = {self.max_rows:,} of this connection. Aggregate, or add LIMIT."
        )


def by_place(columns: Sequence[str]) -> str:
    """The columns of a subquery as they are called: by name, two of one name would become two."""
    return ", ".join(f"#{place} AS {quote_name(name)}" for place, name in enumerate(columns, 1))


class Quota:
    """How many rows of the last result may still be fetched."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.max_rows

    def renew(self) -> None:
        """Begin with another result."""
        self._left = self._limits.max_rows

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._left is not None

    def most(self, asked: int) -> int:
        """How many rows to fetch where so many are wanted: one too many tells that there are more."""
        return asked if self._left is None else min(asked, self._left + 1)

    def take(self, rows: int) -> None:
        """Count rows that were fetched."""
        if self._left is not None:
            self._left -= rows
            if self._left < 0:
                self._left = 0
                raise self._limits.refuse_rows()


INTERRUPTED = "INTERRUPT Error: Interrupted!"
"""What DuckDB says of a statement that was interrupted."""


class Stop(BaseException):
    """Set for the thread whose work is stopped; no code of a library takes it for an error of its own."""


class Clock:
    """Lets the calls that work on one statement take so many seconds together.

    Where the connection is locked, their errors name no file.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, limits: Limits, locked: bool = False) -> None:
        self._con = con
        self._limits = limits
        self._locked = locked
        self._left = limits.timeout
        self._watch: _Watch | None = None

    def renew(self) -> None:
        """Begin with another statement."""
        if self._watch is None:
            self._left = self._limits.timeout

    @property
    def limited(self) -> bool:
        """Whether there is anything to see to at all."""
        return self._left is not None or self._locked

    def run(self, work: Callable[[], Done]) -> Done:
        """Do a part of the work within what is left of the time; a part of a part counts with the whole."""
        if self._watch is not None:
            return work()
        self._watch = _Watch(self._con, self._left)
        try:
            return self._watched(work, self._watch)
        except (duckdb.OutOfMemoryException, MemoryError):
            if self._limits.max_memory is None:
                raise
            raise LimitExceeded(
                f"the statement needs more than max_memory = {self._limits.max_memory} of this connection. "
                "Ask for less at a time."
            ) from None
        except (duckdb.Error, QueryError) as error:
            if self._locked and _is_about_files(error):
                raise ReleaseError("the release's files cannot be read: they are damaged, or gone.") from None
            raise
        finally:
            self._watch = None

    def interrupt(self) -> None:
        """Stop what runs, in DuckDB or in Python; to be called from another thread, or by a signal."""
        watch = self._watch
        if watch is None:
            self._con.interrupt()
        else:
            watch.interrupt()

    def _watched(self, work: Callable[[], Done], watch: _Watch) -> Done:
        """Whatever call a late exception strikes in is inside of one of the two blocks, so that none gets out."""
        began = time.monotonic()
        try:
            try:
                watch.start()
                done = work()
            finally:
                watch.end()
        except (Stop, duckdb.Error, QueryError, RuntimeError) as error:
            watch.end()
            if isinstance(error, duckdb.Error | QueryError) and not _is_stop(error):
                raise
            if watch.interrupted:
                raise duckdb.InterruptException(INTERRUPTED) from None
            if not (isinstance(error, Stop) or watch.fired):
                raise
            with suppress(duckdb.Error):
                self._con.execute("")
            raise LimitExceeded(
                f"the statement took longer than timeout = {self._limits.timeout:g} seconds of this connection, "
                "and was stopped. Ask for less at a time."
            ) from None
        finally:
            if self._left is not None:
                self._left -= time.monotonic() - began
        return done


def _is_stop(error: Exception) -> bool:
    """Whether DuckDB was interrupted, or tells of our exception in Python code that it called itself."""
    return isinstance(error, duckdb.InterruptException) or f"failed: {Stop.__name__}:" in str(error)


class _Watch:
    """Stops the work of a thread when the time is up or somebody interrupts it, and again until it has ended.

    A thread of its own does so, which is started when there is a time to wait for. Plain locks tell it: whatever else
    the standard library has could be left half done by the exception.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, seconds: float | None) -> None:
        self._con = con
        self._seconds = seconds
        self._worker = threading.get_ident()
        self._running = threading.Lock()
        self._running.acquire()
        self._threads: list[threading.Thread] = []
        self.fired = False
        self.interrupted = False

    def start(self) -> None:
        """Let the time run, where it is limited."""
        if self._seconds is not None:
            self._stop_after(max(self._seconds, 0.0))

    def interrupt(self) -> None:
        """Stop the work at once."""
        self.interrupted = True
        self._stop_after(0.0)

    def end(self) -> None:
        """Watch no longer, once more or for the first time; an exception that is late is dropped.

        It is raised and caught here, not taken back: Python would look for it for ever after, and not get on where a
        profiler or a debugger watches.
        """
        dropped = False
        while True:
            try:
                with suppress(RuntimeError):  # released already, before an exception struck here
                    self._running.release()
                for thread in self._threads:
                    while thread.is_alive():
                        thread.join(0.01)
                if dropped or not self.fired:
                    return
                dropped = True
                _raise_here(Stop)
            except Stop:
                continue

    def _stop_after(self, seconds: float) -> None:
        thread = threading.Thread(target=self._wait, args=(seconds,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _wait(self, seconds: float) -> None:
        for _ in range(TIMES):
            if self._running.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
                with suppress(RuntimeError):  # released by a second end already; another thread may wait for it too
                    self._running.release()
                return
            seconds = AGAIN
            self.fired = True
            with suppress(duckdb.Error):  # closed in the meantime
                self._con.interrupt()
            if not _imports(self._worker):
                _set_exception(self._worker, Stop)


def _set_exception(thread: int, kind: type[BaseException]) -> None:
    """Let a thread raise an exception as soon as it runs Python again, in the place of any that it has yet to raise."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(kind))


def _raise_here(kind: type[BaseException]) -> NoReturn:
    """Raise an exception as one that is set for a thread, so that none is left to be raised."""
    _set_exception(threading.get_ident(), kind)
    while True:
        pass


def _imports(thread: int) -> bool:
    """Whether a thread is importing a module, which would be left half loaded."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _is_about_files(error: Exception) -> bool:
    """Whether an error of DuckDB's comes from reading files; by its words, and never by what the files are called."""
    return isinstance(error, duckdb.IOException | duckdb.PermissionException) or (
        isinstance(error, duckdb.InvalidInputException | QueryError) and FILE.search(str(error)) is not None
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
