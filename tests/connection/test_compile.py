"""Answers as SQL for other engines: the text for DuckDB and for PostgreSQL run, the others parse."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlglot

import ppdm_sql
from ppdm_sql.errors import QueryError, Unsupported
from ppdm_sql.syntax.dialects import COMPILED

QUERIES = [
    "SELECT count(*) AS n FROM people WHERE age BETWEEN 25 AND 45 AND hours > 40",
    "SELECT count(*) AS n FROM people WHERE age > 30 AND hours <= 45 AND education >= 9 AND married",
    "SELECT sex, avg(hours) AS a, sum(wage) AS s FROM people WHERE age > 30 GROUP BY sex ORDER BY sex",
    "SELECT count(*) AS n, ppdm_low(count(*)) AS a, ppdm_high(count(*)) AS b FROM people WHERE age < 25 OR age > 60",
    "SELECT region, stddev(age) AS s, 100.0 * count_if(married) / count(*) AS p FROM people GROUP BY region ORDER BY 1",
    "SELECT max(n) AS m FROM (SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex) AS g",
    "SELECT sex, region, count(*) AS n, ppdm_error(count(*)) AS e FROM people WHERE age > 40 "
    "GROUP BY GROUPING SETS ((), (sex), (region)) ORDER BY grouping(sex, region), sex, region",
    "SELECT sex, count(*) AS n, sum(age % hours) AS s FROM people WHERE age < hours OR education IS NULL GROUP BY sex "
    "ORDER BY sex",
    "SELECT v.label, count(*) AS n FROM people JOIN (SELECT 'north' AS region, 'up' AS label) AS v "
    "ON v.region = people.region WHERE age > 30 GROUP BY v.label ORDER BY 1",
    "SELECT sex, count(*) AS n, ppdm_error(count(*)) AS e, sum(v.cost) AS s FROM people "
    "JOIN (SELECT 'F' AS sex, 2 AS cost UNION ALL SELECT 'F', 3) AS v USING (sex) WHERE age > 30 GROUP BY 1 ORDER BY 1",
    "SELECT sex, count(*) AS n, ppdm_error(count(*)) AS e "
    "FROM (SELECT age, sex FROM people UNION ALL SELECT 30, 'F') AS u WHERE age < 40 GROUP BY sex ORDER BY 1",
    "SELECT sum(CASE WHEN age > 40 AND occupation = 'O''Brien''s' THEN weight ELSE 0 END) AS w FROM people",
]
COLUMNS = "id, age, hours, education, wage, married, occupation, sex, region, weight"


@pytest.fixture
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        yield con


@pytest.mark.parametrize("sql", QUERIES)
def test_the_text_for_duckdb_needs_none_of_our_code(con, sql):
    found, expected = con._con.sql(con.compile(sql)).fetchall(), con.sql(sql).fetchall()
    assert len(found) == len(expected)
    for row, true_row in zip(found, expected, strict=True):
        for value, true_value in zip(
            row, true_row, strict=True
        ):  # sums depend on the order of rows in their last digits
            assert value == (pytest.approx(true_value, rel=1e-9) if isinstance(true_value, float) else true_value)


@pytest.mark.parametrize("dialect", COMPILED)
@pytest.mark.parametrize("sql", QUERIES)
def test_every_dialect_is_one_statement_without_our_functions(con, sql, dialect):
    text = con.compile(sql, dialect=dialect)
    assert len(sqlglot.parse(text, dialect=dialect)) == 1
    assert "ppdm_low" not in text
    assert "ppdm_error" not in text


def test_parameters_are_put_in(con):
    text = con.compile("SELECT count(*) FROM people WHERE age > ?", "spark", [40])
    assert "40" in text
    assert "?" not in text


def test_what_is_not_compiled_is_said(con):
    with pytest.raises(QueryError, match="dialect 'cobol' must be one of"):
        con.compile(QUERIES[0], dialect="cobol")
    with pytest.raises(Unsupported, match="reconstructed from states"):
        con.compile("SELECT age, count(*) FROM people GROUP BY age")
    with pytest.raises(QueryError, match="runs as it is"):
        con.compile("SELECT 1")


class Postgres:
    """A server of its own in a temporary folder, asked through psql."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self.folder, self.programs = folder, programs

    def run(self, *command: str, text: str | None = None) -> str:
        as_owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_owner, *command], input=text, capture_output=True, text=True, check=False, cwd=self.folder, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        data, socket = self.folder / "data", self.folder
        self.run(str(self.programs / "initdb"), "-D", str(data), "-A", "trust", "-U", "postgres")
        options = f"-k {socket} -c listen_addresses= -c fsync=off"
        self.run(str(self.programs / "pg_ctl"), "-D", str(data), "-o", options, "-w", "-l", str(data / "log"), "start")

    def stop(self) -> None:
        self.run(str(self.programs / "pg_ctl"), "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def ask(self, sql: str) -> list[list[str]]:
        arguments = ("-X", "-q", "-h", str(self.folder), "-U", "postgres", "--csv", "-t", "-v", "ON_ERROR_STOP=1")
        return list(csv.reader(io.StringIO(self.run(str(self.programs / "psql"), *arguments, text=sql))))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("PostgreSQL's server is not installed (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="ppdm-pg-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
    server = Postgres(folder, found[-1].parent)
    server.start()
    yield server
    server.stop()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def loaded(postgres, release) -> Postgres:
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        rows = con._con.sql(f"SELECT {COLUMNS} FROM perturbed.people").fetchall()
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([["" if value is None else value for value in row] for row in rows])
    table = (
        "CREATE TABLE people (id BIGINT, age SMALLINT, hours INTEGER, education SMALLINT, wage DOUBLE PRECISION, "
        "married BOOLEAN, occupation TEXT, sex TEXT, region TEXT, weight DOUBLE PRECISION);"
    )
    postgres.ask(f"{table}\nCOPY people ({COLUMNS}) FROM STDIN (FORMAT csv);\n{text.getvalue()}\\.\n")
    return postgres


@pytest.mark.parametrize("sql", QUERIES)
def test_postgres_gives_the_same_answers(con, loaded, sql):
    found = loaded.ask(con.compile(sql, dialect="postgres"))
    expected = con.sql(sql).fetchall()
    assert len(found) == len(expected)
    for row, true_row in zip(found, expected, strict=True):
        for value, true_value in zip(row, true_row, strict=True):
            if isinstance(true_value, float):
                assert float(value) == pytest.approx(true_value, rel=1e-5)
            else:
                assert value == (true_value or "")
