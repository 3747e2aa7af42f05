from __future__ import annotations

from pathlib import Path


def test_a_policy(run, demo, tmp_path):
    page = tmp_path / "page.html"
    done = run("report", demo.policy, "-o", str(page))
    assert (done.code, done.out, done.err) == (0, f"page written to {page}\n", "")
    assert "A 54 is published as 54 with 40.8\N{NO-BREAK SPACE}%" in page.read_text(encoding="utf-8")
    assert run("report", demo.policy, "-o", str(page)).code == 2
    assert run("report", demo.policy, "-o", str(page), "--replace").code == 0


def test_a_release_with_its_source(run, demo, tmp_path):
    page = tmp_path / "page.html"
    done = run("report", demo.release, "--source", demo.source, "-o", str(page))
    assert (done.code, done.err) == (0, "")
    assert done.out == f"page written to {page}; it was made with the original, and is not for publication\n"
    text = page.read_text(encoding="utf-8")
    assert "Audit: what no formula sees" in text
    assert demo.secret not in text


def test_the_plot_of_an_attack(run, demo, tmp_path):
    page = tmp_path / "attack.html"
    arguments = ("attack", demo.release, "--source", demo.source, "--plot", str(page))
    assert run(*arguments).code == 0
    assert "what guessing gets right" in page.read_text(encoding="utf-8")
    again = run(*arguments)
    assert (again.code, again.out) == (2, "")
    assert "is there already" in again.err


def test_bad_input_is_one_line_and_writes_nothing(run, demo, tmp_path):
    page = str(tmp_path / "page.html")
    for arguments, message in [
        (("gone.toml", "-o", page), "policy 'gone.toml' cannot be read"),
        (("gone.duckdb", "-o", page), "there is no file 'gone.duckdb'"),
        ((demo.policy, "--source", "gone.parquet", "-o", page), "source 'gone.parquet' does not exist"),
        ((demo.policy, "--level", "x", "-o", page), "level 'x' is not declared"),
        ((demo.policy, "--rows", "0", "-o", page), "argument --rows: '0' is not a whole number above 0"),
        ((demo.policy, "--source", demo.source, "--rows", "9", "-o", page), "the source says how many rows"),
        ((demo.policy, "--table", "people", "-o", page), "a policy is for one table"),
        ((demo.source, "-o", page), f"{demo.source!r} is not a release"),
        ((demo.policy,), "the following arguments are required: -o/--output"),
        ((demo.policy, "-o", str(tmp_path / "page.txt")), "page"),
    ]:
        done = run("report", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
        assert done.err.startswith(f"ppdm-sql: {message}")
    assert list(tmp_path.iterdir()) == []


def test_missing_packages_are_named(run, demo, tmp_path, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name, *rest: None if name == "altair" else found(name, *rest)
    )
    done = run("report", demo.policy, "-o", str(tmp_path / "page.html"))
    assert (done.code, done.err) == (2, "ppdm-sql: pages need the packages altair: pip install 'ppdm_sql[report]'.\n")
    assert not Path(tmp_path / "page.html").exists()
