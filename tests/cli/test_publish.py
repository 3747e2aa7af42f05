from __future__ import annotations

import stat
from pathlib import Path

import duckdb
import pytest

POLICY = """\
table = "t"

[columns.age]
mechanism = "uniform"
domain = { min = 0, max = 99 }

[levels]
friends = 0.9
public = 0.2
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,town\n" + "".join(f"{i % 97},Ulm\n" for i in range(500)), encoding="utf-8")
    (tmp_path / "t.toml").write_text(POLICY, encoding="utf-8")
    return path


def arguments(source: Path, release: str, *more: str) -> list[str]:
    folder = source.parent
    to, key = str(folder / release), str(folder / "t.key")
    return ["publish", str(source), "--policy", str(folder / "t.toml"), "--to", to, "--key", key, *more]


def test_says_what_became_of_each_column(run, demo, tmp_path):
    release = str(tmp_path / "r.duckdb")
    done = run("publish", demo.source, "--policy", demo.policy, "--to", release, "--key", demo.key)
    assert (done.code, done.err) == (0, "")
    first, perturbed, exact, dropped, key = done.out.splitlines()
    assert first == f"people: 5,000 rows published to {release}"
    assert perturbed.startswith("perturbed: age (0.4 kept), hours (0.5 kept), ")
    assert exact == "released as they are: id, sex, region"
    assert dropped == "not released: ssn"
    assert key.startswith(f"key: {demo.key}, used as it was; keep it secret")
    assert demo.secret not in done.out


def test_a_key_is_made_where_there_is_none(run, source):
    done = run(*arguments(source, "r.duckdb", "--level", "public"))
    assert done.code == 0
    assert "t.key, made just now" in done.out
    assert stat.S_IMODE((source.parent / "t.key").stat().st_mode) == 0o600


def test_levels_differ_in_retention(run, source):
    for level, kept in (("friends", "0.9"), ("public", "0.2")):
        done = run(*arguments(source, f"{level}.parquet", "--level", level))
        assert f"age ({kept} kept)" in done.out
        assert f"t: 500 rows, level {level}\n" in run("explain", str(source.parent / f"{level}.parquet")).out


def test_an_existing_release_is_replaced_only_when_asked(run, source):
    assert run(*arguments(source, "r.duckdb", "--level", "public")).code == 0
    before = (source.parent / "r.duckdb").read_bytes()
    done = run(*arguments(source, "r.duckdb", "--level", "friends"))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "--replace" in done.err
    assert (source.parent / "r.duckdb").read_bytes() == before
    assert run(*arguments(source, "r.duckdb", "--level", "friends", "--replace")).code == 0


@pytest.mark.parametrize(
    ("policy", "more", "message"),
    [
        (POLICY, ("--level", "enemies"), "level 'enemies' is not declared in [levels] (declared: friends, public)."),
        (POLICY, (), "column 'age' has no retention of its own: name a level"),
        (POLICY.replace("max = 99", "max = 9"), ("--level", "public"), "source "),
        (POLICY.replace("uniform", "magic"), (), "column 'age' has unknown mechanism 'magic'."),
        (POLICY.replace("columns.age", "columns.agee"), ("--level", "public"), "column 'agee' of the policy is not in"),
        ("table = ", (), "policy "),
        ("x = 1", (), "the policy has an unknown key 'x'."),
    ],
)
def test_a_bad_policy_is_one_line_and_nothing_is_written(run, source, policy, more, message):
    (source.parent / "t.toml").write_text(policy, encoding="utf-8")
    done = run(*arguments(source, "r.duckdb", *more))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"ppdm-sql: {message}")
    left = {path.name for path in source.parent.iterdir()} - {"t.csv", "t.toml"}
    assert not left or (left == {"t.key"} and "t.key' was made for this and stays" in done.err)


def test_missing_files_are_named(run, demo, tmp_path):
    to = ("--to", str(tmp_path / "r.duckdb"), "--key", demo.key)
    assert "'gone.parquet' does not exist" in run("publish", "gone.parquet", "--policy", demo.policy, *to).err
    assert "'gone.toml' cannot be read" in run("publish", demo.source, "--policy", "gone.toml", *to).err
    nowhere = ("--to", str(tmp_path / "no" / "r.duckdb"), "--key", demo.key)
    assert "does not exist. Make it first." in run("publish", demo.source, "--policy", demo.policy, *nowhere).err


def test_a_value_outside_its_domain_is_not_told(run, tmp_path):
    source = tmp_path / "t.parquet"
    duckdb.sql("SELECT if(range = 7, 31337, range)::INTEGER AS age FROM range(50)").write_parquet(str(source))
    (tmp_path / "t.toml").write_text(POLICY, encoding="utf-8")
    done = run(*arguments(source, "r.duckdb", "--level", "public"))
    assert done.code == 2
    assert "'age'" in done.err
    assert "31337" not in done.err


def test_a_key_that_others_may_read_is_refused(run, source):
    key = source.parent / "t.key"
    assert run("keygen", str(key)).code == 0
    secret = key.read_text(encoding="ascii").splitlines()[-1]
    key.chmod(0o644)
    done = run(*arguments(source, "r.duckdb", "--level", "public"))
    assert done.code == 2
    assert "chmod 600" in done.err
    assert secret not in done.err


def test_keygen(run, tmp_path):
    key = tmp_path / "a.key"
    done = run("keygen", str(key))
    assert (done.code, done.err) == (0, "")
    secret = key.read_text(encoding="ascii").splitlines()[-1]
    assert done.out.startswith(f"key written to {key}: keep it secret")
    assert secret not in done.out
    again = run("keygen", str(key))
    assert (again.code, again.out) == (2, "")
    assert "exists already and is not overwritten" in again.err
    assert key.read_text(encoding="ascii").splitlines()[-1] == secret
    assert run("keygen", str(tmp_path / "no" / "a.key")).code == 2


def test_a_signed_release_from_keys_to_answers(run, source, tmp_path):
    secret, public, release = str(tmp_path / "p.sign"), str(tmp_path / "p.pub"), str(tmp_path / "r.duckdb")
    done = run("keygen", "--signing", secret)
    assert (done.code, done.err) == (0, "")
    assert f"signing key written to {secret}: keep it secret" in done.out and f"written to {public}" in done.out
    assert run("keygen", "--signing", secret).code == 2
    done = run(*arguments(source, "r.duckdb", "--level", "public", "--sign", secret))
    assert (done.code, done.err) == (0, "")
    assert f"signed: {release}.sig" in done.out
    opened = [
        ("query", release, "SELECT count(*) FROM t WHERE age > 30"),
        ("explain", release),
        ("explain", release, "SELECT count(*) FROM t WHERE age > 30"),
        ("report", release, "-o", str(tmp_path / "page.html"), "--replace"),
    ]
    for command in opened:
        done = run(*command, "--verify", public)
        assert (done.code, done.err) == (0, ""), command
    with duckdb.connect(release) as con:
        con.execute("UPDATE perturbed.t SET age = (SELECT max(age) FROM perturbed.t) WHERE rowid < 9")
    others = [
        ("shell", release),
        ("attack", release, "--source", str(source)),
        ("mine", "tree", release, "--target", "town"),
        ("mine", "itemsets", release, "--min-support", "0.1"),
        ("mine", "rules", release, "--min-support", "0.1"),
    ]
    for command in [*opened, *others]:
        done = run(*command, "--verify", public)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), command
        assert "is not what was signed" in done.err
    done = run("sign", release, "--sign", secret)
    assert (done.code, done.out) == (0, f"signed as it is: {release}, with t (500 rows)\n")
    assert run("query", release, "SELECT count(*) FROM t", "--verify", public).code == 0
    for command in (
        ("explain", str(source.parent / "t.toml")),
        ("report", str(source.parent / "t.toml"), "-o", "x.html"),
    ):
        assert "is a policy, which is not signed" in run(*command, "--verify", public).err
