"""A signed release is what its publisher wrote, byte for byte, or it is refused."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.errors import ReleaseError, TargetError
from ppdm_sql.publishing import sign_release
from ppdm_sql.release.signature import content_of, parse_signatures, sign_content, signature_path, verify_release

from .conftest import files_in
from .signed import KINDS, OTHER, PUBLIC, SIGNER, SOURCE, WHOLE, released, rows


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
    real = ppdm_sql.connection.connect.verify_release

    def then_changed(*given):
        found = real(*given)
        (tmp_path / f"other-{name}").replace(path)
        return found

    monkeypatch.setattr("ppdm_sql.connection.connect.verify_release", then_changed)
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
    with pytest.raises(ReleaseError, match="in place of the release's column 'x': rename the folder"):
        ppdm_sql.connect(tmp_path / "x=9" / "r.parquet", verify=verify)
