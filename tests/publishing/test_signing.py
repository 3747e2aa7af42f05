"""A signed release is what its publisher wrote, byte for byte, or it is refused."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

import ppdm_sql
from ppdm_sql.engines.signature import content_of, parse_signatures, sign_content, signature_path, verify_release
from ppdm_sql.errors import KeyFileError, PpdmError, ReleaseError, TargetError
from ppdm_sql.publishing import create_key, create_signing_key, publish, sign_release
from ppdm_sql.publishing.ledger import read_ledger
from ppdm_sql.publishing.signing_key import read_signing_key

from .conftest import KEY, files_in

SECRET = bytes(range(1, 33))
SIGNER = Ed25519PrivateKey.from_private_bytes(SECRET)
PUBLIC = SIGNER.public_key()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(2, 34)))
SOURCE = pa.table({"id": range(500), "x": [i % 10 for i in range(500)]})
COLUMN = {"mechanism": "uniform", "domain": {"min": 0, "max": 9}, "retain": 0.5}
KINDS = ["r.duckdb", "r.parquet"]


def released(path, table="t", source=SOURCE, **more):
    policy = {"table": table, "identity": ["id"], "columns": {"x": COLUMN}}
    return publish(source, policy, to=path, **{"key": KEY, "sign": SIGNER} | more)


def pem(key):
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def public_pem(key):
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def rows(path, verify=PUBLIC, table="t", **more):
    with ppdm_sql.connect(path, verify=verify, **more) as con:
        return con.execute(f"SELECT count(*), sum(id) FROM {table}").fetchall()


WHOLE = [(500, 124_750)]


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """One release of each kind, made once; tests that change one take a copy."""
    folder = tmp_path_factory.mktemp("signed")
    for name in KINDS:
        released(folder / name)
    return folder


@pytest.fixture(params=KINDS)
def path(request, signed, tmp_path):
    for file in signed.iterdir():
        if file.name.startswith(request.param):
            shutil.copy(file, tmp_path)
    return tmp_path / request.param


# Keys


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


# What is opened


@pytest.mark.parametrize("locked", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_a_signed_release_is_answered(name, locked, signed):
    with ppdm_sql.connect(signed / name, verify=PUBLIC, locked=locked) as con:
        assert con.execute("SELECT count(*), sum(id) FROM t").fetchall() == WHOLE
        with ppdm_sql.connect(signed / name, read_only=True) as plain:
            query = "SELECT count(*) FROM t WHERE x > 3"
            assert con.sql(query).fetchall() == plain.sql(query).fetchall()
        assert con.cursor().execute("SELECT count(*) FROM t WHERE x > 3").fetchone() != (0,)


@pytest.mark.parametrize("name", KINDS)
def test_the_release_is_the_same_bytes_with_a_signature_and_without(name, signed, tmp_path, monkeypatch):
    monkeypatch.setattr("ppdm_sql.publishing.manifests.datetime", Moment)
    released(tmp_path / f"1{name}")
    released(tmp_path / f"2{name}", sign=None)
    assert (tmp_path / f"1{name}").read_bytes() == (tmp_path / f"2{name}").read_bytes()
    assert files_in(tmp_path) == [f"1{name}", f"1{name}.sig", f"2{name}"]
    sign_release(tmp_path / f"2{name}", sign=SIGNER)
    assert signature_path(tmp_path / f"1{name}").read_bytes() == signature_path(tmp_path / f"2{name}").read_bytes()


class Moment:
    @staticmethod
    def now(zone):
        from datetime import datetime

        return datetime(2024, 1, 1, tzinfo=zone)


def test_it_is_opened_for_reading_only(path):
    before = path.read_bytes()
    with ppdm_sql.connect(path, verify=PUBLIC) as con:
        if path.suffix == ".duckdb":
            with pytest.raises(duckdb.Error, match="read-only"):
                con.execute("CREATE TABLE more AS SELECT 1 AS a")
            with pytest.raises(duckdb.Error, match="read-only"):
                con.execute("CREATE RECONSTRUCTED VIEW v AS SELECT count(*) AS n FROM t WHERE x > 3")
        con.execute("CREATE TEMP TABLE own AS SELECT 1 AS a")
    assert path.read_bytes() == before
    assert rows(path) == WHOLE


def test_there_is_nothing_to_verify_in_memory():
    with pytest.raises(ReleaseError, match="verify is for a release in a file"):
        ppdm_sql.connect(verify=PUBLIC)


@pytest.mark.parametrize("name", ["gone.duckdb", "gone.parquet", "gone-*.parquet", "https://example.org/r.parquet"])
def test_a_release_that_is_not_there(name, tmp_path):
    path = name if "://" in name else str(tmp_path / name)
    with pytest.raises(ReleaseError, match=r"there is no|not on this machine"):
        ppdm_sql.connect(path, verify=PUBLIC)


# What is refused


def test_no_signature(path):
    signature_path(path).unlink()
    with pytest.raises(ReleaseError, match=f"is not signed: there is no file '{path.name}.sig' beside it"):
        rows(path)
    assert rows(path, verify=None) == WHOLE


def test_another_key(path):
    with pytest.raises(ReleaseError, match=r"is signed with another key .* than the one to verify it with"):
        rows(path, verify=OTHER.public_key())


def test_the_signature_of_another_release(path, tmp_path):
    released(tmp_path / f"other-{path.name}", source=SOURCE.slice(1))
    shutil.copy(signature_path(tmp_path / f"other-{path.name}"), signature_path(path))
    with pytest.raises(ReleaseError, match="is not what was signed"):
        rows(path)


def test_a_signature_that_claims_another_key(path):
    """Forged with a key of somebody's own, under the publisher's name."""
    mine = sign_content(OTHER, content_of(path)).to_bytes()
    [true] = parse_signatures(signature_path(path).read_bytes())
    [false] = parse_signatures(mine)
    signature_path(path).write_bytes(mine.replace(false.key.encode(), true.key.encode()))
    with pytest.raises(ReleaseError, match="is damaged or forged"):
        rows(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: b"",
        lambda text: text[:-1],
        lambda text: text[: len(text) // 2],
        lambda text: text + b"\n",
        lambda text: text + text + text,
        lambda text: text.upper(),
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"signature 1", b"signature 2"),
        lambda text: b"\x00\xff" * 5_000_000,
        lambda text: text[:-129] + b"0" * 128 + b"\n",
    ],
)
def test_a_signature_file_that_is_none(change, path):
    signature_path(path).write_bytes(change(signature_path(path).read_bytes()))
    with pytest.raises(ReleaseError, match=r"is not a signature of ppdm_sql, or is damaged|is damaged or forged"):
        rows(path)


def test_a_folder_in_the_place_of_a_signature(path, tmp_path):
    signature_path(path).unlink()
    signature_path(path).mkdir()
    with pytest.raises(ReleaseError, match="is not signed"):
        rows(path)
    with pytest.raises(TargetError, match="is a directory"):
        released(path, replace=True)


def test_no_changed_byte_is_accepted(path):
    """400 changes, of one byte or a few, in the release and in its signature."""
    draw = random.Random(7)
    for file in (path, signature_path(path)):
        whole = file.read_bytes()
        for _ in range(100):
            changed = bytearray(whole)
            for _ in range(draw.choice([1, 1, 1, 3])):
                at = draw.randrange(len(whole))
                changed[at] = draw.choice([changed[at] ^ (1 << draw.randrange(8)), draw.randrange(256)])
            if draw.random() < 0.1:
                changed = changed[: draw.randrange(len(whole))]
            if changed == whole:
                continue
            file.write_bytes(changed)
            with pytest.raises(ReleaseError):
                verify_release(str(path), PUBLIC)
        file.write_bytes(whole)
    assert rows(path) == WHOLE


def test_a_log_beside_a_database_is_refused(signed, tmp_path):
    """DuckDB applies its changes when it opens the file, for reading only too: the signed file itself is untouched."""
    path = tmp_path / "r.duckdb"
    for name in ("r.duckdb", "r.duckdb.sig"):
        shutil.copy(signed / name, tmp_path)
    code = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]); "
        "con.execute('PRAGMA disable_checkpoint_on_shutdown; INSERT INTO perturbed.t SELECT 1000, 9'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert path.read_bytes() == (signed / "r.duckdb").read_bytes()
    assert (tmp_path / "r.duckdb.wal").exists()
    (tmp_path / "link.duckdb").symlink_to(path)
    shutil.copy(signature_path(path), tmp_path / "link.duckdb.sig")
    for each in (path, tmp_path / "link.duckdb"):
        with pytest.raises(ReleaseError, match="holds changes of the release that are not in its file"):
            rows(each)
    with pytest.raises(TargetError, match="there is a log beside it"):
        released(path, "more")


def test_what_an_earlier_connection_holds_is_not_taken_for_the_file(signed, tmp_path):
    """DuckDB has one instance for all connections of a process to a name, whatever file has the name by now."""
    path = tmp_path / "r.duckdb"
    released(path, source=SOURCE.slice(100))
    with ppdm_sql.connect(path, read_only=True, verify=None) as earlier:
        assert earlier.execute("SELECT count(*) FROM t").fetchall() == [(400,)]
        for name in ("r.duckdb", "r.duckdb.sig"):
            shutil.copy(signed / name, tmp_path / f"new {name}")
            (tmp_path / f"new {name}").replace(tmp_path / name)
        assert rows(path) == WHOLE


@pytest.mark.parametrize("name", KINDS)
def test_a_release_that_changes_while_it_is_opened(name, signed, tmp_path, monkeypatch):
    for file in (name, f"{name}.sig"):
        shutil.copy(signed / file, tmp_path)
    path = tmp_path / name
    released(tmp_path / f"other-{name}", source=SOURCE.slice(100))
    real = ppdm_sql.opening.verify_release

    def then_changed(*given):
        found = real(*given)
        (tmp_path / f"other-{name}").replace(path)
        return found

    monkeypatch.setattr("ppdm_sql.opening.verify_release", then_changed)
    with pytest.raises(ReleaseError, match="has changed since its signature was verified: connect again"):
        rows(path)


def test_files_that_change_under_an_open_connection(signed, tmp_path):
    """DuckDB opens Parquet files again for every statement."""
    path = tmp_path / "r.parquet"
    for name in ("r.parquet", "r.parquet.sig"):
        shutil.copy(signed / name, tmp_path)
    with ppdm_sql.connect(path, verify=PUBLIC) as con:
        cursor, relation = con.cursor(), con.sql("SELECT count(*) AS n FROM t WHERE x > 3")
        assert relation.fetchall()
        released(path, source=SOURCE.slice(100), replace=True)
        for ask in (
            lambda: con.execute("SELECT count(*) FROM t"),
            lambda: cursor.sql("SELECT count(*) FROM t"),
            lambda: con.explain("SELECT count(*) FROM t"),
            relation.fetchall,
            lambda: str(relation),
        ):
            with pytest.raises(ReleaseError, match="has changed since"):
                ask()
    assert rows(path)[0][0] == 400


# Files of a pattern


def test_every_file_of_a_pattern_is_signed(tmp_path):
    for i in range(3):
        released(tmp_path / f"part-{i}.parquet", source=SOURCE.slice(i * 100, 100))
    pattern = tmp_path / "part-*.parquet"
    assert rows(pattern)[0][0] == rows(pattern, locked=True)[0][0] == 300
    with ppdm_sql.connect(pattern, verify=PUBLIC) as con:
        released(tmp_path / "part-3.parquet", source=SOURCE.slice(300, 100), sign=None)
        assert con.execute("SELECT count(*) FROM t").fetchall() == [(300,)]
    with pytest.raises(ReleaseError, match=r"part-3.parquet' is not signed"):
        rows(pattern)
    sign_release(tmp_path / "part-*.parquet", sign=SIGNER)
    assert rows(pattern)[0][0] == 400
    for ending in ("", ".sig"):
        shutil.copy(tmp_path / f"part-0.parquet{ending}", tmp_path / f"part-4.parquet{ending}")
    with pytest.raises(ReleaseError, match="hold the same rows"):
        rows(pattern)


def test_a_name_that_is_a_pattern_itself(signed, tmp_path):
    """DuckDB would read other files by it, which nobody signed."""
    for ending in ("", ".sig"):
        shutil.copy(signed / f"r.parquet{ending}", tmp_path / f"[rs]*.parquet{ending}")
    for name in ("[[]rs[]]*.parquet", "*.parquet"):
        with pytest.raises(ReleaseError, match="is read as a pattern: rename it"):
            rows(tmp_path / name)
    with pytest.raises(ReleaseError, match="is read as a pattern: rename it"):
        sign_release(tmp_path / "*.parquet", sign=SIGNER)


@pytest.mark.parametrize("verify", [PUBLIC, None])
def test_the_name_of_a_folder_is_no_column(verify, signed, tmp_path):
    """DuckDB would put 9 in the place of every x: a folder's name is in no manifest, and is not signed."""
    (tmp_path / "x=9").mkdir()
    for ending in ("", ".sig"):
        shutil.copy(signed / f"r.parquet{ending}", tmp_path / "x=9")
    query = "SELECT count(*) FROM t WHERE x = 9"
    with (
        ppdm_sql.connect(tmp_path / "x=9" / "r.parquet", verify=verify) as con,
        ppdm_sql.connect(signed / "r.parquet") as plain,
    ):
        assert con.execute(query).fetchall() == plain.execute(query).fetchall()


