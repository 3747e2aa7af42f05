from __future__ import annotations

import csv
import io
import json

import duckdb
import pytest

BY_REGION = "SELECT region, count(*) AS n FROM people WHERE age >= 40 GROUP BY region ORDER BY region"


def test_table(run, demo):
    done = run("query", demo.release, BY_REGION)
    assert (done.code, done.err) == (0, "")
    head, rule, *rows, count = done.out.splitlines()
    assert head.split() == ["region", "|", "n"]
    assert set(rule) == {"-", "+"}
    assert [row.split()[0] for row in rows] == ["Centre", "East", "North", "South", "West"]
    assert len({row.index("|") for row in (head, *rows)}) == 1
    assert count == "(5 rows)"


def test_csv_has_all_digits(run, demo):
    done = run("query", demo.release, BY_REGION, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["region"] for row in rows] == ["Centre", "East", "North", "South", "West"]
    table = run("query", demo.release, BY_REGION).out
    for row in rows:
        assert f"{float(row['n']):.2f}" in table


def test_json_agrees_with_csv(run, demo):
    objects = json.loads(run("query", demo.release, BY_REGION, "--format", "json").out)
    rows = csv.DictReader(io.StringIO(run("query", demo.release, BY_REGION, "--format", "csv").out))
    assert objects == [{"region": row["region"], "n": float(row["n"])} for row in rows]


def test_errors_adds_the_interval(run, demo):
    done = run("query", demo.release, "SELECT count(*) AS n FROM people WHERE married", "--errors", "--format", "json")
    [row] = json.loads(done.out)
    assert list(row) == ["n", "n_low", "n_high"]
    truth = duckdb.sql(f"SELECT count(*) FROM '{demo.source}' WHERE married").fetchall()[0][0]
    half = row["n_high"] - row["n"]
    assert abs(row["n"] - truth) < 3 * half  # six standard errors


def test_confidence_widens_the_interval(run, demo):
    def width(confidence):
        sql = "SELECT ppdm_high(count(*)) - ppdm_low(count(*)) AS w FROM people WHERE married"
        return json.loads(run("query", demo.release, sql, "--confidence", confidence, "--format", "json").out)[0]["w"]

    assert width("0.5") < width("0.95") < width("0.999")


def test_method_bayes_is_never_negative(run, demo):
    sql = "SELECT count(*) AS n FROM people WHERE education = 'Doctorate' AND wage > 149000"
    done = run("query", demo.release, sql, "--method", "bayes", "--format", "json")
    assert json.loads(done.out)[0]["n"] >= 0


def test_sql_from_stdin(program, demo):
    done = program("query", demo.release, "-", "--format", "csv", stdin="SELECT count(*) AS n\nFROM people")
    assert (done.code, done.out, done.err) == (0, "n\n5000\n", "")


def test_the_last_statement_is_shown(run, demo):
    done = run("query", demo.release, "SET ppdm_errors = 'columns'; SELECT 7 AS seven", "--format", "csv")
    assert done.out == "seven\n7\n"


def test_a_setting_alone_prints_nothing(run, demo):
    assert run("query", demo.release, "SET ppdm_method = 'bayes'").out == ""


def test_rows_are_the_perturbed_ones(run, demo):
    done = run("query", demo.release, "SELECT * FROM people ORDER BY id LIMIT 3", "--format", "json")
    assert [row["id"] for row in json.loads(done.out)] == [1, 2, 3]
    assert "ssn" not in done.out


def test_a_parquet_release(run, demo, tmp_path):
    release = str(tmp_path / "people.parquet")
    run("publish", demo.source, "--policy", demo.policy, "--to", release, "--key", demo.key)
    sql = "SELECT count(*) AS n FROM people WHERE age < 30"
    assert run("query", release, sql).out == run("query", demo.release, sql).out


def test_long_tables_are_cut_and_say_so(run, demo):
    done = run("query", demo.release, "SELECT id FROM people")
    *rows, count = done.out.splitlines()
    assert len(rows) == 1002
    assert count == "(the first 1,000 rows; there are more, which --format csv and json show)"
    assert run("query", demo.release, "SELECT id FROM people", "--format", "csv").out.count("\n") == 5001


def test_the_release_is_not_changed(run, demo):
    done = run("query", demo.release, "CREATE TABLE x (i INTEGER)")
    assert done.code == 2
    assert "read-only" in done.err


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELEC 1", 'Parser Error: syntax error at or near "SELEC"'),
        ("", "the query is empty."),
        (" \n", "the query is empty."),
        ("SELECT * FROM nobody", "Catalog Error: Table with name nobody does not exist!"),
        ("SELECT count(*) FROM people WHERE agee > 3", "agee (line 1, column 35): people has no such column."),
        ("SELECT count(*) FROM people WHERE age > 'x'", "Conversion Error: "),
        ("SELECT min(age) FROM people", 'Unsupported: min("age") (line 1, column 8): age is perturbed'),
        ("SELECT id FROM people WHERE age > 30", 'Unsupported: "age" > 30 (line 1, column 29): no row\'s age'),
        ("SELECT count(*) FROM people WHERE age > id", 'Unsupported: "age" > "id" (line 1, column 35): it mixes'),
        ("DELETE FROM people", "Unsupported: DELETE on the release people"),
        ("SET ppdm_method = 'guess'", "ppdm_method = 'guess' must be one of auto, inversion, bayes."),
        ("SET ppdm_luck = 1", "unknown setting 'ppdm_luck'."),
        ("SELECT error('stop')", "Invalid Input Error: stop"),
    ],
)
def test_a_bad_query_is_one_line_and_exit_code_2(run, demo, sql, message):
    done = run("query", demo.release, sql)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith(f"ppdm-sql: {message}")
    assert done.err.count("\n") == 1
    assert "ppdm_scan" not in done.err


@pytest.mark.parametrize("confidence", ["2", "0", "-1", "nan", "inf"])
def test_a_confidence_must_be_a_probability(run, demo, confidence):
    done = run("query", demo.release, "SELECT 1", f"--confidence={confidence}")
    assert done.code == 2
    assert "must be a number between 0 and 1" in done.err


def test_what_is_not_a_release(run, demo, tmp_path):
    plain = tmp_path / "plain.duckdb"
    duckdb.connect(str(plain)).close()
    for path, message in [
        ("nowhere.duckdb", "there is no file 'nowhere.duckdb'."),
        ("nowhere.parquet", "'nowhere.parquet' is not a release:"),
        (demo.source, f"{demo.source!r} is not a release:"),
        (str(plain), f"{str(plain)!r} is not a release: it carries no manifest."),
        (demo.policy, f"{demo.policy!r} cannot be opened as a release."),
        (str(tmp_path), f"{str(tmp_path)!r} is a folder without Parquet files"),
    ]:
        done = run("query", path, "SELECT 1")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), path
        assert done.err.startswith(f"ppdm-sql: {message}")


@pytest.mark.parametrize("form", ["table", "csv", "json"])
@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT unhex('é𝄞x')", "DuckDB refuses a value in the statement"),
        ("SELECT INTERVAL '-178000000 years' AS i", "a value that is too large to be shown"),
    ],
)
def test_what_python_cannot_hold_is_one_line(run, demo, sql, said, form):
    done = run("query", demo.release, sql, "--format", form)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
