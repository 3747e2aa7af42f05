"""Parts of a table are independent by their coins: what is put together, and what is refused, on every path."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.cli.main import main
from ppdm_sql.errors import ReleaseError, Unsupported
from ppdm_sql.publishing.release import publish

ROWS = 300
PARTS = 3


def part(folder, name, *, key, first=0, identity=True, named="id"):
    """A release of rows with ids from `first` on."""
    ids = np.arange(first, first + ROWS)
    source = pa.table({named: ids, "age": 20 + ids * 7 % 50})
    policy = {"table": "people", "columns": {"age": {"mechanism": "uniform", "retain": 0.4}}}
    policy["columns"]["age"]["domain"] = {"min": 20, "max": 69}
    if identity:
        policy["identity"] = [named]
    more = {"key": write_key(folder, key), "progress": False, "independent": named != "id"}
    publish(source, policy, to=folder / name, **more)
    return folder / name


def united(paths):
    rows = " UNION ALL ".join(f"SELECT age FROM read_parquet('{path}') AS p" for path in paths)
    return f"SELECT count(*), ppdm_error(count(*)) FROM ({rows}) AS u WHERE age > 40"


def listed(paths):
    files = ", ".join(f"'{path}'" for path in paths)
    return f"SELECT count(*), ppdm_error(count(*)) FROM read_parquet([{files}]) WHERE age > 40"


def answer(query):
    with ppdm_sql.connect() as con:
        return con.execute(query).fetchone()


@pytest.mark.parametrize("put_together", [united, listed])
@pytest.mark.parametrize("identity", [True, False])
def test_parts_with_keys_of_their_own(tmp_path, put_together, identity):
    paths = [part(tmp_path, f"{n}.parquet", key=n, identity=identity) for n in range(PARTS)]
    estimate, error = answer(put_together(paths))
    assert abs(estimate - PARTS * ROWS * 29 / 50) < 5 * error


@pytest.mark.parametrize("put_together", [united, listed])
def test_one_key_and_rows_that_differ(tmp_path, put_together):
    paths = [part(tmp_path, f"{n}.parquet", key=1, first=n * ROWS) for n in range(PARTS)]
    estimate, error = answer(put_together(paths))
    assert abs(estimate - PARTS * ROWS * 29 / 50) < 5 * error


@pytest.mark.parametrize("put_together", [united, listed])
@pytest.mark.parametrize(("identity", "said"), [(True, "id"), (False, "not released")])
def test_one_key_and_the_same_rows_or_nobody_knows(tmp_path, put_together, identity, said):
    first = ROWS - 1 if identity else ROWS
    paths = [part(tmp_path, f"{n}.parquet", key=1, first=n * first, identity=identity) for n in range(2)]
    with pytest.raises((ReleaseError, Unsupported), match=said):
        answer(put_together(paths))


@pytest.mark.parametrize("put_together", [united, listed])
def test_one_file_twice(tmp_path, put_together):
    path = part(tmp_path, "a.parquet", key=1)
    with pytest.raises((ReleaseError, Unsupported), match=r"same rows|share coins"):
        answer(put_together([path, path]))


def test_an_identity_under_another_name(tmp_path):
    """The number 7 has the same coins in whatever column it stands, and a name in other case is the same name."""
    one, other = (part(tmp_path, f"{name}.parquet", key=1, named=name) for name in ("id", "number"))
    with pytest.raises(Unsupported, match="identity goes by different names"):
        answer(united([one, other]))
    with pytest.raises(Unsupported, match="share coins"):
        answer(f"SELECT count(*) FROM '{one}' a JOIN '{other}' b ON a.id = b.number WHERE a.age > 40 AND b.age > 40")
    further, same = (part(tmp_path, f"{n}.parquet", key=1, named="ID", first=n * ROWS) for n in (1, 0))
    assert answer(united([one, further]))[0] > 0
    with pytest.raises(Unsupported, match="hold rows of one id"):
        answer(united([one, same]))


@pytest.mark.parametrize("column", ["age", "ID"])
def test_folders_that_would_be_read_as_a_column(tmp_path, column):
    """DuckDB reads what stands in a folder's name in place of the column in the file."""
    for n in range(2):
        folder = tmp_path / f"{column}={n}"
        folder.mkdir()
        part(folder, "p.parquet", key=n)
    pattern = tmp_path / "*" / "*.parquet"
    said = f"in place of the release's column '{column}': rename the folder"
    with pytest.raises(ReleaseError, match=said):
        ppdm_sql.connect(pattern)
    for put_together in (united, listed):
        with pytest.raises(ReleaseError, match=said):
            answer(put_together([pattern]))


