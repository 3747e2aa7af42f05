"""What `shim.c` does, for the changes of files that the publisher's Python makes: no compiler is needed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kills.points import AFTER, ALL, BEFORE, FULL, FULL_ONCE, INTERRUPT, OTHERS, SELF, TORN, Order

_CALLS = ("write", "fsync", "ftruncate", "replace", "rename", "link", "unlink", "open")
_NAMES = {"replace": "rename", "ftruncate": "truncate"}  # as the shim calls them
_KEPT = ("unlink", "replace", "rename")  # they need no space


class Hooks:
    """Counts the calls that change a file in the order's folder."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._count = 0
        self._writers: list[int] = []
        self._real: dict[str, Callable[..., Any]] = {name: getattr(os, name) for name in _CALLS}

    def install(self) -> None:
        """From now on, for the rest of this process."""
        for name in _CALLS:
            setattr(os, name, self._counting(name))
        begin = subprocess.Popen.__init__

        def begun(process: subprocess.Popen[bytes], *args: Any, **more: Any) -> None:
            begin(process, *args, **more)
            self._writers.append(process.pid)

        subprocess.Popen.__init__ = begun  # type: ignore[method-assign]

    def _counting(self, name: str) -> Callable[..., Any]:
        real = self._real[name]

        def call(*args: Any, **more: Any) -> Any:
            path = self._changed(name, args)
            how = 0 if path is None else self._reached(name, path)
            if how in (FULL_ONCE, FULL):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if how == TORN and name == "write" and self._order.who != OTHERS:
                real(args[0], args[1][: len(args[1]) // 2])
                self._strike()
            result = real(*args, **more)
            if how in (AFTER, TORN):
                self._strike()
            return result

        return call

    def _changed(self, name: str, args: tuple[Any, ...]) -> str | None:
        """The file that a call changes, None where that is none of ours."""
        if name == "open" and (not args[1] & os.O_CREAT or os.path.lexists(args[0])):
            return None
        place = args[1] if name in ("replace", "rename", "link") else args[0]
        path = str(Path(f"/proc/self/fd/{place}").readlink()) if isinstance(place, int) else os.fspath(place)
        return path if path.startswith(self._order.folder) else None

    def _reached(self, name: str, path: str) -> int:
        order = self._order
        self._count += 1
        if order.log:
            log = self._real["open"](order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            self._real["write"](log, f"{self._count} 1 {_NAMES.get(name, name)} {path}\n".encode())
            os.close(log)
        if order.how == FULL:
            return FULL if 0 < order.at <= self._count and name not in _KEPT else 0
        if self._count != order.at:
            return 0
        if order.how == BEFORE:
            self._strike()
        elif order.how == INTERRUPT:
            os.kill(os.getpid(), signal.SIGINT)
        else:
            return order.how
        return 0

    def _strike(self) -> None:
        if self._order.who in (ALL, OTHERS):
            for writer in self._writers:
                os.kill(writer, signal.SIGKILL)
        if self._order.who in (ALL, SELF):
            os.kill(os.getpid(), signal.SIGKILL)


def install(order: Order) -> None:
    """Let what the order says happen in this process."""
    Hooks(order).install()
