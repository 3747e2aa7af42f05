"""Files that outlive a crash, and locks that do not.

A lock is the operating system's, on an open file: it goes with the process that holds it, however that ends, so that a
dead process blocks nobody. On systems without such locks (Windows) two publications in the same instant may overlook
each other, and what a dead one left is not cleaned up, for it cannot be told from what a live one needs.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ppdm_sql.errors import PpdmError, Waiting

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]

PATIENCE = 600.0
"""Seconds after which waiting for somebody else's lock ends in an error."""
_SILENCE = 0.5  # seconds that may pass before anybody is told
_POLL = 0.02
_TOKEN = "[0-9a-f]{12}"  # noqa: S105 - the part of a name that makes it unique


@contextmanager
def exclusive(path: Path, what: str, refused: type[PpdmError]) -> Iterator[int]:
    """Hold the lock on a file, made where there is none, and have it open; where it is empty in the end, it is removed.

    Whoever has to wait for `what` is told so once. Raises `refused` where the lock cannot be had, or not in PATIENCE.
    """
    try:
        handle = _acquire(path, what)
    except OSError as error:
        raise refused(f"{what} cannot be written: {error.strerror}.") from None
    try:
        yield handle
    finally:
        # While the lock is held: whoever got hold of a file that is removed sees that, and makes another.
        if os.fstat(handle).st_size == 0:
            with suppress(OSError):
                path.unlink()
        os.close(handle)


def _acquire(path: Path, what: str) -> int:
    begun, told = time.monotonic(), False
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            free = _lock(handle)
            if free and _is_at(handle, path):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if free:
            continue
        if time.monotonic() - begun > PATIENCE:
            raise OSError(errno.EBUSY, f"another publication has been at work there for {PATIENCE:.0f} seconds")
        if not told and time.monotonic() - begun > _SILENCE:
            warnings.warn(Waiting(f"{what}: another publication is at work there; waiting for it."), stacklevel=2)
            told = True
        time.sleep(_POLL)


def _lock(handle: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return fcntl is None or os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def lock_path(path: Path) -> Path:
    """The file whose lock stands for all work on `path`."""
    return path.with_name(f".{path.name}.lock")


def aside_path(path: Path) -> Path:
    """A new name beside `path`, for what is renamed to it when it is whole."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")


def remove_leftovers(path: Path) -> None:
    """Remove what dead publications left under names of `aside_path`; for who holds the lock of `path`."""
    if fcntl is not None:
        for leftover in _named(path.parent, _aside_names(path)):
            remove(leftover)


def has_leftovers(path: Path) -> bool:
    """Whether somebody works on `path`, or has left without tidying up."""
    return fcntl is not None and (lock_path(path).exists() or bool(_named(path.parent, _aside_names(path))))


def remove_aside(aside: Path) -> None:
    """Remove a file written aside, and what has its name with more at the end."""
    for found in _named(aside.parent, rf"{re.escape(aside.name)}(\..+)?"):
        remove(found)


def _aside_names(path: Path) -> str:
    return rf"\.{re.escape(path.name)}\.{_TOKEN}\.tmp(\..+)?"


def _named(folder: Path, pattern: str) -> list[Path]:
    """What has a name of that pattern in a folder; nothing where that cannot be read."""
    known = re.compile(pattern, re.DOTALL)
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if known.fullmatch(entry.name)]
    except OSError:
        return []


def remove(path: Path) -> None:
    """Remove a file or a folder, if it can be."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_all(handle: int, data: bytes) -> None:
    """Write every byte; a system call may write fewer."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_file(path: Path) -> None:
    """Wait until the disk has what was written to a file: a rename must not overtake what it renames."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that keep names safe by themselves
            raise
    finally:
        os.close(handle)
