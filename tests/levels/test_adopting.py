"""Adopting by file: what is named and how, what is refused before and after reading, and nothing released then."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.cli.main import main
from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.publishing.ledger import ledger_path, read_ledger
from ppdm_sql.publishing.release import publish
from tests.keys import write_key

ROWS = 3_000
NOISY = {"mechanism": "gaussian", "covariance": "data"}
POLICY = {
    "table": "people",
    "identity": ["id"],
    "columns": {
        "kids": {
            "mechanism": "uniform",
            "domain": {"min": 0, "max": 5},
            "retain": {"old": 0.4, "more": 0.7, "less": 0.1},
        },
        "age": NOISY | {"noise": {"old": 0.25, "more": 0.1, "less": 1.0}, "step": 1},
        "wage": NOISY | {"noise": {"old": 0.25, "more": 0.1, "less": 0.5}, "step": 1},
        "city": {"mechanism": "swap", "retain": 0.5},
    },
}


def table():
    rng = np.random.default_rng(3)
    shared = rng.normal(size=ROWS)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "age": np.rint(45 + 12 * shared),
            "wage": np.rint(30_000 + 8_000 * (0.6 * shared + 0.8 * rng.normal(size=ROWS))),
            "kids": rng.integers(0, 6, ROWS),
            "city": rng.choice(["a", "b", "c"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The source, an old release of it, one that is not coupled with it, and copies that are something else."""
    path = tmp_path_factory.mktemp("copies")
    publish(table(), POLICY, to=path / "old.parquet", key=write_key(path, 1), level="old")
    publish(table(), POLICY, to=path / "alien.parquet", key=write_key(path, 2), level="less")
    old = pq.read_table(path / "old.parquet")
    places = {name: old.schema.get_field_index(name) for name in old.schema.names}
    wrong_way = old.set_column(places["age"], "age", old["wage"]).set_column(places["wage"], "wage", old["age"])
    pq.write_table(wrong_way, path / "swapped.parquet")
    fine = old.set_column(places["age"], "age", pa.array(old["age"].to_numpy() + 0.25))
    pq.write_table(fine, path / "fine.parquet")
    pq.write_table(old.select(["id", "kids", "age"]), path / "part.parquet")
    pq.write_table(old.set_column(places["id"], "id", pa.array(np.arange(10_000, 10_000 + ROWS))), path / "ids.parquet")
    pq.write_table(old.slice(0, 0), path / "empty.parquet")
    pq.write_table(table(), path / "t.parquet")
    return path


ALL = {"kids": 0.4, "age": 0.25, "wage": 0.25}


def shown(path):
    with duckdb.connect() as con:
        return con.sql(f"SELECT * FROM '{path}' ORDER BY id").fetchnumpy()


def test_a_release_under_another_key_becomes_a_level(folder, tmp_path):
    original, old, key = table(), shown(folder / "old.parquet"), write_key(tmp_path, 5)
    found = {}
    for level in ("less", "old", "more"):
        to = tmp_path / f"{level}.parquet"
        publish(table(), POLICY, to=to, key=key, level=level, adopt={str(folder / "old.parquet"): ALL})
        found[level] = shown(to)
    for name in ALL:
        assert (found["old"][name] == old[name]).all()
    assert read_ledger(ledger_path(key))[0].adopted == {"kids": (0.4,), "age": (0.25,), "wage": (0.25,)}
    size = {"age": 12.0, "wage": 8_000.0}
    points = [("more", "age", 0.1), ("old", "age", 0.25), ("less", "age", 1.0)]
    points += [("more", "wage", 0.1), ("old", "wage", 0.25), ("less", "wage", 0.5)]
    noise = np.stack([(found[level][c] - original[c].to_numpy()) / size[c] for level, c, _ in points])
    together = np.array([[1.0 if a[1] == b[1] else 0.6 for b in points] for a in points])
    expected = together * np.minimum.outer([p[2] for p in points], [p[2] for p in points])
    spread = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / ROWS)
    # K is rounded to two digits: deviations of 12 and 8,000 by 4 %, the correlation by .005.
    assert (np.abs(np.cov(noise) - expected) < 5 * spread + 0.1 * expected).all()
    for (_, better), (_, worse) in itertools.pairwise([("more", 0.7), ("old", 0.4), ("less", 0.1)]):
        names = {0.7: "more", 0.4: "old", 0.1: "less"}
        share = worse / better + (1 - worse / better) / 6
        agree = np.mean(found[names[better]]["kids"] == found[names[worse]]["kids"])
        assert abs(agree - share) < 5 * np.sqrt(share * (1 - share) / ROWS)
    with pytest.raises(PolicyError, match="other copies were adopted then"):
        publish(table(), POLICY, to=tmp_path / "forgotten.parquet", key=key, level="more")


