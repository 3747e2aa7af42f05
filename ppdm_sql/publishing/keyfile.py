"""The publisher's secret key: a small text file that only its owner may read.

All randomness of a release is a function of it. It is never shown: not in messages, not in a release. It is never
deleted or written over either: what was published with it could not be published again.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ppdm_sql.errors import KeyFileError, PpdmError
from ppdm_sql.publishing.locking import (
    aside_path,
    exclusive,
    has_leftovers,
    lock_path,
    remove,
    remove_leftovers,
    sync_folder,
    write_all,
)
from ppdm_sql.release.signing_keys import BEGIN

KEY_BYTES = 32
HEADER = "# ppdm_sql key: keep it secret and keep it safe; whoever has it can undo the perturbation"
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_LONGEST = 4096  # a key file is two lines; more than this is some other file


def create_key(path: str | Path) -> bytes:
    """Write a fresh key that only its owner may read; refuse where anything is already there."""
    path = Path(path)
    key = secrets.token_bytes(KEY_BYTES)
    if not place(path, _text(key)):
        raise KeyFileError(
            f"key {str(path)!r} exists already and is not overwritten: whatever was published with it could never be "
            "published again. Choose another name, or use it as it is."
        )
    return key


def load_key(path: str | Path) -> bytes:
    """The key in a file; a fresh one is written where there is no such file."""
    return _load(Path(path))[0]


@contextmanager
def key_in(path: Path) -> Iterator[bytes]:
    """The key in a file, made where there is none.

    It stays whatever happens: another publication may have read it, and a release may be out that was made with it.
    """
    secret, fresh = _load(path)
    try:
        yield secret
    except PpdmError as error:
        if fresh:
            error.add_note(f"The key {str(path)!r} was made for this and stays: use it when you try again.")
        raise


def _load(path: Path) -> tuple[bytes, bool]:
    """The key, and whether it was made just now; of several that make one at once, all get the first one's."""
    with suppress(FileNotFoundError):
        found = read_key(path)
        _tidy(path)
        return found, False
    key = secrets.token_bytes(KEY_BYTES)
    if place(path, _text(key)):
        return key, True
    with suppress(FileNotFoundError):
        return read_key(path), False
    raise KeyFileError(f"key {str(path)!r} is a link to nothing, or was removed just now: name another file.")


def place(path: Path, content: bytes, mode: int = 0o600) -> bool:
    """Write a key beside its place, and give it its name when the disk has it; False where there is something already.

    A kill at any time leaves a whole key or none.
    """
    try:
        if os.path.lexists(path):
            return False
        with exclusive(lock_path(path), f"key {str(path)!r}", KeyFileError):
            remove_leftovers(path)
            aside = aside_path(path)
            try:
                _write(aside, content, mode)
                placed = _name(aside, path)
            finally:
                remove(aside)
            sync_folder(path.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, KeyFileError):
            raise
        raise KeyFileError(f"key {str(path)!r} cannot be written: {_reason(error)}.") from None
    return placed


def _tidy(path: Path) -> None:
    """Remove what a kill left beside a key that it had given its name to: another name of the same secret."""
    if has_leftovers(path):
        with suppress(KeyFileError), exclusive(lock_path(path), f"key {str(path)!r}", KeyFileError):
            remove_leftovers(path)  # where nothing may be written there, it stays as safe as the key itself


def _text(key: bytes) -> bytes:
    return f"{HEADER}\n{key.hex()}\n".encode("ascii")


def _write(path: Path, content: bytes, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)  # the mode is set before the first byte
    try:
        write_all(handle, content)
        os.fsync(handle)
    finally:
        os.close(handle)


def _name(aside: Path, path: Path) -> bool:
    """Give a file its name; False where that is taken, which a link, unlike a renaming, never overwrites."""
    try:
        os.link(aside, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(path):
            return False
        aside.rename(path)  # the lock keeps others from making one meanwhile
    return True


def read_key(path: Path) -> bytes:
    """The key in an existing file; FileNotFoundError where there is none."""
    try:
        with path.open("rb") as file:
            check_mode(path, os.fstat(file.fileno()).st_mode)
            content = file.read(_LONGEST + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, KeyFileError):
            raise
        raise KeyFileError(f"key {str(path)!r} cannot be read: {_reason(error)}.") from None
    key = _parse(content)
    if key is None and BEGIN in content:
        raise KeyFileError(
            f"{str(path)!r} is a key of signatures, or of something else, and not one that perturbs: a signing key is "
            "given as sign (--sign). Make a key that perturbs with ppdm-sql keygen."
        )
    if key is None:
        what = f"it holds no key of {KEY_BYTES} bytes" if content.strip() else "it is empty"
        raise KeyFileError(
            f"{str(path)!r} is not a key file: {what}. Where something was published with it, restore it from a copy; "
            "else make one with ppdm-sql keygen, or name a file that does not exist yet."
        )
    return key


def check_mode(path: Path, mode: int) -> None:
    """Refuse a secret that others may read."""
    if os.name != "nt" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise KeyFileError(f"key {str(path)!r} may be read by others than its owner. Run: chmod 600 {path}")


def _parse(content: bytes) -> bytes | None:
    """The key, or None; never an exception, whose text could quote the file."""
    if len(content) > _LONGEST:
        return None
    lines = [line.strip() for line in content.split(b"\n")]
    words = [line for line in lines if line and not line.startswith(b"#")]
    try:
        key = bytes.fromhex(words[0].decode("ascii")) if len(words) == 1 else b""
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not a path"
