"""Keys of signatures: made, read, never mistaken for another kind, never told to anybody."""

from __future__ import annotations

import os
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

import ppdm_sql
from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing import create_key, create_signing_key
from ppdm_sql.publishing.signing_key import read_signing_key

from .conftest import files_in
from .signed import OTHER, PUBLIC, SECRET, SIGNER, WHOLE, pem, public_pem, released, rows


def test_a_pair_of_keys(tmp_path):
    public, made = create_signing_key(tmp_path / "publisher.sign")
    assert (public, made) == (tmp_path / "publisher.pub", True)
    assert files_in(tmp_path) == ["publisher.pub", "publisher.sign"]
    assert stat.S_IMODE((tmp_path / "publisher.sign").stat().st_mode) == 0o600
    assert (tmp_path / "publisher.sign").read_bytes().startswith(b"-----BEGIN PRIVATE KEY-----\n")
    assert public.read_bytes().startswith(b"-----BEGIN PUBLIC KEY-----\n")
    released(tmp_path / "r.parquet", sign=tmp_path / "publisher.sign")
    assert rows(tmp_path / "r.parquet", verify=str(public)) == WHOLE
    assert rows(tmp_path / "r.parquet", verify=public.read_bytes()) == WHOLE


def test_keys_are_never_overwritten(tmp_path):
    create_signing_key(tmp_path / "a.sign")
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    with pytest.raises(KeyFileError, match=r"public key .* exists already and is not overwritten"):
        create_signing_key(tmp_path / "a.sign")
    with pytest.raises(KeyFileError, match="exists already"):
        create_key(tmp_path / "a.sign")
    with pytest.raises(KeyFileError, match="is the name of a public key"):
        create_signing_key(tmp_path / "b.pub")
    create_key(tmp_path / "people.key")
    before["people.key"] = (tmp_path / "people.key").read_bytes()
    with pytest.raises(KeyFileError, match="holds a key that perturbs"):
        create_signing_key(tmp_path / "people.key")
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before


def test_a_public_key_that_is_missing_is_made_again(tmp_path):
    """As a kill between the two files leaves it."""
    public, _ = create_signing_key(tmp_path / "a.sign")
    before = public.read_bytes()
    public.unlink()
    assert create_signing_key(tmp_path / "a.sign") == (public, False)
    assert public.read_bytes() == before


def encrypted(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word"))


def old_encrypted(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"word"))


def openssh(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())


RSA = rsa.generate_private_key(65537, 2048)
BAD_PRIVATE = [
    (encrypted(SIGNER), "under a passphrase, which nobody is asked for here"),
    (old_encrypted(RSA), "under a passphrase"),
    (openssh(SIGNER), "holds a private key of OpenSSH"),
    (pem(RSA), "is an RSA key, and releases are signed with Ed25519"),
    (pem(ec.generate_private_key(ec.SECP256R1())), "is an ECDSA key"),
    (pem(ed448.Ed448PrivateKey.generate()), "is an Ed448 key"),
    (public_pem(SIGNER), "holds a public key, and must hold one private key"),
    (pem(SIGNER) + pem(OTHER), "must hold one private key"),
    (pem(SIGNER).replace(b"MC4", b"MC5"), "is a private key that is damaged"),
    (b"00" * 32, "holds a key that perturbs"),
    (b"", "holds nothing"),
    (b"\x00\xff" * 100_000, "holds no key in PEM"),
]


@pytest.mark.parametrize(("content", "message"), BAD_PRIVATE)
@pytest.mark.parametrize("as_file", [True, False])
def test_a_key_that_cannot_sign(content, message, as_file, tmp_path):
    key = content
    if as_file:
        key = tmp_path / "bad.sign"
        key.touch(mode=0o600)
        key.write_bytes(content)
    with pytest.raises(KeyFileError, match=message) as caught:
        released(tmp_path / "r.duckdb", sign=key)
    assert "\n" not in str(caught.value)
    assert not any(line in str(caught.value) for line in content.decode("latin-1").split("\n") if len(line) > 40)
    assert files_in(tmp_path) == (["bad.sign"] if as_file else [])


