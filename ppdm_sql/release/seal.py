"""The seal of a Parquet release: digests of its data and of its footer, between the two.

Parquet has checksums of pages, which DuckDB does not look at, and none of the footer, where one flipped bit changes
which rows a reader skips. The seal covers both: whoever reads the release learns that it is not as it was written. It
is no signature, for anybody can make one.

    PAR1, pages | seal: magic, SHA-256 of all before it, SHA-256 of all behind it | footer, its length, PAR1
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, NoReturn

from ppdm_sql.errors import AGAIN, ReleaseError

RELEASE_KEY = "ppdm_release"
"""A key in the metadata of the schema, which Arrow tables keep that are read from a release."""

MAGIC = b"ppdmseal"
MOST_BYTES = 1 << 28
"""Of a file whose data are compared with their digest when it is first read: it takes half a second at most."""

_DIGEST = hashlib.sha256().digest_size
_SEAL = len(MAGIC) + 2 * _DIGEST
_TAIL = 8
_BLOCK = 1 << 20


def seal(path: Path) -> None:
    """Put a seal into a Parquet file that was just written, once."""
    with path.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        footer = _footer(file, size)
        if footer is None:
            raise OSError("what was written is no Parquet file")
        start = size - len(footer)
        data = _digest(file, start)
        file.seek(start)
        file.write(MAGIC + data + hashlib.sha256(footer).digest() + footer)


def is_sealed(path: Path) -> bool:
    """Whether a file was sealed; False also where it is no Parquet file any more."""
    with path.open("rb") as file:
        return _read(file) is not None


def check_seal(path: Path, most: int | None = MOST_BYTES) -> None:
    """Refuse a file that is not as it was sealed; of a larger one than `most` bytes the footer alone is compared."""
    try:
        with path.open("rb") as file:
            found = _read(file)
            if found is None:
                _damaged(path, "it has no seal")
            start, data, footer_digest, footer = found
            if hashlib.sha256(footer).digest() != footer_digest:
                _damaged(path, "its footer is not as it was written")
            if (most is None or start <= most) and _digest(file, start) != data:
                _damaged(path, "its data are not as they were written")
    except OSError as error:
        raise ReleaseError(f"{str(path)!r} cannot be read: {error.strerror or type(error).__name__}.") from None


def _damaged(path: Path, why: str) -> NoReturn:
    raise ReleaseError(f"{str(path)!r} cannot be right: {why}. {AGAIN}")


def _read(file: BinaryIO) -> tuple[int, bytes, bytes, bytes] | None:
    """Where the data end, their digest and the footer's, and the footer."""
    size = file.seek(0, os.SEEK_END)
    footer = _footer(file, size)
    if footer is None or size < len(footer) + _SEAL:
        return None
    start = size - len(footer) - _SEAL
    file.seek(start)
    written = file.read(_SEAL)
    if written[: len(MAGIC)] != MAGIC:
        return None
    return start, written[len(MAGIC) : len(MAGIC) + _DIGEST], written[len(MAGIC) + _DIGEST :], footer


def _footer(file: BinaryIO, size: int) -> bytes | None:
    """The footer with its length and the magic behind it."""
    if size < _TAIL:
        return None
    file.seek(size - _TAIL)
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little") + _TAIL
    if tail[4:] != b"PAR1" or length > size:
        return None
    file.seek(size - length)
    return file.read(length)


def _digest(file: BinaryIO, end: int) -> bytes:
    """Of all bytes before `end`."""
    found, left = hashlib.sha256(), end
    file.seek(0)
    while left:
        block = file.read(min(_BLOCK, left))
        if not block:
            break
        found.update(block)
        left -= len(block)
    return found.digest()
