"""The publisher's signing key: a private key that only its owner may read, and the public key that goes to everybody.

Both are PEM files as other programs write and read them. Neither has anything to do with the key that perturbs: a
signing key may be replaced by another one, and whoever has it can sign, and undo nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing.keyfile import check_mode, place
from ppdm_sql.release.signing_keys import BEGIN, algorithm_of, kind_of, read_key_file, where_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

SigningKey: TypeAlias = "str | Path | bytes | Ed25519PrivateKey"
"""A file, what is in it, or the key."""

PUBLIC_ENDING = ".pub"
PUBLIC_MODE = 0o644


def create_signing_key(path: str | Path) -> tuple[Path, bool]:
    """Write a fresh private key, and its public key beside it: `publisher.sign` and `publisher.pub`.

    Nothing is ever overwritten. Where the private key is there and the public key is not, as a kill between the two
    leaves them, that is written, and belongs to it.

    Returns
    -------
    tuple
        The file of the public key, and whether the private key was made just now.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - few need it
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    path = Path(path)
    if not path.name or path.suffix.lower() == PUBLIC_ENDING:
        raise KeyFileError(f"{str(path)!r} is the name of a public key: name the private one, such as publisher.sign.")
    public = path.with_suffix(PUBLIC_ENDING)
    if os.path.lexists(public):
        raise KeyFileError(
            f"public key {str(public)!r} exists already and is not overwritten: releases may be verified with it. "
            "Choose another name."
        )
    fresh = Ed25519PrivateKey.generate()
    made = place(path, fresh.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key = fresh if made else read_signing_key(path)
    if not place(public, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), PUBLIC_MODE):
        raise KeyFileError(f"public key {str(public)!r} was made by somebody else just now: choose another name.")
    return public, made


def read_signing_key(given: SigningKey) -> Ed25519PrivateKey:
    """The key that signs; KeyFileError where it is none, which quotes nothing of it."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only who signs needs it
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    if isinstance(given, Ed25519PrivateKey):
        return given
    where = where_of(given, "sign", "the private signing key")
    content = given if isinstance(given, bytes) else _read(Path(str(given)), where)
    kind = kind_of(content)
    if kind == "a private key under a passphrase" or b"Proc-Type: 4,ENCRYPTED" in content:
        raise KeyFileError(
            f"{where} is a private key under a passphrase, which nobody is asked for here: write it without one, for "
            "your eyes only (umask 077; openssl pkey -in FILE -out publisher.sign)."
        )
    if kind != "a private key" or content.count(BEGIN) != 1:
        raise KeyFileError(
            f"{where} holds {kind}, and must hold one private key in PEM (PKCS8): make one with ppdm-sql keygen "
            "--signing publisher.sign."
        )
    try:
        key = load_pem_private_key(content, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"{where} is a private key that is damaged: restore it from a copy.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise KeyFileError(
            f"{where} is {algorithm_of(key)}, and releases are signed with Ed25519: make one with ppdm-sql keygen "
            "--signing publisher.sign."
        )
    return key


def _read(path: Path, where: str) -> bytes:
    content = read_key_file(path, where)
    if kind_of(content) == "a private key":
        check_mode(path, path.stat().st_mode)
    return content
