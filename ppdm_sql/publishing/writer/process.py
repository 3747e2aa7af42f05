"""The owner's side of the process that writes a release."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import pyarrow as pa

from ppdm_sql.errors import TargetError
from ppdm_sql.publishing.in_order import InOrder, comparable
from ppdm_sql.publishing.pipeline import Batches
from ppdm_sql.publishing.writer.hidden import plain_schema, without_hidden

MODULE = "ppdm_sql.publishing.writer"
# What an interpreter needs of its surroundings; everything else, passwords among it, is none of a writer's business.
_VARIABLES = ("PATH", "HOME", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "VIRTUAL_ENV", "CONDA_PREFIX")
_PREFIXES = ("PYTHON", "LC_", "LD_", "DYLD_")
_BUFFER = 1 << 20
_PATIENCE = 60.0  # seconds for a process that has nothing left to do


class WriterProcess:
    """A writer that has been started; it ends with `close`, or with the process that owns it."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._waiting = 0  # replies
        self._open = False
        self._process = _started(where)

    def __enter__(self) -> WriterProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, kind: str, **words: Any) -> None:
        """Say what is to be written; whether that works is known when the next thing is asked."""
        self._open = True
        self._send("open", kind=kind, where=self._where, **words)

    def ask(self, do: str, **words: Any) -> Any:
        """Send a command and wait for what it gives."""
        self._send(do, **words)
        value = None
        while self._waiting:
            value = self._reply()
            self._waiting -= 1
        return value

    def send_rows(self, schema: pa.Schema, batches: Batches, order: Sequence[str], **words: Any) -> None:
        """Send all rows, to be sorted where they are not in order; what came of it is known when one asks again."""
        if not order or not comparable(schema, order):
            self._send_stream("rows", schema, batches, order=order, **words)
            return
        kept = InOrder(batches, order)
        begun = iter(kept)
        first = next(begun, None)
        if kept.rest is None:
            self._send_stream("rows", schema, chain([] if first is None else [first], begun), order=[], **words)
        if kept.rest is not None:
            self._send_stream("rows" if first is None else "rest", schema, kept.rest, order=order, **words)

    def _send_stream(self, do: str, schema: pa.Schema, batches: Batches, **words: Any) -> None:
        self._send(do, **words)
        commands = self._process.stdin
        schema = plain_schema(schema)
        try:
            with pa.ipc.new_stream(commands, schema) as stream:
                for batch in batches:
                    arrays = [without_hidden(array) for array in batch.columns]
                    stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            assert commands is not None
            commands.flush()
        except BrokenPipeError:
            reason = None
        except pa.ArrowException as error:
            reason = type(error).__name__
        else:
            return
        if reason is None:
            self._fail()
        self.kill()  # it waits for rows that will not come
        raise TargetError(f"{self._where} cannot be written: a column's values do not fit its type ({reason}).")

    def kill(self) -> None:
        """End it at once, whatever it is doing; what it has written is not a release."""
        self._process.kill()

    def close(self) -> None:
        """End it."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        if self._waiting or not self._open:  # it is in the middle of something that nobody wants any more
            process.kill()
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def _send(self, do: str, **words: Any) -> None:
        assert self._process.stdin is not None
        self._waiting += 1
        try:
            self._process.stdin.write(json.dumps({"do": do, **words}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            broken = True
        else:
            broken = False
        if broken:
            self._fail()

    def _reply(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise TargetError(self._ended())
        words = json.loads(line)
        if "error" in words:
            raise TargetError(words["error"])
        return words["done"]

    def _fail(self) -> None:
        """It hears nothing any more: raise what it said last, or how it ended."""
        while True:
            self._reply()

    def _ended(self) -> str:
        code = self._process.wait()
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace").strip().splitlines()
        how = f"it ended with code {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"{signal.Signals(-code).name} ended it"
        last = f", and said: {said[-1]}" if said else ""
        return (
            f"{self._where} cannot be written: the process that writes it is gone ({how}{last}). Check the memory that "
            "is free, and try again."
        )


def _started(where: str) -> subprocess.Popen[bytes]:
    """A new interpreter that finds the modules that this one finds, and inherits nothing else."""
    kept = {name: value for name, value in os.environ.items() if name in _VARIABLES or name.startswith(_PREFIXES)}
    path = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)  # noqa: PTH100 - "" is where we are
    command = [sys.executable, "-P", "-m", MODULE]
    try:
        return subprocess.Popen(  # noqa: S603 - our own module
            command,
            bufsize=_BUFFER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**kept, "PYTHONPATH": path},
            start_new_session=True,  # an interrupt at the terminal is for the owner
        )
    except OSError as error:
        reason = error.strerror or type(error).__name__
    raise TargetError(
        f"{where} cannot be written: {sys.executable!r}, which is to write it, does not start ({reason})."
    )
