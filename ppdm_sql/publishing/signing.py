"""The signature of a release, put in place together with it.

A signature that fits what is about to be renamed into place is written first, and with it the one that fits what is
still there: whatever ends the publication, what is in place is signed, unless it was not before. The old signature
goes when it is not needed any more. `release/signature.py` says what is signed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ppdm_sql.engine.duckdb.release_files import manifests
from ppdm_sql.errors import TargetError
from ppdm_sql.policy import Manifest
from ppdm_sql.publishing.locking import (
    aside_path,
    exclusive,
    lock_path,
    remove,
    remove_leftovers,
    sync_folder,
    write_all,
)
from ppdm_sql.publishing.signing_key import SigningKey, read_signing_key
from ppdm_sql.publishing.writing import writing
from ppdm_sql.release.signature import (
    TITLE,
    Signature,
    State,
    check_single_name,
    content_of,
    parse_signatures,
    read_signatures,
    release_files,
    sign_content,
    signature_path,
    state_of,
)

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


class TargetSignature:
    """The signature of one publication; without a key there is none, and none may be there."""

    def __init__(self, target: Path, key: Ed25519PrivateKey | None) -> None:
        self._target = target
        self._key = key
        self._path = signature_path(target)
        self._where = f"signature {str(self._path)!r}"
        self._before: bytes | None = None  # the file
        self._there: tuple[Signature, ...] = ()  # those in it that the target has now
        self._state: State | None = None
        self._new: Signature | None = None
        self.look()

    def look(self) -> None:
        """See what is there; again when the target is locked, and before anything of it is copied."""
        if self._path.is_dir():
            raise TargetError(f"{self._where} is a directory: move it, or name another target.")
        self._before = writing(self._where, lambda: read_signatures(self._path))
        ours = self._before is not None and (self._before.startswith(TITLE) or not self._before.strip(b"\0"))
        if self._key is None:
            if ours:
                raise TargetError(
                    f"target {str(self._target)!r} is signed, by {self._path.name!r} beside it: sign what takes its "
                    "place, sign = 'publisher.sign' (--sign), or remove the signature first."
                )
            return
        if os.path.lexists(self._path) and not ours:
            raise TargetError(
                f"{self._where} is there, and is no signature of ppdm_sql: move it, or name another target."
            )

    def compare(self) -> None:
        """See which signature the target has; it is read for that, as a whole, where there is one."""
        if self._key is None or not self._target.is_file():
            return
        self._state = state_of(self._target)
        signatures = parse_signatures(self._before or b"") or ()
        if signatures:
            content = writing(f"target {str(self._target)!r}", lambda: content_of(self._target))
            self._there = tuple(each for each in signatures if each.content == content)

    def check_kept(self, kept: bool) -> None:
        """Refuse to sign what others may have changed: tables and views that are in the target, and stay in it."""
        if self._key is None or not kept:
            self._state = None
            return
        public = self._key.public_key()
        if not any(each.holds(public) for each in self._there):
            raise TargetError(
                f"target {str(self._target)!r} has other tables or views, which this key has not signed as they are: "
                "the signature would vouch for them too. Make sure that nobody has changed them and sign them first "
                f"(ppdm-sql sign {self._target} --sign KEY), or name a new file."
            )

    def prepare(self, finished: Path) -> None:
        """Sign what is to be put in place."""
        if self._key is None:
            return
        content = writing(f"target {str(self._target)!r}", lambda: content_of(finished))
        self._new = sign_content(self._key, content)
        if self._state is not None and state_of(self._target) != self._state:
            raise TargetError(f"target {str(self._target)!r} was changed by somebody else meanwhile: publish again.")

    @contextmanager
    def placed(self, finished: Path) -> Iterator[None]:
        """Keep the target signed while a finished release is put in its place.

        Where that fails, and the release is still where it was, the signature is as it was.
        """
        if self._new is None:
            yield
            return
        former = self._there[:1]
        try:
            self._write(self._new.to_bytes() + b"".join(each.to_bytes() for each in former))
            yield
        except BaseException:
            if os.path.lexists(finished):
                with suppress(TargetError, OSError):
                    self._restore()
            raise
        if former:
            with suppress(TargetError):  # it is signed all the same
                self._write(self._new.to_bytes())

    def _restore(self) -> None:
        if self._before is None:
            self._path.unlink(missing_ok=True)
        else:
            self._write(self._before)

    def _write(self, content: bytes) -> None:
        writing(self._where, lambda: _replace(self._path, content, aside_path(self._target)))


def sign_release(release: str | Path, *, sign: SigningKey) -> list[Manifest]:
    """Sign a release as it is, or each file of a pattern: one that has no signature, or was changed since.

    Its publisher vouches for all that is in it. An earlier signature is replaced.

    Returns
    -------
    list
        The tables that are signed.
    """
    key = read_signing_key(sign)
    found: list[Manifest] = []
    for file in release_files(str(release)):
        check_single_name(file)
        where = f"release {str(file)!r}"
        with exclusive(lock_path(file), where, TargetError):
            remove_leftovers(file)
            found += manifests(str(file))
            _check_closed(file, where)
            target = TargetSignature(file, key)
            target.prepare(file)
            with target.placed(file):
                pass
    return found


def _check_closed(file: Path, where: str) -> None:
    if os.path.lexists(file.with_name(file.name + ".wal")):
        raise TargetError(f"{where} is open elsewhere or was not closed: there is a log beside it. Close it first.")


def _replace(path: Path, content: bytes, aside: Path) -> None:
    """Write a file whole, or not at all."""
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        try:
            write_all(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(aside, path)  # noqa: PTH105 - as releases are put in place
    except BaseException:
        remove(aside)
        raise
    sync_folder(path.parent)
