"""DB-API 2.0 (PEP 249): the exceptions, type objects and constructors that `ppdm_sql` has as a module.

The exceptions are DuckDB's own classes, so that code written for DuckDB catches what it always caught. What a
connection raises of ours belongs to both trees: `except ppdm_sql.Error`, `except duckdb.Error` and `except PpdmError`
each catch it.

::

    Error
    └── DatabaseError            PolicyError, ..    (what happens while publishing in SQL)
        ├── ProgrammingError     QueryError, Locked, SettingError
        ├── OperationalError     ReleaseError, KeyFileError, TargetError, LimitExceeded
        ├── DataError            SourceError
        ├── NotSupportedError    Unsupported
        ├── IntegrityError
        └── InternalError
    Warning
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
from duckdb import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)
from duckdb._dbapi_type_object import BINARY, DATETIME, NUMBER, ROWID, STRING

from ppdm_sql import errors

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "as_dbapi",
]

Binary = bytes
Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
DateFromTicks = datetime.date.fromtimestamp
TimestampFromTicks = datetime.datetime.fromtimestamp

_KINDS: tuple[tuple[type[errors.PpdmError], type[duckdb.Error]], ...] = (
    (errors.Unsupported, NotSupportedError),
    (errors.QueryError, ProgrammingError),
    (errors.SettingError, ProgrammingError),
    (errors.LimitExceeded, OperationalError),
    (errors.ReleaseError, OperationalError),
    (errors.KeyFileError, OperationalError),
    (errors.TargetError, OperationalError),
    (errors.SourceError, DataError),
    (errors.PpdmError, DatabaseError),
)

_DAMAGE = (
    "Corrupt database file",
    "Parquet file is likely corrupted",
    r"[\w ]*Error: Failed to read file .*(decompress|corrupt|out of buffer|invalid)",
    r"Serialization Error: Failed to deserialize",
    r"IO Error: Could not read enough bytes",
)
"""What DuckDB says of damage, at the beginning of a message."""

_made: dict[type[errors.PpdmError], type[errors.PpdmError]] = {}


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802  # the name that PEP 249 gives it
    """The time of day of a moment in seconds since the epoch."""
    return datetime.datetime.fromtimestamp(ticks).time()


@contextmanager
def as_dbapi() -> Iterator[None]:
    """Raise our errors as members of DB-API's tree too, and damage that DuckDB meets as ours.

    All others pass, without the stack traces of DuckDB's own faults, which have paths in them.
    """
    try:
        yield
    except errors.PpdmError as error:
        if isinstance(error, errors.QueryError) and is_damage(str(error)):
            raise _damaged(str(error)) from None
        if isinstance(error, Error):
            raise
        raise _in_both_trees(type(error))(*error.args).with_traceback(error.__traceback__) from error.__cause__
    except duckdb.Error as error:
        if is_damage(str(error)):
            raise _damaged(str(error)) from None
        if isinstance(error, duckdb.InternalException | duckdb.FatalException):
            raise type(error)(str(error).split("Stack Trace", maxsplit=1)[0].strip()) from None
        raise
    except UnicodeDecodeError:  # DuckDB cuts a value that it quotes anywhere, within a letter too
        raise _in_both_trees(errors.QueryError)(
            "DuckDB refuses a value in the statement, in words that are not UTF-8 text: look for letters where it "
            "expects digits."
        ) from None


def is_damage(message: str) -> bool:
    """Whether DuckDB says that a file is not as it was written."""
    return any(re.match(pattern, message, re.IGNORECASE) for pattern in _DAMAGE)


def _damaged(message: str) -> errors.PpdmError:
    said = message.splitlines()[0][:300].rstrip(".")
    return _in_both_trees(errors.ReleaseError)(f"a file that this reads is damaged ({said}). {errors.AGAIN}")


def _in_both_trees(ours: type[errors.PpdmError]) -> type[errors.PpdmError]:
    """A class of the same name that is also the exception of DB-API for this kind."""
    if ours not in _made:
        theirs = next(theirs for kind, theirs in _KINDS if issubclass(ours, kind))

        def reduce(self: errors.PpdmError) -> tuple[Any, ...]:
            return ours, self.args  # the class made here has no name by which another process could find it

        inside = {"__module__": ours.__module__, "__doc__": ours.__doc__, "__reduce__": reduce}
        _made[ours] = type(ours.__name__, (ours, theirs), inside)
    return _made[ours]
