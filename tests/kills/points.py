"""Run publications that something happens to at a chosen change of a file.

A process that has loaded everything waits for orders and forks for each, so that a kill costs what a publication costs,
not what Python's start does. Under it is `shim.c`, which sees every change of every process, or, where that cannot be
compiled, `hooks.py`, which sees those that the publisher's own Python makes.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
BEFORE, AFTER, TORN, FULL_ONCE, FULL, INTERRUPT = range(1, 7)
ALL, SELF, OTHERS = range(1, 4)
HOW = {
    BEFORE: "killed before",
    AFTER: "killed after",
    TORN: "killed amid",
    FULL_ONCE: "disk full at",
    FULL: "disk full from",
    INTERRUPT: "interrupted at",
}
WHO = {ALL: "all processes", SELF: "the process that makes it", OTHERS: "the other processes"}
ENDED, REFUSED, FAILED, INTERRUPTED = 0, 2, 3, 4
_STATE = struct.Struct("=qqqiii16i1024s1024s")
_PATIENCE = 60.0
_SUBREAPER = 36  # of prctl: orphans become children of this process


@dataclass(frozen=True)
class Order:
    """What is to be published where, and what is to happen at which change; at 0, nothing."""

    scenario: str
    folder: str
    at: int = 0
    how: int = 0
    who: int = ALL
    log: str = ""


@dataclass(frozen=True)
class Outcome:
    """How publications ended: their exit codes (below 0: killed) and their words; whether a process was left over."""

    codes: list[int]
    said: list[str]
    left: bool


def compiled(folder: Path) -> Path | None:
    """The shim, None where it cannot be made."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        return None
    path = folder / "shim.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(path), str(HERE / "shim.c"), "-ldl"]
    done = subprocess.run(command, capture_output=True, check=False)
    return path if done.returncode == 0 else None


class Server:
    """The waiting process."""

    def __init__(self, shim: Path | None, space: Path) -> None:
        state = space / "state"
        state.write_bytes(bytes(_STATE.size))
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path]), "OMP_NUM_THREADS": "1"}
        if shim is not None:
            settings |= {"LD_PRELOAD": str(shim), "LD_KILLS_STATE": str(state)}
        command = [sys.executable, "-m", "kills.points", str(state) if shim is not None else ""]
        self._process = subprocess.Popen(
            command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, order: Order) -> Outcome:
        """The publications of one scenario."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order.__dict__) + "\n")
        self._process.stdin.flush()
        return Outcome(**json.loads(self._process.stdout.readline()))

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def serve(path: str) -> None:
    """Obey, line by line; `path` has the shim's state, and is empty where hooks stand in for it."""
    from kills.scenarios import SCENARIOS

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    state = _shared(path) if path else None
    for line in sys.stdin:
        order = Order(**json.loads(line))
        begin, go = os.pipe()
        running = [_fork(step.run, order, begin, first=i == 0, hooked=state is None)
                   for i, step in enumerate(SCENARIOS[order.scenario].steps)]  # fmt: skip
        if state is not None:
            names = (order.folder.encode(), order.log.encode())
            state[:] = _STATE.pack(0, order.at, running[0][0], order.how, order.who, 0, *[0] * 16, *names)
        os.write(go, b"!" * len(running))
        codes, said = [], []
        for child, reading in running:
            with os.fdopen(reading, "rb") as words:
                said.append(words.read().decode())
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        left = _wait_for_orphans()
        os.close(begin)
        os.close(go)
        if state is not None:
            state[:] = bytes(_STATE.size)
        print(json.dumps(Outcome(codes, said, left).__dict__), flush=True)


def _shared(path: str) -> mmap.mmap:
    with Path(path).open("r+b") as file:
        return mmap.mmap(file.fileno(), _STATE.size)


def _fork(run: Callable[..., Any], order: Order, begin: int, *, first: bool, hooked: bool) -> tuple[int, int]:
    """A process that waits for its beginning, and where to read what it says."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.read(begin, 1)
        os.dup2(2, 1)
        _publish(run, order, writing, hooked=hooked and first)
    os.close(writing)
    return child, reading


def _publish(run: Callable[..., Any], order: Order, writing: int, *, hooked: bool) -> None:
    from kills.hooks import install
    from ppdm_sql.errors import PpdmError

    signal.signal(signal.SIGINT, signal.default_int_handler)
    warnings.simplefilter("ignore")
    code, said = ENDED, ""
    try:
        if hooked:
            install(order)
        run(Path(order.folder))
    except PpdmError as error:
        code, said = REFUSED, str(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BaseException:
        code, said = FAILED, traceback.format_exc()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.write(writing, said.encode())
    os._exit(code)


def _wait_for_orphans() -> bool:
    """Writers whose owner died end by themselves; whether one does not."""
    limit = time.monotonic() + _PATIENCE
    while time.monotonic() < limit:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.005)
        except ChildProcessError:
            return False
    return True


if __name__ == "__main__":
    serve(sys.argv[1])
