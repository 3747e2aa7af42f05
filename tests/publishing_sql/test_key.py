"""SET ppdm_key: a path that the session remembers, never the key itself."""

from __future__ import annotations

import stat

import pytest

import ppdm_sql
from ppdm_sql.errors import KeyFileError, SettingError, SourceError

from .conftest import AGE, BY_ID, releases_in

TABLE = f"CREATE PERTURBED TABLE p AS FROM adult {BY_ID}"


def test_without_a_key(bare, tmp_path):
    path = tmp_path / "public.duckdb"
    for query in (TABLE, TABLE.replace("TABLE", "VIEW"), TABLE.replace(" AS", f" TO '{path}' AS", 1)):
        with pytest.raises(KeyFileError, match=r"publishing needs a key: say SET ppdm_key = 'my.key' first"):
            bare.execute(query)
    assert releases_in(bare) == [] and not path.exists()


def test_reset(con):
    con.execute(TABLE)
    con.execute("RESET ppdm_key")
    with pytest.raises(KeyFileError, match="needs a key"):
        con.execute(TABLE.replace("CREATE", "CREATE OR REPLACE"))


@pytest.mark.parametrize("kind", ["TABLE", "VIEW"])
def test_the_file_is_made_when_it_is_first_needed(bare, tmp_path, kind):
    path = tmp_path / "fresh.key"
    bare.execute(f"SET ppdm_key = '{path}'")
    assert not path.exists()
    with pytest.raises(SourceError):
        bare.execute(f"CREATE PERTURBED {kind} p AS FROM adult {AGE.replace('17', '40')} IDENTIFIED BY (id)")
    made = path.read_bytes()  # it stays, for somebody else may have read it
    bare.execute(TABLE.replace("TABLE", kind))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == made


def test_a_relative_path_stays_where_it_was_meant(bare, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    bare.execute("SET ppdm_key = 'my.key'")
    monkeypatch.chdir(tmp_path / "elsewhere")
    bare.execute(TABLE)
    assert (tmp_path / "my.key").exists() and not (tmp_path / "elsewhere" / "my.key").exists()


def test_cursors_share_it(con):
    con.cursor().execute(TABLE)
    assert releases_in(con.cursor()) == ["p"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: folder / "nowhere" / "my.key", "the directory does not exist"),
        (lambda folder: folder, "is not a file"),
        (lambda folder: _written(folder / "text.key", "not a key", 0o600), "is not a key file"),
        (lambda folder: _written(folder / "open.key", "00" * 32, 0o644), "may be read by others"),
    ],
)
def test_what_is_no_key(bare, tmp_path, make, said):
    with pytest.raises(KeyFileError, match=said) as caught:
        bare.execute(f"SET ppdm_key = '{make(tmp_path)}'")
    assert "00" * 32 not in str(caught.value)


def test_more_that_is_no_key(bare, tmp_path):
    with pytest.raises(KeyFileError, match="is not a file"):
        bare.execute("SET ppdm_key = ''")
    with ppdm_sql.connect(tmp_path / "x.duckdb") as con, pytest.raises(KeyFileError, match="database of this conn"):
        con.execute(f"SET ppdm_key = '{tmp_path / 'x.duckdb'}'")
    bare.execute("BEGIN")
    with pytest.raises(SettingError, match="transaction"):
        bare.execute(f"SET ppdm_key = '{tmp_path / 'a.key'}'")


def _written(path, text, mode):
    path.write_text(text)
    path.chmod(mode)
    return path
