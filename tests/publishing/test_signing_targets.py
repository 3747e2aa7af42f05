"""Signatures of what is published into a place where something is already, and of publications that fail."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import PpdmError, ReleaseError, TargetError
from ppdm_sql.publishing import sign_release
from ppdm_sql.publishing.ledger import read_ledger
from ppdm_sql.release.signature import content_of, parse_signatures, sign_content, signature_path

from .conftest import files_in
from .signed import KINDS, OTHER, PUBLIC, SIGNER, SOURCE, WHOLE, pem, released, rows


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
        con.execute("UPDATE perturbed.t SET x = (x + 1) % 4 WHERE rowid < 3")


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