# Publishing into what is there


def test_tables_that_are_added_later(tmp_path):
    path = tmp_path / "r.duckdb"
    released(path)
    released(path, "u")
    assert rows(path) == rows(path, table="u") == WHOLE
    released(path, "t", source=SOURCE.slice(100), replace=True)
    assert (rows(path)[0][0], rows(path, table="u")) == (400, WHOLE)
    assert files_in(tmp_path) == ["r.duckdb", "r.duckdb.sig"]
    assert len(parse_signatures(signature_path(path).read_bytes())) == 1


def changed_by_others(path):
    with duckdb.connect(str(path)) as con:
        con.execute("UPDATE perturbed.t SET x = 0")


@pytest.mark.parametrize(
    "spoil",
    [lambda path: signature_path(path).unlink(), changed_by_others, lambda path: sign_release(path, sign=OTHER)],
)
def test_what_somebody_else_may_have_changed_is_not_vouched_for(spoil, tmp_path):
    """A table is added to a file whose other tables are not as this key has signed them."""
    path = tmp_path / "r.duckdb"
    released(path)
    spoil(path)
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    for more in ({}, {"table": "t", "replace": True}):
        if more:
            with ppdm_sql.connect(path) as con:
                con.execute("CREATE RECONSTRUCTED VIEW v AS SELECT count(*) AS n FROM t WHERE x > 3")
            before["r.duckdb"] = path.read_bytes()
        with pytest.raises(TargetError, match=r"which this key has not signed as they are.*ppdm-sql sign"):
            released(path, **{"table": "u"} | more)
        assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before
    sign_release(path, sign=SIGNER)
    released(path, "u")
    assert rows(path, table="u") == WHOLE


