"""Read without repeating what was read: the text of a reader's error may quote a cell of the original."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow as pa

from ppdm_sql.errors import PpdmError, SourceError

Result = TypeVar("Result")

_REMEDIES = {
    "ConversionException": "a value does not fit the type of its column. Clean it, or pass (connection, query) with a "
    "query that casts",
    "InvalidInputException": "a part of it is not what the rest promised. Check that the file is whole and of one "
    "layout, or pass (connection, query) with a query that reads it",
    "OutOfMemoryException": "the query needs more memory than was allowed. Materialise it first, or read a file",
    "CatalogException": "a table, column or function is not there",
    "BinderException": "a table, column or function is not there, or the files differ in their columns",
    "IOException": "the file cannot be opened, is damaged, or is open elsewhere. Close other connections to it",
    "ConnectionException": "the file is open in this process with other settings. Close that connection, or pass it as "
    "(connection, query)",
    "ResourceInUseException": "its connection has a result whose rows were not all fetched. Fetch them, or close it",
}
_KINDS = {
    "Conversion": "ConversionException",
    "Invalid Input": "InvalidInputException",
    "Out of Memory": "OutOfMemoryException",
    "IO": "IOException",
}
INTERRUPTED = "Query interrupted"
"""What DuckDB says where it hears Ctrl-C before Python does."""
_ANY_REMEDY = "check that it can be read from end to end"


def guarded(where: str, action: Callable[[], Result]) -> Result:
    """Run an action on the source; its errors are named by class and place only.

    The SourceError is raised outside of the handler, for an exception remembers the one it was raised in.
    """
    try:
        return action()
    except PpdmError:
        raise
    except Exception as error:
        name = _kind(error)
        stopped = isinstance(error, RuntimeError) and str(error) == INTERRUPTED
    if stopped:
        raise KeyboardInterrupt
    raise SourceError(f"{where} cannot be read: {_REMEDIES.get(name, _ANY_REMEDY)} ({name}).")


def _kind(error: Exception) -> str:
    """The error's class; a stream wraps DuckDB's own into a general one, whose text begins with the kind."""
    text = str(error)[:200]
    for word, kind in _KINDS.items():
        if f"{word} Error" in text:
            return kind
    return type(error).__name__


def batches_of(where: str, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of a reader, in order, empty ones left out."""
    rows = 0

    def following() -> Any:
        return next(reader, None)

    while True:
        batch = guarded(f"{where}, after row {rows:,}," if rows else where, following)
        if batch is None:
            return
        rows += batch.num_rows
        if batch.num_rows:
            yield batch
