from __future__ import annotations

import re

import duckdb
import pyarrow.parquet as pq

from ppdm_sql.cli.census import BLOCK, census
from ppdm_sql.cli.questions import QUESTIONS

LINE = re.compile(
    r"      (\w+ +)? *truth +([\d,]+)   estimate +(-?[\d,]+)   "
    r"95 % interval +(-?[\d,]+) to +(-?[\d,]+)   (inside|OUTSIDE)"
)


def answers(out):
    return [LINE.fullmatch(line) for line in out.splitlines() if "   estimate " in line]


def test_every_answer_is_well_formed(demo):
    found = answers(demo.out)
    assert all(found)
    assert len(found) == len(QUESTIONS) + 4  # one question has five groups
    for match in found:
        truth, _, low, high = (int(number.replace(",", "")) for number in match.groups()[1:5])
        assert low <= high
        if match.group(6) == "inside":
            assert low <= truth <= high


def test_most_intervals_hold_the_truth(demo):
    found = answers(demo.out)
    inside = sum(match.group(6) == "inside" for match in found)
    assert f"{inside} of {len(found)} intervals hold the truth" in demo.out
    assert inside >= len(found) - 7  # a chance of some one in a hundred thousand, were they independent


def test_every_question_is_asked(demo):
    words = " ".join(demo.out.split())
    for question in QUESTIONS:
        assert " ".join(question.sql.split()) in words


def test_truths_are_those_of_the_original(demo):
    query = f"SELECT count(*) FROM '{demo.source}' WHERE age BETWEEN 25 AND 45"
    [(truth,)] = duckdb.sql(query).fetchall()
    assert f"truth {truth:>9,} " in demo.out


def test_it_shows_rows_a_refusal_and_an_explanation(demo):
    assert "id | age | published | education | published" in demo.out
    assert 'Unsupported: max("wage") (line 1, column 8)' in demo.out
    assert "column: wage DOUBLE, retention 0.5" in demo.out
    assert "(chosen by auto)" in demo.out
    for name in ("people.parquet", "policy.toml", "people.key", "release.duckdb"):
        assert f"  {name} " in demo.out


def test_it_tells_no_secret(demo):
    assert demo.secret not in demo.out
    with duckdb.connect(demo.release, read_only=True) as con:
        assert "ssn" not in [row[0] for row in con.sql("DESCRIBE perturbed.people").fetchall()]


def test_running_it_again_keeps_the_key(run, demo, tmp_path):
    folder = tmp_path / "again"
    assert run("demo", "--rows", "1000", "--to", str(folder)).code == 0
    key = (folder / "people.key").read_bytes()
    assert run("demo", "--rows", "1500", "--to", str(folder)).code == 0
    assert (folder / "people.key").read_bytes() == key
    assert "people: 1,500 rows" in run("explain", str(folder / "release.duckdb")).out


def test_it_writes_over_nothing_of_others(run, tmp_path):
    (tmp_path / "policy.toml").write_text("table = 'mine'\n", encoding="utf-8")
    done = run("demo", "--rows", "1000", "--to", str(tmp_path))
    assert (done.code, done.out) == (2, "")
    assert "not from a demo" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["policy.toml"]


def test_a_folder_that_is_a_file(run, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = run("demo", "--rows", "1000", "--to", str(tmp_path / "file"))
    assert (done.code, done.err.count("\n")) == (2, 1)


def test_a_smaller_census_is_the_beginning_of_a_larger_one():
    large = census(BLOCK + 500)
    assert large.slice(0, 1200).equals(census(1200))
    assert len(set(large["ssn"].to_pylist())) == BLOCK + 500


def test_the_people_depend_on_each_other_as_people_do(demo):
    people = pq.read_table(demo.source)
    with duckdb.connect() as con:
        con.register("people", people)
        [(education, years, missing)] = con.sql(
            "SELECT avg(wage) FILTER (WHERE education = 'Master') / avg(wage) FILTER (WHERE education = 'Primary'), "
            "avg(wage) FILTER (WHERE age BETWEEN 40 AND 50) / avg(wage) FILTER (WHERE age < 25), "
            "avg((occupation IS NULL)::INT) FROM people"
        ).fetchall()
    assert education > 1.3
    assert years > 1.3
    assert 0.1 < missing < 0.5