def test_a_pattern_and_one_of_its_files(tmp_path):
    paths = [part(tmp_path, f"{n}.parquet", key=n) for n in range(2)]
    with pytest.raises(Unsupported, match="share coins"):
        answer(united([tmp_path / "*.parquet", paths[1]]))


def test_a_pattern_with_one_key_and_row_positions(tmp_path):
    for n in range(2):
        part(tmp_path, f"{n}.parquet", key=1, identity=False)
    with pytest.raises(ReleaseError, match="same coins"):
        ppdm_sql.connect(tmp_path / "*.parquet")


@pytest.mark.parametrize(("keys", "accepted"), [((1, 2), True), ((1, 1), False)])
def test_attached_files(tmp_path, keys, accepted):
    with ppdm_sql.connect() as con:
        for name, key in zip("ab", keys, strict=True):
            con.execute(f"ATTACH '{part(tmp_path, f'{name}.duckdb', key=key)}' AS {name} (READ_ONLY)")
        query = "SELECT count(*) FROM (SELECT age FROM a.people UNION ALL SELECT age FROM b.people) AS u WHERE age > 40"
        if accepted:
            assert con.execute(query).fetchone()[0] > 0
        else:
            with pytest.raises(Unsupported, match="share coins"):
                con.execute(query)


def test_intervals_over_parts_cover(tmp_path):
    z = []
    for trial in range(8):
        folder = tmp_path / str(trial)
        folder.mkdir()
        ids = [part(folder, f"{n}.parquet", key=100 * trial + n, identity=n > 0) for n in range(2)]
        ids += [part(folder, f"{n}.parquet", key=100 * trial + 1, first=n * ROWS) for n in (2, 3)]
        older = "count(*) FILTER (age > 40)"
        groups = f"SELECT id % 6, {older}, ppdm_error({older}) FROM ({{}}) u GROUP BY 1 ORDER BY 1"
        rows = " UNION ALL ".join(f"SELECT id, age FROM read_parquet('{path}') AS p" for path in ids)
        true = np.concatenate([np.arange(ROWS), *(np.arange(ROWS) + first for first in (0, 2 * ROWS, 3 * ROWS))])
        truth = np.bincount(true % 6, 20 + true * 7 % 50 > 40)
        with ppdm_sql.connect() as con:
            found = np.array(con.execute(groups.format(rows)).fetchall())
        z += list((found[:, 1] - truth) / found[:, 2])
    assert np.mean(np.abs(z) < 1.96) > 0.85  # of 48; at 95 % so few or fewer have a chance of one in a thousand
    assert 0.5 < np.mean(np.square(z)) < 1.6


def test_a_folder_is_its_parts(tmp_path, monkeypatch, capsys):
    whole = tmp_path / "it's a folder"
    whole.mkdir()
    for n in range(PARTS):
        part(whole, f"{n}.parquet", key=n)
    (whole / "notes.txt").write_text("no part")
    question = "SELECT count(*), ppdm_error(count(*)) FROM people WHERE age > 40"
    with ppdm_sql.connect(whole / "*.parquet") as con:
        expected = con.execute(question).fetchone()
    for path in (whole, f"{whole}/"):
        for options in ({}, {"locked": True}):
            with ppdm_sql.connect(path, **options) as con:
                assert con.execute(question).fetchone() == expected
    assert main(["query", str(whole), question, "--format", "csv"]) == 0
    assert float(capsys.readouterr().out.splitlines()[1].split(",")[0]) == pytest.approx(expected[0])
    monkeypatch.chdir(whole)
    with ppdm_sql.connect(".") as con:
        assert con.execute(question).fetchone() == expected
    part(whole, "again.parquet", key=0)
    with pytest.raises(ReleaseError, match="coins"):
        ppdm_sql.connect(whole)


def test_a_folder_that_is_no_release(tmp_path):
    with pytest.raises(ReleaseError, match="folder without Parquet files"):
        ppdm_sql.connect(tmp_path)
    (tmp_path / "a[b]").mkdir()
    part(tmp_path / "a[b]", "0.parquet", key=1)
    with pytest.raises(ReleaseError, match="would be read as a pattern"):
        ppdm_sql.connect(tmp_path / "a[b]")
