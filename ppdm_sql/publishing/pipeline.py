"""Read, perturb and write at the same time, one batch each, in order, with a bounded number of batches in memory."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

import pyarrow as pa

Batches: TypeAlias = Iterator[pa.RecordBatch]

DEPTH = 2
"""Batches that wait between two steps."""
_POLL = 0.1  # seconds after which a waiting step looks whether the other one still works


class Stopped(Exception):
    """Another step failed, which has the error to show."""


class BoundedQueue:
    """A bounded queue between two threads that either end can shut."""

    def __init__(self) -> None:
        self._queue: queue.Queue[pa.RecordBatch | None] = queue.Queue(DEPTH)
        self._shut = threading.Event()

    def put(self, batch: pa.RecordBatch | None) -> None:
        """Hand over a batch, or None as the end."""
        while not self._shut.is_set():
            with suppress(queue.Full):
                self._queue.put(batch, timeout=_POLL)
                return
        raise Stopped

    def shut(self) -> None:
        """Nothing more is wanted, or nothing more will come."""
        self._shut.set()

    def __iter__(self) -> Batches:
        while True:
            try:
                batch = self._queue.get(timeout=_POLL)
            except queue.Empty:
                if self._shut.is_set():
                    raise Stopped from None
                continue
            if batch is None:
                return
            yield batch


class Step:
    """Work in a thread of its own."""

    def __init__(self, work: Callable[[], None], failed: Callable[[], None]) -> None:
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work, failed), name="ppdm-publish", daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], None], failed: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error
            failed()

    def wait(self) -> None:
        """Until the work has ended, one way or the other."""
        while self._thread.is_alive():
            self._thread.join(_POLL)  # a join without end would not hear an interrupt on every system

    def check(self) -> None:
        """Raise what the work raised."""
        if self._error is not None and not isinstance(self._error, Stopped):
            raise self._error


def run(
    read: Batches,
    change: Callable[[pa.RecordBatch], pa.RecordBatch],
    write: Callable[[Batches], None],
    abandon: Callable[[], None] = lambda: None,
) -> None:
    """Pass every batch of `read` through `change` to `write`, and call `abandon` where that fails.

    `change` runs in the caller's thread, so that an interrupt arrives between two batches. Whatever fails, all threads
    have ended when this returns. An error of reading or changing goes before one of writing, which it causes.
    """
    incoming, outgoing = BoundedQueue(), BoundedQueue()
    reader = Step(lambda: _pour(read, incoming), incoming.shut)
    writer = Step(lambda: write(iter(outgoing)), outgoing.shut)
    whole = False
    try:
        with suppress(Stopped):
            for batch in incoming:
                outgoing.put(change(batch))
            outgoing.put(None)
            writer.wait()
            whole = True
    finally:
        incoming.shut()
        outgoing.shut()
        if not whole:
            abandon()  # or a writer that is busy would be waited for
        reader.wait()
        writer.wait()
    reader.check()
    writer.check()


def _pour(batches: Batches, hose: BoundedQueue) -> None:
    for batch in batches:
        hose.put(batch)
    hose.put(None)


@contextmanager
def ahead(batches: Batches) -> Iterator[Batches]:
    """The batches, each made in another thread while the one before it is used."""
    hose = BoundedQueue()
    reader = Step(lambda: _pour(batches, hose), hose.shut)
    try:
        yield iter(hose)
    finally:
        hose.shut()
        reader.wait()
        reader.check()