def test_a_reconstructed_view_makes_the_signature_void_until_it_is_signed_again(tmp_path):
    path = tmp_path / "r.duckdb"
    released(path)
    with ppdm_sql.connect(path) as con:
        con.execute("CREATE RECONSTRUCTED VIEW v AS SELECT count(*) AS n FROM t WHERE x > 3")
        expected = con.execute("FROM v").fetchall()
    with pytest.raises(ReleaseError, match=r"is not what was signed.*signs it again: ppdm-sql sign"):
        rows(path)
    [manifest] = sign_release(path, sign=SIGNER)
    assert (manifest.table, manifest.rows) == ("t", 500)
    with ppdm_sql.connect(path, verify=PUBLIC) as con:
        assert con.execute("FROM v").fetchall() == expected


def test_a_signed_release_is_not_replaced_by_an_unsigned_one(path):
    before = path.read_bytes()
    with pytest.raises(TargetError, match=r"is signed, by .* sign what takes its place"):
        released(path, replace=True, sign=None)
    assert path.read_bytes() == before
    assert rows(path) == WHOLE
    released(path, replace=True, sign=OTHER)
    assert rows(path, verify=OTHER.public_key()) == WHOLE


def test_an_unsigned_release_is_replaced_by_a_signed_one(path):
    signature_path(path).unlink()
    released(path, replace=True)
    assert rows(path) == WHOLE


