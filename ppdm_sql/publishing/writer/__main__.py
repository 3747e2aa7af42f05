"""Do what the owner's commands say, one JSON object a line, until the input ends.

A command is `{"do": name, ..}`; `rows` and `rest` are followed by an Arrow stream. Each gets a reply,
`{"done": value}`; the reply to the first that fails, `{"error": text}`, is the last.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ppdm_sql.errors import PpdmError, TargetError
from ppdm_sql.publishing.locking import remove_aside

if TYPE_CHECKING:
    from ppdm_sql.publishing.writer.duckdb_file import DuckdbFile
    from ppdm_sql.publishing.writer.parquet_file import ParquetFile

_UNUSED = ("numpy", "pandas", "polars", "cloudpickle")
"""What DuckDB and Arrow would load, though nothing here needs it: that takes longer than to write a small table."""
_BUFFER = 1 << 20


def main() -> None:
    """Serve one owner."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the owner hears it too, and decides
    modules: dict[str, Any] = sys.modules
    for name in _UNUSED:
        modules.setdefault(name, None)  # which the import system reads as: not there
    replies = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever a library prints is no reply
    with os.fdopen(0, "rb", _BUFFER) as commands:
        _serve(commands, replies)
    os._exit(0)  # the file is closed; to take an interpreter down in order takes longer than to write a small table


def _serve(commands: IO[bytes], replies: IO[str]) -> None:
    file: DuckdbFile | ParquetFile | None = None
    aside: Path | None = None
    try:
        while (line := commands.readline()).endswith(b"\n"):
            words = json.loads(line)
            if words["do"] == "open":
                aside = Path(words["aside"])
            file, value = _do(words, file, commands)
            _reply(replies, {"done": value})
    except Exception as error:
        _reply(replies, {"error": str(_told(error))})
    finally:
        if file is not None:
            file.close()
        if aside is not None:
            remove_aside(aside)


def _do(
    words: dict[str, Any], file: DuckdbFile | ParquetFile | None, commands: IO[bytes]
) -> tuple[DuckdbFile | ParquetFile, Any]:
    import pyarrow as pa  # noqa: PLC0415 - after what it would load has been ruled out

    do = words.pop("do")
    if do == "open":
        return _opened(words), None
    assert file is not None
    if do == "types":
        return file, file.types(pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(words["schema"]))))
    if do in ("rows", "rest"):
        with pa.ipc.open_stream(commands) as stream:
            (file.write if do == "rows" else file.write_rest)(stream, **words)
        return file, None
    assert do == "finish"
    return file, str(file.finish(**words))


def _opened(words: dict[str, Any]) -> DuckdbFile | ParquetFile:
    if words.pop("kind") == "duckdb":
        from ppdm_sql.publishing.writer.duckdb_file import DuckdbFile  # noqa: PLC0415

        return DuckdbFile(**words)
    from ppdm_sql.publishing.writer.parquet_file import ParquetFile  # noqa: PLC0415

    return ParquetFile(**words)


def _told(error: Exception) -> PpdmError:
    """An error of ours as it is; any other one by its class only, for its text may quote a value."""
    if isinstance(error, PpdmError):
        return error
    return TargetError(f"the release cannot be written ({type(error).__name__}).")


def _reply(replies: IO[str], words: dict[str, Any]) -> None:
    try:
        replies.write(json.dumps(words) + "\n")
        replies.flush()
    except OSError:  # nobody listens any more, and the input has ended or is about to
        return


if __name__ == "__main__":
    main()
