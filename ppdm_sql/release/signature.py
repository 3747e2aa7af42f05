"""Detached signatures: that a release is, byte for byte, what the holder of a key has published.

Beside `public.parquet` or `public.duckdb` lies a text of five lines, its name with `.sig` at the end::

    ppdm_sql signature 1
    key <the public key>
    bytes <the size of the release>
    sha256 <the digest of all of its bytes>
    ed25519 <the signature of the four lines above>

One design serves both kinds of file. It covers whatever a reader may come upon: rows, manifests, views, comments, free
blocks; no form has to be agreed on in which rows are digested, and no part of a file is left out for somebody to write
to. The release is the same bytes with a signature and without. The price is that all of a file is read once when it is
opened, at the speed of the disk and in little memory, and that whatever changes a database (one more table, a view)
makes its signature void, so that it has to be signed again.

A file may hold a second signature, that of what it is about to take the place of: it is written so before a release is
replaced and without it afterwards, so that at any moment in between, also that of a crash, what is in place is signed.

What is not covered: names (a release may be shown in the place of another one, or of a later one, that the same key
has signed), whether files of a pattern are missing, other files that a query reads, and what is done to the files
between the moment they are verified and the moment they are read by somebody who can write there and hide it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import duckdb

from ppdm_sql.errors import ReleaseError
from ppdm_sql.release.folders import as_pattern
from ppdm_sql.release.signing_keys import Given, public_bytes, public_key
from ppdm_sql.syntax.file_patterns import PATTERN

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ENDING = ".sig"
TITLE = b"ppdm_sql signature "
"""What every version's signatures begin with, and nothing else does."""

MOST = 2
"""Signatures in a file: of a release, and of the one whose place it takes."""

LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")
"""Endings of files beside a database whose changes DuckDB applies when it opens it, for reading only too."""

_SIGNATURE = re.compile(
    rb"ppdm_sql signature 1\nkey ([0-9a-f]{64})\nbytes (0|[1-9][0-9]{0,18})\nsha256 ([0-9a-f]{64})\n"
    rb"ed25519 ([0-9a-f]{128})\n"
)
_LONGEST = 1024
_AGAIN = "Get the release and its signature again from the publisher."

State: TypeAlias = tuple[str, int, int, int, int]
"""A file and what changes with what it holds: name, node, size, times of the last changes of content and of these."""


@dataclass(frozen=True)
class Content:
    """What a signature says of a file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Signature:
    """What the holder of a key says of a file, and the proof; `key` and `proof` are hexadecimal."""

    key: str
    content: Content
    proof: str

    def to_bytes(self) -> bytes:
        """The five lines."""
        return _statement(self.key, self.content) + f"ed25519 {self.proof}\n".encode()

    def holds(self, key: Ed25519PublicKey) -> bool:
        """Whether the holder of the key has made it."""
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - only who verifies needs it

        try:
            key.verify(bytes.fromhex(self.proof), _statement(self.key, self.content))
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True)
class Verified:
    """Files that were verified, and their states then."""

    states: tuple[State, ...]

    @property
    def files(self) -> tuple[Path, ...]:
        """Where they are."""
        return tuple(Path(name) for name, *_ in self.states)

    def check(self) -> None:
        """Refuse files that are not those any more that were verified; it takes no longer than to look for them."""
        for state in self.states:
            path = Path(state[0])
            _check_log(path)
            try:
                same = state_of(path) == state
            except OSError:
                same = False
            if not same:
                raise ReleaseError(
                    f"{state[0]!r} has changed since its signature was verified: connect again, to verify it as it is "
                    "now."
                )


def signature_path(release: Path) -> Path:
    """Where the signature of a release is."""
    return release.with_name(release.name + ENDING)


def sign_content(key: Ed25519PrivateKey, content: Content) -> Signature:
    """The signature of a file; the same for the same content and key."""
    name = public_bytes(key.public_key()).hex()
    return Signature(name, content, key.sign(_statement(name, content)).hex())


def content_of(path: Path) -> Content:
    """Read a whole file, in small parts."""
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return Content(file.tell(), sha256)


def state_of(path: Path) -> State:
    """What tells whether a file may have changed; OSError where there is none."""
    found = path.stat()
    return str(path), found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def parse_signatures(content: bytes) -> tuple[Signature, ...] | None:
    """The signatures in a file, read by the letter; None where it holds anything else."""
    found = list(_SIGNATURE.finditer(content))
    if not 1 <= len(found) <= MOST or sum(len(match[0]) for match in found) != len(content):
        return None
    texts = [[group.decode("ascii") for group in match.groups()] for match in found]
    return tuple(Signature(key, Content(int(size), sha256), proof) for key, size, sha256, proof in texts)


def read_signatures(path: Path) -> bytes | None:
    """What is in a file of signatures, as far as one may go; None where there is no file; OSError as it comes."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(_LONGEST + 1)


