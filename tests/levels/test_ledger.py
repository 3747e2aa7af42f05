"""The ledger: what is recorded, what is refused beside it, what adds up; and adopted copies, published."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ppdm_sql
from ppdm_sql.cli.main import main
from ppdm_sql.errors import KeyFileError, PolicyError, SourceError, TargetError
from ppdm_sql.mechanisms.retention import gamma_of_retention
from ppdm_sql.publishing.ledger import added_up, ledger_path, read_ledger
from ppdm_sql.publishing.release import publish

SIZE = 6


def table(rows=3_000):
    rng = np.random.default_rng(4)
    return pa.table({"id": np.arange(rows), "x": rng.integers(0, SIZE, rows), "y": rng.integers(0, SIZE, rows)})


def policy(mechanism="uniform", high=SIZE - 1, name="t", **more):
    column = {"mechanism": mechanism, "retain": 0.5, **more}
    if mechanism in ("uniform", "custom"):
        column["domain"] = {"min": 0, "max": high}
    return {"table": name, "identity": ["id"], "columns": {"x": column}, "levels": {"some": 0.3, "few": 0.1}}


def shown(path):
    with duckdb.connect() as con:
        return con.sql(f"SELECT x FROM '{path}' ORDER BY id").fetchnumpy()["x"].astype(int)


@pytest.fixture
def key(tmp_path):
    return tmp_path / "a.key"


def test_a_key_has_one_ledger_whatever_links_lead_to_it(key, tmp_path):
    publish(table(), policy(), to=tmp_path / "r.parquet", key=key)
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.key"
    link.symlink_to(key)
    with pytest.raises(PolicyError, match="was released before by this key"):
        publish(table(), policy(high=2 * SIZE), to=tmp_path / "other.parquet", key=link)
    publish(table(), policy(), to=tmp_path / "again.parquet", key=link)
    assert len(read_ledger(ledger_path(link))) == len(read_ledger(ledger_path(key))) == 2
    assert [path.name for path in link.parent.iterdir()] == ["link.key"]


def test_levels_are_recorded_and_listed(key, tmp_path, capsys):
    for level in ("few", "some"):
        publish(table(), policy(), to=tmp_path / f"{level}.parquet", key=key, level=level)
    entries = read_ledger(ledger_path(key))
    assert [(entry.level, entry.columns["x"]["retain"], entry.rows) for entry in entries] == [
        ("few", 0.1, 3_000),
        ("some", 0.3, 3_000),
    ]
    text = ledger_path(key).read_text()
    secret = key.read_text().split("\n")[1]
    assert secret not in text and secret[:16] not in text
    assert main(["levels", str(key)]) == 0
    listed = capsys.readouterr().out
    assert "few" in listed and "x 0.3" in listed and "some.parquet" in listed


def test_nothing_is_recorded_of_what_fails(key, tmp_path):
    with pytest.raises(SourceError):
        publish(table(), policy(high=3), to=tmp_path / "r.parquet", key=key)
    assert not ledger_path(key).exists()
    assert main(["levels", str(key)]) == 2


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_what_cannot_be_a_key_has_no_ledger(name, capsys):
    assert main(["levels", name]) == 2
    assert "is not the name of a key file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (policy(high=SIZE), "its domain was different then"),
        (policy("swap"), "its mechanism was 'uniform' then"),
        (policy(nulls="value"), "its nulls was different then"),
        (policy() | {"identity": []}, "rows were named by other columns then"),
    ],
)
def test_what_cannot_be_coupled_is_refused(other, reason, key, tmp_path):
    publish(table(), policy(), to=tmp_path / "first.parquet", key=key)
    said = f"first.parquet'.*cannot be coupled with it, for {reason}.*would be independent draws of the same values"
    with pytest.raises(PolicyError, match=said):
        publish(table(), other, to=tmp_path / "second.parquet", key=key)
    assert not (tmp_path / "second.parquet").exists()
    publish(table(), other, to=tmp_path / "second.parquet", key=key, independent=True)
    assert len(read_ledger(ledger_path(key))) == 2


@pytest.mark.parametrize("mechanism", ["uniform", "swap", "identity"])
def test_whether_nulls_are_let_pass_or_refused_changes_no_coin(mechanism, key, tmp_path):
    for nulls in ("error", "keep"):
        publish(table(), policy(mechanism, nulls=nulls), to=tmp_path / f"{nulls}.parquet", key=key)
    assert (shown(tmp_path / "error.parquet") == shown(tmp_path / "keep.parquet")).all()


def test_a_source_under_another_name_is_noticed(key, tmp_path):
    source = tmp_path / "people.parquet"
    pq.write_table(table(), source)
    publish(source, policy(), to=tmp_path / "first.parquet", key=key)
    with pytest.raises(PolicyError, match="the table was called 't' then"):
        publish(source, policy(name="u"), to=tmp_path / "second.parquet", key=key)


def test_epsilons_add_up_where_copies_are_independent(key, tmp_path):
    def epsilon(retain, size=SIZE):
        return np.log(gamma_of_retention(retain, size))

    publish(table(), policy(), to=tmp_path / "a.parquet", key=key)
    publish(table(), policy(), to=tmp_path / "b.parquet", key=key, level="few")
    assert added_up(read_ledger(ledger_path(key)))["x"] == pytest.approx(epsilon(0.5))
    publish(table(), policy(high=SIZE), to=tmp_path / "c.parquet", key=key, independent=True)
    together = epsilon(0.5) + epsilon(0.5, SIZE + 1)
    assert added_up(read_ledger(ledger_path(key)))["x"] == pytest.approx(together)
    with pytest.raises(PolicyError, match=f"become {together:.3g}"):
        publish(table(), policy(high=SIZE), to=tmp_path / "d.parquet", key=key)


def test_a_damaged_ledger_is_named(key, tmp_path):
    publish(table(), policy(), to=tmp_path / "a.parquet", key=key)
    ledger_path(key).write_text("{}\n")
    with pytest.raises(KeyFileError, match="is damaged"):
        publish(table(), policy(), to=tmp_path / "b.parquet", key=key)
    for nested in ("[" * 100_000 + "\n", '{"ppdm_ledger": ' + "[" * 100_000 + "\n"):
        ledger_path(key).write_text(nested)
        with pytest.raises(KeyFileError, match="is damaged"):
            publish(table(), policy(), to=tmp_path / "b.parquet", key=key)
    ledger_path(key).write_text(json.dumps({"ppdm_ledger": 99}) + "\n")
    assert main(["levels", str(key)]) == 2


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ('"mechanism": "uniform"', '"mechanism": "foo"'),
        ('"table": "t"', '"table": 3'),
        ('"adopted": {}', '"adopted": {"x": ["a"]}'),
        ('"rows": 3000', '"rows": null'),
        ('"coins": {', '"coins": [1], "were": {'),
        ('"identity": ["id"]', '"identity": [[1]]'),
    ],
)
def test_a_ledger_with_a_field_of_another_kind(part, other, key, tmp_path):
    publish(table(), policy(), to=tmp_path / "a.parquet", key=key)
    text = ledger_path(key).read_text()
    assert part in text
    ledger_path(key).write_text(text.replace(part, other))
    with pytest.raises(KeyFileError, match="is damaged"):
        publish(table(), policy(high=SIZE), to=tmp_path / "b.parquet", key=key)
    assert main(["levels", str(key)]) == 2
    assert not (tmp_path / "b.parquet").exists()


def test_levels_of_one_column_beside_a_fixed_one(key, tmp_path):
    columns = {
        "x": {"mechanism": "uniform", "domain": {"min": 0, "max": 5}, "retain": {"near": 0.9, "far": 0.2}},
        "y": {"mechanism": "uniform", "domain": {"min": 0, "max": 5}, "retain": 0.4},
    }
    both = {"table": "t", "identity": ["id"], "columns": columns}
    manifest = publish(table(), both, to=tmp_path / "n.parquet", key=key, level="near")
    assert {column.name: column.retain for column in manifest.perturbed} == {"x": 0.9, "y": 0.4}
    with pytest.raises(PolicyError, match="no retention of its own: name a level"):
        publish(table(), both, to=tmp_path / "o.parquet", key=key)
    with pytest.raises(PolicyError, match="level 'nobody' is not declared"):
        publish(table(), both, to=tmp_path / "o.parquet", key=key, level="nobody")


def old_copy(path, retain=0.4, rows=3_000):
    """A copy that somebody drew with other coins."""
    rng, original = np.random.default_rng(11), table(rows)
    x = np.where(rng.random(rows) < retain, original["x"].to_numpy(), rng.integers(0, SIZE, rows))
    order = rng.permutation(rows)
    pq.write_table(pa.table({"x": x[order], "id": np.arange(rows)[order]}), path)
    return x


@pytest.mark.parametrize(("retain", "better", "worse"), [(0.8, 1.0, 0.4), (0.1, 0.4, None)])
def test_adopted_copies_are_coupled_with_new_levels(retain, better, worse, key, tmp_path):
    """A new level agrees with the old copy as often as a chain does, far oftener than a fresh draw would."""
    old, original = old_copy(tmp_path / "old.parquet"), table()["x"].to_numpy()
    level = policy(retain=retain) | {"levels": {}}
    publish(table(), level, to=tmp_path / "new.parquet", key=key, adopt={str(tmp_path / "old.parquet"): 0.4})
    new = shown(tmp_path / "new.parquet")
    share = (0.4 / retain if worse else retain / 0.4) + (1 - (0.4 / retain if worse else retain / 0.4)) / SIZE
    assert abs(np.mean(new == old) - share) < 5 * np.sqrt(share * (1 - share) / len(new))
    kept = retain + (1 - retain) / SIZE
    assert abs(np.mean(new == original) - kept) < 5 * np.sqrt(kept * (1 - kept) / len(new))
    assert read_ledger(ledger_path(key))[0].adopted == {"x": (0.4,)}
    further = policy(retain=0.2) | {"levels": {}}
    publish(table(), further, to=tmp_path / "further.parquet", key=key, adopt={str(tmp_path / "old.parquet"): 0.4})
    with pytest.raises(PolicyError, match="other copies were adopted then"):
        publish(table(), level, to=tmp_path / "forgotten.parquet", key=key)


def test_a_copy_is_found_by_an_identity_in_any_order(key, tmp_path):
    """The level that is adopted is the copy, whatever the order in which the policy names the columns."""
    named = table().append_column("b", pa.array(np.arange(3_000) % 7)).rename_columns(["a", "x", "y", "b"])
    old = old_copy(tmp_path / "old.parquet")
    pq.write_table(pa.table({"x": old, "a": np.arange(3_000), "b": np.arange(3_000) % 7}), tmp_path / "copy.parquet")
    for number, identity in enumerate((["b", "a"], ["a", "b"])):
        said, to = policy(retain=0.4) | {"identity": identity}, tmp_path / f"{number}.duckdb"
        publish(named, said, to=to, key=key, adopt={str(tmp_path / "copy.parquet"): 0.4})
        with ppdm_sql.connect(to) as con:
            assert [x for (x,) in con.execute("SELECT x FROM t ORDER BY a").fetchall()] == old.tolist()


def test_rows_that_the_copy_does_not_have_are_drawn_as_ever(key, tmp_path):
    old_copy(tmp_path / "old.parquet", rows=2_000)
    plain, other = tmp_path / "plain.parquet", tmp_path / "with.parquet"
    publish(table(), policy(), to=plain, key=key)
    publish(table(), policy(), to=other, key=key, adopt=[(str(tmp_path / "old.parquet"), 0.4)], independent=True)
    assert (shown(plain)[2_000:] == shown(other)[2_000:]).all()
    assert (shown(plain)[:2_000] != shown(other)[:2_000]).any()


def test_a_level_that_is_adopted_is_the_copy(key, tmp_path):
    old = old_copy(tmp_path / "old.parquet")
    publish(table(), policy(retain=0.4), to=tmp_path / "r.duckdb", key=key, adopt={str(tmp_path / "old.parquet"): 0.4})
    with ppdm_sql.connect(tmp_path / "r.duckdb") as con:
        assert [x for (x,) in con.execute("SELECT x FROM t ORDER BY id").fetchall()] == old.tolist()


@pytest.mark.parametrize(
    ("adopt", "message"),
    [
        ({"old.parquet": 1.0}, "above 0 and below 1"),
        ([("old.parquet", 0.4), ("old2.parquet", 0.4)], "one retention"),
        ({"strange.parquet": 0.4}, "none of the columns"),
        ({"nameless.parquet": 0.4}, "has no column 'id'"),
        ({"outside.parquet": 0.4}, "no copy under this policy"),
        ({"twice.parquet": 0.4}, "one identity"),
        ({"missing.parquet": 0.4}, "does not exist"),
        ([("old.parquet", 0.4, 0.5)], "adopt takes copies with what is declared of each"),
        (["old.parquet"], "adopt takes copies with what is declared of each"),
    ],
)
def test_bad_copies(adopt, message, key, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old_copy(Path("old.parquet"))
    old_copy(Path("old2.parquet"))
    pq.write_table(pa.table({"z": [1]}), "strange.parquet")
    pq.write_table(pa.table({"x": [1]}), "nameless.parquet")
    pq.write_table(pa.table({"id": [1], "x": [77]}), "outside.parquet")
    pq.write_table(pa.table({"id": [1, 1], "x": [2, 2]}), "twice.parquet")
    with pytest.raises((PolicyError, SourceError), match=message):
        publish(table(), policy(), to="r.parquet", key=key, adopt=adopt)
    assert not Path("r.parquet").exists() and not ledger_path(key).exists()


def test_an_adopted_copy_is_not_the_target(key, tmp_path):
    copy = tmp_path / "old.parquet"
    old_copy(copy)
    before = copy.read_bytes()
    with pytest.raises(TargetError, match="is an adopted copy, which every later release must name too"):
        publish(table(), policy(), to=copy, key=key, adopt={copy: 0.4}, replace=True)
    assert copy.read_bytes() == before


def test_the_command_line(key, tmp_path, capsys):
    pq.write_table(table(), tmp_path / "t.parquet")
    old_copy(tmp_path / "old.parquet")
    column = 'mechanism = "uniform"\ndomain = { min = 0, max = 5 }\nretain = 0.6\n'
    text = f'table = "t"\nidentity = ["id"]\n[columns.x]\n{column}'
    (tmp_path / "p.toml").write_text(text)
    command = ["publish", str(tmp_path / "t.parquet"), "--policy", str(tmp_path / "p.toml"), "--key", str(key)]
    assert main([*command, "--to", str(tmp_path / "r.parquet"), "--adopt", f"{tmp_path / 'old.parquet'}=0.4"]) == 0
    capsys.readouterr()
    assert main([*command, "--to", str(tmp_path / "s.parquet")]) == 2
    assert "other copies were adopted" in capsys.readouterr().err
    assert main([*command, "--to", str(tmp_path / "s.parquet"), "--independent"]) == 0
    assert main([*command, "--to", str(tmp_path / "u.parquet"), "--adopt", "old"]) == 2
    assert "such as old.parquet=0.4" in capsys.readouterr().err