def test_nothing_is_written_and_no_key_is_made_where_signing_cannot_work(tmp_path):
    for bad, message in [
        (tmp_path / "gone.sign", "there is no file"),
        (tmp_path, "is not a file"),
        ("no\0path", "cannot be read: it is not a path|is not a path"),
        (7, "sign is of type int"),
        (PUBLIC, "sign is of type"),
        (pem(SIGNER).decode(), "sign is the text of a key"),
    ]:
        with pytest.raises(KeyFileError, match=message) as caught:
            released(tmp_path / "r.duckdb", sign=bad, key=tmp_path / "a.key")
        assert "PRIVATE KEY" not in str(caught.value)
    assert files_in(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_a_signing_key_that_others_may_read_is_refused(tmp_path):
    create_signing_key(tmp_path / "a.sign")
    (tmp_path / "a.sign").chmod(0o640)
    with pytest.raises(KeyFileError, match="chmod 600"):
        released(tmp_path / "r.duckdb", sign=tmp_path / "a.sign")


def test_a_signing_key_is_not_taken_for_one_that_perturbs(tmp_path):
    create_signing_key(tmp_path / "a.sign")
    for name in ("a.sign", "a.pub"):
        (tmp_path / name).chmod(0o600)
        with pytest.raises(KeyFileError, match="not one that perturbs: a signing key is given as sign"):
            released(tmp_path / "r.duckdb", key=tmp_path / name)


def test_a_perturbing_key_is_never_where_the_signature_goes(tmp_path):
    with pytest.raises(KeyFileError, match="is where the release goes"):
        released(tmp_path / "r.duckdb", key=tmp_path / "r.duckdb.sig")
    with pytest.raises(KeyFileError, match="is the source or the release itself"):
        released(tmp_path / "r.duckdb", ledger=tmp_path / "r.duckdb.sig")
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (pem(SIGNER), "is a private key, which stays with its publisher"),
        (encrypted(SIGNER), "is a private key under a passphrase, which stays"),
        (public_pem(RSA), "is an RSA key, and signatures are made with Ed25519"),
        (public_pem(SIGNER) + public_pem(OTHER), "must hold one public key"),
        (public_pem(SIGNER).replace(b"MCow", b"MCox"), "is a public key that is damaged"),
        (b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI someone", "holds no key in PEM"),
        (b"-----BEGIN CERTIFICATE-----", "holds a certificate"),
        (b"00" * 32, "holds a key that perturbs"),
        (b"", "holds nothing"),
        ("gone.pub", "there is no file"),
        ("", "is not a file"),
        (public_pem(SIGNER).decode(), "is the text of a key"),
        (False, "verify is of type bool"),
        (SIGNER, "verify is of type"),
    ],
)
def test_what_is_no_public_key(given, message, signed):
    with pytest.raises(KeyFileError, match=message):
        ppdm_sql.connect(signed / "r.duckdb", verify=given)


def test_the_writer_never_has_the_signing_key(tmp_path, monkeypatch):
    """Nothing that is sent to it, and nothing of its surroundings, has a trace of the key."""
    sent = []
    real = subprocess.Popen

    class Listening(real):
        def __init__(self, command, **more):
            super().__init__(command, **more)
            sent.append(repr((command, more.get("env"))).encode())
            write = self.stdin.write
            self.stdin = Pipe(self.stdin, lambda data: (sent.append(bytes(data)), write(data))[1])

    class Pipe:
        def __init__(self, inner, write):
            self._inner, self.write = inner, write

        def __getattr__(self, name):
            return getattr(self._inner, name)

    key = tmp_path / "publisher.sign"
    key.touch(mode=0o600)
    key.write_bytes(pem(SIGNER))
    monkeypatch.setenv("SIGNING_KEY", pem(SIGNER).decode())
    monkeypatch.setattr("ppdm_sql.publishing.writer.process.subprocess.Popen", Listening)
    released(tmp_path / "r.duckdb", sign=key)
    everything = b"".join(sent)
    assert b"perturbed" in everything
    for trace in (SECRET, SECRET.hex().encode(), pem(SIGNER).split(b"\n")[1], b"publisher.sign"):
        assert trace not in everything


def test_a_signing_key_is_read_in_every_form():
    assert read_signing_key(pem(SIGNER)).private_bytes_raw() == SECRET
    assert read_signing_key(SIGNER) is SIGNER