def verify_release(path: str, verify: Given) -> Verified:
    """Refuse a release, or any file of a pattern, that the holder of a key has not signed as it is.

    Raises KeyFileError where that is no public key.
    """
    key = public_key(verify)
    return Verified(tuple(_verified(file, key) for file in release_files(path)))


def release_files(path: str) -> list[Path]:
    """The file of a release, or those of a pattern of Parquet files."""
    if "://" in path:
        raise ReleaseError(f"{path!r} is not on this machine, where signatures are made and verified: fetch it first.")
    path = as_pattern(path)
    if not path.lower().endswith(".parquet") or not PATTERN & set(path):
        return [Path(path).absolute()]
    try:
        with duckdb.connect(":memory:") as con:
            found = con.execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()
    except duckdb.Error:
        found = []
    if not found:
        raise ReleaseError(f"{path!r} is not a release: there is no such Parquet file.")
    return [Path(file).absolute() for (file,) in found]


def check_single_name(path: Path) -> None:
    """Refuse a name that means other files too when it is read."""
    if path.suffix.lower() == ".parquet" and PATTERN & set(str(path)):
        raise ReleaseError(f"{str(path)!r} is read as a pattern: rename it, so that neither *, ? nor [ is in its path.")


def _verified(path: Path, key: Ed25519PublicKey) -> State:
    where, signature = str(path), signature_path(path)
    check_single_name(path)
    try:
        if not path.is_file():
            raise ReleaseError(f"there is no file {where!r}.")
        _check_log(path)
        state, written = state_of(path), read_signatures(signature)
        if written is None:
            raise ReleaseError(
                f"{where!r} is not signed: there is no file {signature.name!r} beside it. Get that from the publisher "
                "too."
            )
        found = _of_key(path, parse_signatures(written), key)
        if content_of(path) not in [each.content for each in found]:
            raise ReleaseError(
                f"{where!r} is not what was signed: it was changed or damaged, or {signature.name!r} belongs to "
                f"another release. {_AGAIN} A publisher who has changed it signs it again: ppdm-sql sign."
            )
    except (OSError, ValueError) as error:
        if isinstance(error, ReleaseError):
            raise
        reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not a path"
        raise ReleaseError(f"{where!r} cannot be verified: {reason}.") from None
    return state


def _of_key(path: Path, found: Sequence[Signature] | None, key: Ed25519PublicKey) -> list[Signature]:
    """The signatures of a release that a key has made."""
    signature = repr(str(signature_path(path)))
    if found is None:
        raise ReleaseError(f"{signature} is not a signature of ppdm_sql, or is damaged. {_AGAIN}")
    name = public_bytes(key).hex()
    named = [each for each in found if each.key == name]
    if not named:
        raise ReleaseError(
            f"{str(path)!r} is signed with another key ({found[0].key[:16]}..) than the one to verify it with "
            f"({name[:16]}..). Get the publisher's public key from where you trust that it is, or do not use the "
            "release."
        )
    if not all(each.holds(key) for each in named):
        raise ReleaseError(f"{signature} is damaged or forged: the key that it names has not made it. {_AGAIN}")
    return named


def _check_log(path: Path) -> None:
    """Refuse changes beside a database, which nobody signed, and which DuckDB would show as its own."""
    if path.suffix.lower() == ".parquet":
        return
    for place in {path, Path(os.path.realpath(path))}:
        for ending in LOGS:
            log = place.with_name(place.name + ending)
            if os.path.lexists(log):
                raise ReleaseError(
                    f"{str(log)!r} holds changes of the release that are not in its file, and are not signed. Remove "
                    "it; a publisher opens the release once, so that they become part of it, and signs it again."
                )


def _statement(key: str, content: Content) -> bytes:
    """What is signed: the first four lines."""
    return f"ppdm_sql signature 1\nkey {key}\nbytes {content.size}\nsha256 {content.sha256}\n".encode()