def test_what_is_no_signature_of_ours_is_not_overwritten(path):
    """`gpg --detach-sign` gives its files the same ending."""
    for content in (b"\x88\x75\x04\x00", pem(SIGNER)):
        signature_path(path).write_bytes(content)
        with pytest.raises(TargetError, match="is no signature of ppdm_sql: move it"):
            released(path, replace=True)
        assert signature_path(path).read_bytes() == content
    released(path, replace=True, sign=None)
    assert signature_path(path).read_bytes() == pem(SIGNER)


def test_only_a_release_is_signed(tmp_path):
    with duckdb.connect(str(tmp_path / "plain.duckdb")) as con:
        con.execute(f"CREATE TABLE a AS SELECT 1 AS a; COPY a TO '{tmp_path / 'plain.parquet'}'")
    for name in ("plain.duckdb", "plain.parquet", "gone.duckdb", "gone.parquet"):
        with pytest.raises(PpdmError, match=r"is not a release|there is no file"):
            sign_release(tmp_path / name, sign=SIGNER)
    assert files_in(tmp_path) == ["plain.duckdb", "plain.parquet"]


# Crashes; `tests/kills` has more of them


@pytest.mark.parametrize("fails", ["sig", "release"])
@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_a_renaming_that_fails_leaves_everything_as_it_was(name, existing, fails, tmp_path, monkeypatch):
    path = tmp_path / name
    if existing:
        released(path)
    before = {each: (tmp_path / each).read_bytes() for each in files_in(tmp_path)}
    real = os.replace

    def failing(one, other):
        if (str(other) == str(path)) == (fails == "release") and str(other).startswith(str(path)):
            raise OSError(28, "No space left on device")
        real(one, other)

    monkeypatch.setattr("os.replace", failing)
    with pytest.raises(TargetError, match="No space left on device"):
        released(path, source=SOURCE.slice(100), replace=True, ledger=tmp_path / "a.ledger")
    monkeypatch.undo()
    assert read_ledger(tmp_path / "a.ledger") == []
    (tmp_path / "a.ledger").unlink()
    assert {each: (tmp_path / each).read_bytes() for each in files_in(tmp_path)} == before
    assert not existing or rows(path) == WHOLE


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", KINDS)
def test_a_kill_at_the_renaming_leaves_a_signed_release(name, when, tmp_path, monkeypatch):
    """Of the two releases, whichever is in place: the next publication adds to it, and tidies up."""
    path = tmp_path / name
    released(path)
    old = path.read_bytes()

    class Killed(BaseException):
        pass

    def killed(one, other):
        if when == "after":
            Path(one).replace(other)
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("ppdm_sql.publishing.targets._rename", killed)
        patched.setattr("ppdm_sql.publishing.signing.TargetSignature._restore", lambda self: None)
        with pytest.raises(Killed):
            released(path, source=SOURCE.slice(100), replace=True)
    assert (path.read_bytes() == old) == (when == "before")
    assert len(parse_signatures(signature_path(path).read_bytes())) == 2
    assert rows(path)[0][0] == (500 if when == "before" else 400)
    if name.endswith(".duckdb"):
        released(path, "u")
        assert rows(path, table="u") == WHOLE
    else:
        released(path, replace=True)
        assert rows(path) == WHOLE
    assert len(parse_signatures(signature_path(path).read_bytes())) == 1


def test_a_first_signature_without_its_release(tmp_path):
    """What a kill leaves of a first publication."""
    path = tmp_path / "r.duckdb"
    signature_path(path).write_bytes(sign_content(SIGNER, content_of(Path(__file__))).to_bytes())
    with pytest.raises(ReleaseError, match="there is no file"):
        rows(path)
    released(path)
    assert rows(path) == WHOLE


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
