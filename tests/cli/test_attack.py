from __future__ import annotations

import json

import pytest


@pytest.fixture(scope="module")
def other(demo, tmp_path_factory):
    """A second release of the demo's people, under a key of its own."""
    from ppdm_sql.publishing import publish

    path = tmp_path_factory.mktemp("other") / "other.parquet"
    publish(demo.source, demo.policy, to=path, key=bytes(range(32)), progress=False)
    return str(path)


def test_one_release(run, demo):
    done = run("attack", demo.release, "--source", demo.source)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"people: 5,000 rows, guessed from {demo.release}\n")
    assert "rows matched: by id\n" in done.out
    lines = {line.split(" | ")[0].strip(): line.split(" | ")[1:] for line in done.out.splitlines() if " | " in line}
    assert [name.strip() for name in lines["column"]] == ["commonest", "release", "surest rows", "right of them"]
    assert 35 < float(lines["age"][1]) < 45
    assert "Of a row's 7 perturbed columns," in done.out


def test_two_keys_are_told(run, demo, other):
    done = run("attack", demo.release, other, "--source", demo.source)
    assert (done.code, done.err) == (0, "")
    assert (
        "age, hours, education, occupation, wage, married, moved: independent copies (releases 1, 2): what" in done.out
    )


def test_as_json(run, demo, other):
    done = run("attack", demo.release, other, "--source", demo.source, "--format", "json")
    body = json.loads(done.out)
    assert body["releases"] == [demo.release, other]
    age = body["columns"][0]
    assert age["name"] == "age"
    assert age["together"]["share"] == age["together"]["right"] / age["together"]["rows"]
    assert not age["pairs"][0]["coupling"]["coupled"]
    assert sum(body["whole_rows"]["right_columns"]) == body["rows"] == 5000


def test_bad_input_is_one_line(run, demo):
    for arguments, message in [
        ((demo.release, "--source", "gone.parquet"), "source 'gone.parquet' does not exist"),
        (("gone.duckdb", "--source", demo.source), "there is no file 'gone.duckdb'"),
        ((demo.source, "--source", demo.source), f"{demo.source!r} is not a release"),
        ((demo.release,), "the following arguments are required: --source"),
        ((demo.release, "--source", demo.source, "--prior", "x"), "argument --prior: invalid choice"),
    ]:
        done = run("attack", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"ppdm-sql: {message}")


def test_no_value_and_no_key_is_printed(run, demo):
    done = run("attack", demo.release, "--source", demo.source)
    assert demo.secret not in done.out
    assert "9" + "0" * 8 not in done.out
