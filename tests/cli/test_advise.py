from __future__ import annotations

import json

import pytest

ASKED = ("--rows", "200000", "--rho1", "0.1", "--rho2", "0.5", "--error", "0.005")


def test_text_says_what_can_be_had_and_what_would_do(run, demo):
    done = run("advise", demo.policy, *ASKED)
    assert (done.code, done.err) == (0, "")
    for part in (
        "people: 200,000 rows, 7 perturbed columns",
        "asked: what was at most 10 % likely never gets 50 % likely, so gamma below 9, for each column; "
        "a standard error of at most 0.5 % of the rows",
        "| over 100 %",
        "age, hours: if the column holds whole numbers.",
        "moved: which rows are NULL stays visible",
        "age: both cannot be had. The error takes a retention of 0.2182.",
        "a coarser domain, of at most 28 values: step = 5, max = 92 (16 values)",
        'mechanism = "small_domain", if the rows fall into parts that hold at most 28 of its values each',
        "more rows: 1,040,626",
        "less privacy: gamma 21.66",
        "the row as a whole: epsilon 15.38",
    ):
        assert part in done.out
    assert "education: both" not in done.out


def test_a_policy_as_it_stands_is_put_into_words(run, demo):
    done = run("advise", demo.policy, "--rows", "200000", "--predicates", "2")
    assert "asked: nothing, so this is the policy as it stands" in done.out
    assert "Such a gamma promises next to nothing" in done.out  # the wage is to the cent
    assert "What does hold: where a value is seen that is less than 17 times as common" in done.out
    assert "the worst count by 2 conditions: error " in done.out


def test_json_has_the_same_and_null_for_what_is_not_known(run, demo, tmp_path):
    done = run("advise", demo.policy, *ASKED, "--format", "json")
    body = json.loads(done.out)
    columns = {column["name"]: column for column in body["columns"]}
    assert columns["age"]["size"] == 74
    assert columns["age"]["retain"] == pytest.approx(8 / 82)
    assert columns["age"]["gamma"] == pytest.approx(9)
    assert columns["age"]["both"] is False and columns["education"]["both"] is True
    assert columns["age"]["remedies"]["rows"] == 1_040_626
    assert body["wishes"]["promise"] == {"asked": "privacy", "value": 0.1, "rho2": 0.5}
    assert body["both"] is False

    policy = tmp_path / "policy.toml"
    policy.write_text(
        'table = "t"\n[columns.x]\nmechanism = "uniform"\ndomain = { min = 0.5, max = 9.5 }\ngamma = 4\n'
        '[columns.y]\nmechanism = "uniform"\ndomain = { values = [1, 2] }\nretain = 1\n',
        encoding="utf-8",
    )
    body = json.loads(run("advise", str(policy), "--rows", "10", "--format", "json").out)
    assert body["columns"][0]["retain"] is None and body["row_epsilon"] is None
    assert body["columns"][1]["gamma"] == "infinite"
    shown = run("advise", str(policy), "--rows", "10").out
    assert "x: how many values the domain has, and so what a promise keeps, depends on the column's type." in shown
    assert "Every value is published as it is: this protects nothing." in shown


def test_the_edited_policy_can_be_published(run, demo, tmp_path):
    edited, release = tmp_path / "edited.toml", tmp_path / "release.duckdb"
    done = run("advise", demo.policy, "--rows", "5000", "--gamma", "19", "-o", str(edited))
    assert done.out.endswith(f"the policy with these retentions: {edited}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["edited.toml"]
    done = run("publish", demo.source, "--policy", str(edited), "--to", str(release), "--key", demo.key)
    assert "education (0.783 kept)" in done.out
    assert "age (0.196 kept)" in done.out


def test_levels_are_shown_and_lowered(run, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'table = "t"\n[levels]\nall = 0.9\n[columns.x]\nmechanism = "uniform"\ndomain = { values = [1, 2] }\n'
        '[columns.y]\nmechanism = "uniform"\ndomain = { values = [1, 2] }\nretain = { all = 0.1, boss = 0.9 }\n',
        encoding="utf-8",
    )
    done = run("advise", str(policy), "--rows", "10", "--gamma", "9", "-o", str(tmp_path / "new.toml"))
    assert "levels that keep the promise for every column: all 0.8 (now 0.9)\n" in done.out
    assert "levels of y that keep it: all 0.1, boss 0.8 (now 0.9)" in done.out
    text = (tmp_path / "new.toml").read_text(encoding="utf-8")
    assert "all = 0.8\n" in text and "retain = { all = 0.1, boss = 0.8 }" in text and "gamma = 9.0" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--rho1", "0.1"), "rho1 and rho2 belong together"),
        (("--gamma", "2", "--epsilon", "1"), "privacy is asked for twice (gamma, epsilon)"),
        (("--gamma", "nan"), "the privacy asked for: gamma = nan must be a number above 1"),
        (("--error", "1.5"), "error = 1.5 must be above 0 and below 1"),
        (("--predicates", "8"), "predicates = 8 must be from 1 to 7"),
        (("-o", "x.toml"), "nothing was asked of the policy"),
        (("--gamma", "2", "-o", "/nowhere/x.toml"), "'/nowhere/x.toml' cannot be written: No such file or directory."),
    ],
)
def test_bad_wishes_are_one_line_and_write_nothing(run, demo, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("advise", demo.policy, "--rows", "1000", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ppdm-sql: {message}")
    assert done.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_not_written_over_unasked(run, demo, tmp_path):
    there = tmp_path / "there.toml"
    there.write_text("mine", encoding="utf-8")
    done = run("advise", demo.policy, "--rows", "1000", "--gamma", "2", "-o", str(there))
    assert (done.code, there.read_text(encoding="utf-8")) == (2, "mine")
    assert "exists already: name another file, or say --replace." in done.err
    assert run("advise", demo.policy, "--rows", "1000", "--gamma", "2", "-o", str(there), "--replace").code == 0
    assert "gamma = 2.0" in there.read_text(encoding="utf-8")
