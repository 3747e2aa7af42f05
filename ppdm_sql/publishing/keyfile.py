"""The publisher's secret key: a small text file that only its owner may read.

All randomness of a release is a function of it. It is never shown: not in messages, not in a release.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ppdm_sql.errors import KeyFileError

KEY_BYTES = 32
HEADER = "# ppdm_sql key: keep it secret and keep it safe; whoever has it can undo the perturbation"
_LONGEST = 4096  # a key file is two lines; more than this is some other file


def create_key(path: str | Path) -> bytes:
    """Write a fresh key that only its owner may read; refuse where anything is already there."""
    path = Path(path)
    key = secrets.token_bytes(KEY_BYTES)
    try:
        # O_EXCL: of two that create at once, one fails; the mode is set before the first byte is written.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise KeyFileError(
            f"key {str(path)!r} exists already and is not overwritten: whatever was published with it could never be "
            "published again. Choose another name, or use it as it is."
        ) from None
    except (OSError, ValueError) as error:
        raise KeyFileError(f"key {str(path)!r} cannot be written: {_reason(error)}.") from None
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(f"{HEADER}\n{key.hex()}\n")
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        remove_key(path)
        raise
    return key


def load_key(path: str | Path) -> bytes:
    """The key in a file; a fresh one is written where there is no such file."""
    path = Path(path)
    try:
        return read_key(path)
    except FileNotFoundError:
        pass
    return create_key(path)


@contextmanager
def key_in(path: Path) -> Iterator[bytes]:
    """The key in a file, made where there is none; a file made for a publication that failed is taken back."""
    try:
        secret = read_key(path)
    except FileNotFoundError:
        made = True
    else:
        made = False
    # Out of the handler, for an exception remembers the one it was raised in.
    secret = create_key(path) if made else secret
    try:
        yield secret
    except BaseException:
        if made:
            remove_key(path)
        raise


def read_key(path: Path) -> bytes:
    """The key in an existing file; FileNotFoundError where there is none."""
    try:
        with path.open("rb") as file:
            _check_mode(path, os.fstat(file.fileno()).st_mode)
            content = file.read(_LONGEST + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        if isinstance(error, KeyFileError):
            raise
        raise KeyFileError(f"key {str(path)!r} cannot be read: {_reason(error)}.") from None
    key = _parse(content)
    if key is None:
        raise KeyFileError(
            f"{str(path)!r} is not a key file: it holds no key of {KEY_BYTES} bytes. Make one with ppdm-sql keygen, or "
            "name a file that does not exist yet."
        )
    return key


def remove_key(path: Path) -> None:
    """Take back a key that nothing was published with."""
    with suppress(OSError):
        path.unlink()


def _check_mode(path: Path, mode: int) -> None:
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
