"""The key file: private, never overwritten, never shown."""

import os
import re
import stat

import pytest

from ppdm_sql.errors import KeyFileError
from ppdm_sql.publishing import create_key, load_key, publish

from .conftest import POLICY, files_in, rows_of

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")


def test_a_key_is_made_once_and_read_again(tmp_path):
    key = load_key(tmp_path / "a.key")
    assert len(key) == 32
    assert load_key(str(tmp_path / "a.key")) == key
    header, text = (tmp_path / "a.key").read_text().splitlines()
    assert header.startswith("# ppdm_sql key")
    assert bytes.fromhex(text) == key
    assert load_key(tmp_path / "b.key") != key


@posix
def test_only_its_owner_may_read_it(tmp_path):
    before = os.umask(0)
    try:
        create_key(tmp_path / "a.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.key").stat().st_mode) == 0o600
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "a.key").chmod(mode)
        with pytest.raises(KeyFileError, match=r"may be read by others than its owner. Run: chmod 600 .*a\.key"):
            load_key(tmp_path / "a.key")


def test_never_overwritten(tmp_path):
    key = create_key(tmp_path / "a.key")
    with pytest.raises(KeyFileError, match="exists already and is not overwritten"):
        create_key(tmp_path / "a.key")
    assert load_key(tmp_path / "a.key") == key


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"SECRET",
        b"# only a header\n",
        b"ab" * 31,
        b"ab" * 33,
        b"\xff" * 64,
        b"ab" * 32 + b"\n" + b"cd" * 32,
        b"a" * 9999,
    ],
    ids=range(8),
)
def test_what_is_no_key(content, tmp_path):
    (tmp_path / "a.key").write_bytes(content)
    (tmp_path / "a.key").chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a key file") as caught:
        load_key(tmp_path / "a.key")
    assert "SECRET" not in str(caught.value)
    assert not re.search("(ab|cd){4}", str(caught.value))


def test_where_no_key_can_be(tmp_path, table):
    with pytest.raises(KeyFileError, match="cannot be written: No such file"):
        create_key(tmp_path / "missing" / "a.key")
    with pytest.raises(KeyFileError, match="cannot be read"):
        load_key(tmp_path)
    with pytest.raises(KeyFileError, match="it is not a path"):
        load_key("a\0b")
    for key, message in (
        (tmp_path / "r.duckdb", "is where the release goes"),
        (tmp_path / "r.duckdb" / "a.key", "is where the release goes"),
        (tmp_path / "missing" / "a.key", "the directory does not exist"),
    ):
        with pytest.raises(KeyFileError, match=message):
            publish(table, POLICY, to=tmp_path / "r.duckdb", key=key)
    assert files_in(tmp_path) == []


def test_the_source_is_no_key(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    with pytest.raises(KeyFileError, match="is the source itself"):
        publish(tmp_path / "a.csv", {"table": "t"}, to=tmp_path / "r.duckdb", key=tmp_path / "a.csv")


def test_a_bad_key_is_known_before_anything_else_is_done(tmp_path, table):
    (tmp_path / "a.key").write_text("no key")
    (tmp_path / "a.key").chmod(0o600)
    with pytest.raises(KeyFileError, match="is not a key file"):
        publish(table, POLICY, to=tmp_path / "r.duckdb", key=tmp_path / "a.key")
    assert files_in(tmp_path) == ["a.key"]


def test_the_key_decides_the_values_and_is_not_in_the_release(tmp_path, table):
    for name in ("a", "b", "c"):
        publish(table, POLICY, to=tmp_path / f"{name}.duckdb", key=tmp_path / f"{'ab'[name == 'b']}.key")
    first, other, again = (rows_of(tmp_path / f"{name}.duckdb") for name in ("a", "b", "c"))
    assert first == again
    assert first != other
    key = load_key(tmp_path / "a.key")
    content = (tmp_path / "a.duckdb").read_bytes()
    assert key not in content
    assert key.hex().encode() not in content


def test_a_key_stays_when_publishing_fails(tmp_path, table):
    """Also a fresh one: another publication may have read it."""
    key = create_key(tmp_path / "a.key")
    narrow = POLICY.replace("max = 90", "max = 20")
    for path, notes in ((tmp_path / "a.key", []), (tmp_path / "new.key", ["was made for this and stays"])):
        with pytest.raises(ValueError, match="outside its declared domain") as caught:
            publish(table, narrow, to=tmp_path / "r.duckdb", key=path)
        said = getattr(caught.value, "__notes__", [])
        assert len(said) == len(notes) and all(note in text for note, text in zip(notes, said, strict=True))
    assert load_key(tmp_path / "a.key") == key
    assert files_in(tmp_path) == ["a.key", "new.key"]
