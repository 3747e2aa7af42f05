"""Keys of signatures: Ed25519, in PEM files of the standard forms (PKCS8, SubjectPublicKeyInfo).

No message ever quotes what a file or a text holds: it may be a private key.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from ppdm_sql.errors import KeyFileError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Given: TypeAlias = "str | Path | bytes | Ed25519PublicKey"
"""A file, what is in it, or the key."""

BEGIN = b"-----BEGIN "
LONGEST = 1 << 16
"""Bytes of a file that is read for a key."""

_MAKE = "ppdm-sql keygen --signing makes one"
_KINDS = (
    (b"-----BEGIN ENCRYPTED PRIVATE KEY", "a private key under a passphrase"),
    (b"-----BEGIN OPENSSH PRIVATE KEY", "a private key of OpenSSH"),
    (b"PRIVATE KEY-----", "a private key"),
    (b"-----BEGIN CERTIFICATE", "a certificate"),
    (b"PUBLIC KEY-----", "a public key"),
    (b"# ppdm_sql key", "a key that perturbs"),
)


def public_key(given: Given) -> Ed25519PublicKey:
    """The key that verifies; KeyFileError where it is none."""
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - only who verifies needs it
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

    if isinstance(given, Ed25519PublicKey):
        return given
    where = where_of(given, "verify", "the public key")
    content = given if isinstance(given, bytes) else read_key_file(Path(str(given)), where)
    kind = kind_of(content)
    if "private" in kind:
        raise KeyFileError(
            f"{where} is {kind}, which stays with its publisher: a signature is verified with the public key, which "
            "ends with .pub."
        )
    if kind != "a public key" or content.count(BEGIN) != 1:
        raise KeyFileError(f"{where} holds {kind}, and must hold one public key in PEM: {_MAKE}, a file with .pub.")
    try:
        key = load_pem_public_key(content)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(f"{where} is a public key that is damaged: get it again from the publisher.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise KeyFileError(f"{where} is {algorithm_of(key)}, and signatures are made with Ed25519: {_MAKE}.")
    return key


def public_bytes(key: Ed25519PublicKey) -> bytes:
    """The 32 bytes of a public key."""
    return key.public_bytes_raw()


def where_of(given: object, name: str, what: str) -> str:
    """What a key is called in messages; a text that is the key itself is not quoted."""
    if isinstance(given, bytes):
        return f"{name}, given as bytes,"
    if not isinstance(given, str | Path):
        kind = type(given).__name__
        raise KeyFileError(f"{name} is of type {kind}: give {what} as a path, as PEM bytes, or as it is.")
    if "-----BEGIN" in str(given):
        raise KeyFileError(f"{name} is the text of a key where its file's path belongs: write it to a file first.")
    return repr(str(given))


def read_key_file(path: Path, where: str) -> bytes:
    """What is in a file, as far as a key may go."""
    try:
        if path.exists() and not path.is_file():
            raise KeyFileError(f"{where} is not a file: name one that holds a key in PEM.")
        with path.open("rb") as file:
            return file.read(LONGEST + 1)[:LONGEST]
    except FileNotFoundError:
        raise KeyFileError(f"there is no file {where}: {_MAKE}.") from None
    except (OSError, ValueError) as error:
        if isinstance(error, KeyFileError):
            raise
        reason = (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not a path"
        raise KeyFileError(f"{where} cannot be read: {reason}.") from None


def kind_of(content: bytes) -> str:
    """What a file holds, in words.

    >>> kind_of(b"-----BEGIN PUBLIC KEY-----"), kind_of(b"")
    ('a public key', 'nothing')
    """
    if not content.strip():
        return "nothing"
    if re.fullmatch(rb"\s*[0-9a-fA-F]{64}\s*", content):
        return "a key that perturbs"
    return next((words for sign, words in _KINDS if sign in content), "no key in PEM")


def algorithm_of(key: object) -> str:
    """What a key is for, in words: `an RSA key`."""
    name = type(key).__name__.strip("_").removesuffix("PublicKey").removesuffix("PrivateKey")
    word = "ECDSA" if name in ("EC", "EllipticCurve") else name
    return f"{'an' if word[:1] in 'AEIORX' else 'a'} {word} key"
