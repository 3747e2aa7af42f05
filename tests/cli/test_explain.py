from __future__ import annotations


def test_a_query(run, demo):
    done = run("explain", demo.release, "SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45")
    assert (done.code, done.err) == (0, "")
    assert "column: age SMALLINT, retention 0.4, 74 values in its domain" in done.out
    assert "method: inversion" in done.out
    assert "SELECT" in done.out


def test_a_query_on_stdin(program, demo):
    done = program("explain", demo.release, "-", stdin="SELECT count(*) FROM people WHERE married")
    assert "column: married BOOLEAN" in done.out


def test_a_query_that_is_exact(run, demo):
    assert "exact" in run("explain", demo.release, "SELECT count(*) FROM people WHERE sex = 'F'").out


def test_a_release_lists_its_columns(run, demo):
    first, head, _, *rows = run("explain", demo.release).out.splitlines()
    assert first == "people: 5,000 rows"
    assert [name.strip() for name in head.split("|")] == ["column", "type", "retention", "domain size", "NULLs"]
    cells = {row.split()[0]: [cell.strip() for cell in row.split("|")[1:]] for row in rows}
    assert list(cells)[:4] == ["id", "sex", "region", "age"]
    assert cells["region"][:2] == ["VARCHAR", "exact"]
    assert cells["age"] == ["SMALLINT", "0.4", "74", "there are none"]
    assert cells["occupation"][2:] == ["11", "perturbed"]
    assert cells["wage"][2] == "15,000,001"
    assert cells["moved"][3] == "as they are"


def test_a_policy(run, demo):
    done = run("explain", demo.policy)
    assert (done.code, done.err) == (0, "")
    assert "Table 'people'" in done.out
    assert "ssn: dropped, never released" in done.out


def test_what_cannot_be_explained(run, demo):
    for arguments, message in [
        (("gone.toml",), "policy 'gone.toml' cannot be read"),
        (("gone.duckdb",), "there is no file 'gone.duckdb'."),
        ((demo.policy, "SELECT 1"), f"{demo.policy!r} is a policy, which cannot be asked"),
        ((demo.release, "SELECT max(wage) FROM people"), 'Unsupported: max("wage")'),
        ((demo.release, "SELEC"), "Parser Error"),
    ]:
        done = run("explain", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith(f"ppdm-sql: {message}")
