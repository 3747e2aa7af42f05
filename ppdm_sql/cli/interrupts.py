"""Ctrl-C while DuckDB works: its Python package looks for signals now and then, and on some queries never."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def heard_by(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` from another thread as soon as Ctrl-C is pressed.

    Python's own handler has to wait until the engine returns. Its wakeup socket is written to at once.
    """
    if threading.current_thread() is not threading.main_thread():  # signals go to the main thread only
        yield
        return
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    listener = threading.Thread(target=_listen, args=(receiver, interrupt), daemon=True)
    before = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        sender.close()
        listener.join()
        receiver.close()


def _listen(receiver: socket.socket, interrupt: Callable[[], None]) -> None:
    while number := receiver.recv(1):
        if number[0] == signal.SIGINT:
            interrupt()