@pytest.mark.parametrize(
    ("adopt", "match"),
    [
        ({"old.parquet": 0.4}, "'age' has Gaussian noise, and one number.*old.parquet=age:0.4,wage:0.25"),
        (
            {"old.parquet": {"kids": 0.4, "city": 0.5}},
            "'city' is perturbed by 'swap', a copy of which cannot be adopted",
        ),
        ({"old.parquet": {"kidz": 0.4}}, "'kidz' is no column that this policy perturbs. Did you mean 'kids'"),
        ({"old.parquet": {"id": 0.4}}, "'id' is no column that this policy perturbs"),
        ({"old.parquet": {}}, "name at least one column"),
        ({"old.parquet": {"kids": 0.4, "KIDS": 0.4}}, "each once"),
        ({"old.parquet": {"kids": "0.4"}}, "'kids' needs a number"),
        ({"old.parquet": {"kids": 1.0}}, "retention of column 'kids' is a number above 0 and below 1"),
        ({"old.parquet": {"age": 1e7, "wage": 1e7}}, "must lie between"),
        ({"old.parquet": {"age": 0.1234567890123456, "wage": 0.1234567890123456}}, "significant digits"),
        ({"old.parquet": {"age": 0.25}}, "'age' and 'wage' goes together.*say the noise of 'wage' too"),
        ({"old.parquet": {"age": 0.25, "wage": 0.5}}, "at one noise for all"),
        ({"part.parquet": ALL}, "has no column 'wage'"),
        ([("old.parquet", {"kids": 0.4}), ("alien.parquet", {"kids": 0.4})], "'kids': two adopted copies have one ret"),
        ([("old.parquet", ALL), ("alien.parquet", ALL)], "two adopted copies have one"),
        ({"fine.parquet": ALL}, "'age' has numbers that are no multiples of its step, 1"),
        ({"empty.parquet": ALL}, "has no rows"),
        ({"ids.parquet": ALL}, "0 of its 3,000 rows have an identity that is found among the 3,000 rows of the source"),
        (
            {"old.parquet": {"kids": 0.9}},
            r"'kids' is declared to be kept with retention 0\.9, but.* of 0\.[34]",
        ),
        ({"old.parquet": {"age": 0.5, "wage": 0.5}}, "declared to have noise 0.5, but in 3,000 rows"),
        ({"swapped.parquet": ALL}, "far too much says that it is a copy of another column"),
        ([("old.parquet", {"kids": 0.4}), ("alien.parquet", {"kids": 0.1})], "'kids' of the two.*not coupled"),
    ],
)
def test_what_is_refused(adopt, match, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    key = write_key(tmp_path, 6)
    with pytest.raises((PolicyError, SourceError), match=f"(?s){match}"):
        publish(table(), POLICY, to=tmp_path / "r.parquet", key=key, level="more", adopt=adopt)
    assert not (tmp_path / "r.parquet").exists() and not ledger_path(key).exists()


def test_noise_of_two_copies_that_are_not_coupled(folder, tmp_path):
    """The second copy has another magnitude for each column, so single columns of it are looked at."""
    columns = {"age": {"mechanism": "gaussian", "noise": 0.5, "deviation": 12, "step": 1}}
    policy = {"table": "people", "identity": ["id"], "columns": columns}
    for number, noise in ((1, 0.25), (2, 1.0)):
        one = policy | {"columns": {"age": columns["age"] | {"noise": noise}}}
        source = table().select(["id", "age"])
        publish(source, one, to=tmp_path / f"{number}.parquet", key=write_key(tmp_path, number))
    adopt = {str(tmp_path / "1.parquet"): {"age": 0.25}, str(tmp_path / "2.parquet"): {"age": 1.0}}
    with pytest.raises(SourceError, match=r"by noise 1\.[12].*which is 0\.75 where.*not coupled"):
        publish(source, policy, to=tmp_path / "r.parquet", key=write_key(tmp_path, 3), adopt=adopt)


def test_five_rows_are_adopted(tmp_path):
    policy = POLICY | {"columns": {name: POLICY["columns"][name] for name in ("kids",)}}
    few = table().select(["id", "kids"]).slice(0, 5)
    pq.write_table(few, tmp_path / "old.parquet")
    publish(few, policy, to=tmp_path / "r.parquet", key=write_key(tmp_path, 7), level="more",
            adopt={str(tmp_path / "old.parquet"): 0.4})  # fmt: skip
    assert pq.read_table(tmp_path / "r.parquet").num_rows == 5


def test_the_command_line(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    Path("p.toml").write_text(
        'table = "people"\nidentity = ["id"]\n[columns.kids]\nmechanism = "uniform"\nretain = 0.7\n'
        "domain = { min = 0, max = 5 }\n"
        '[columns.age]\nmechanism = "gaussian"\nnoise = 0.5\ncovariance = "data"\nstep = 1\n'
        '[columns.wage]\nmechanism = "gaussian"\nnoise = 0.5\ncovariance = "data"\nstep = 1\n'
    )

    def run(said, number=8):
        key = write_key(tmp_path, number)
        command = ["publish", "t.parquet", "--policy", "p.toml", "--key", str(key), "--to", str(tmp_path / "r.parquet")]
        return main([*command, "--replace", "--adopt", said]), capsys.readouterr().err

    assert run('old.parquet=kids:0.4,"age":0.25,wage:0.25') == (0, "")
    assert "retention of 0." in run("old.parquet=kids:0.9", 9)[1]
    for said in ("old.parquet=", "old.parquet=kids", "old.parquet=kids:", "old.parquet=kids:0.4,", "=0.4", "a:0.4"):
        code, message = run(said)
        assert code == 2 and "such as old.parquet=age:0.4,wage:0.25" in message
    assert "named twice" in run("old.parquet=kids:0.4,kids:0.5")[1]
