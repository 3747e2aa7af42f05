"""What a database brings along besides its release is SQL of its maker's: a locked connection looks into it first."""

from __future__ import annotations

import duckdb
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.errors import Locked, ReleaseError
from ppdm_sql.publishing.release import publish

KEPT = [
    "CREATE VIEW pairs AS SELECT id, sex FROM perturbed.people",
    "CREATE VIEW again AS SELECT sex, count(*) AS n FROM pairs GROUP BY sex",
    "CREATE VIEW old AS SELECT id, age FROM perturbed.people WHERE age > 50",
]
WITHHELD = [
    "CREATE VIEW telling AS FROM duckdb_databases()",
    "CREATE VIEW through AS SELECT 1 AS a FROM telling",
    "CREATE VIEW setting AS SELECT current_setting('allowed_paths') AS a",
    "CREATE VIEW waiting AS SELECT sleep_ms(100) FROM range(1000)",
    "CREATE VIEW long AS SELECT length(repeat('x', 3000000000)) AS a",
    "CREATE VIEW text AS FROM read_text('secret.txt')",
    "CREATE MACRO tell(x) AS current_setting(x)",
    "CREATE MACRO longer(n) AS repeat('x', n)",
    'CREATE MACRO less(a, b) AS "<"(a, b)',
    "CREATE TABLE made (a INTEGER, b VARCHAR GENERATED ALWAYS AS (current_setting('allowed_paths')::VARCHAR) VIRTUAL)",
]
ASKED = {"tell": "tell('threads')", "longer": "longer(3000000000)", "less": "less(1, 'a')"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "r.duckdb"
    publish(people(500), policy(0.5), to=path, key=write_key(tmp_path, 1))
    return path


def test_views_and_functions_that_nobody_may_write_here_are_withheld(path):
    names = [statement.split()[2].split("(")[0] for statement in WITHHELD]
    with duckdb.connect(str(path)) as con:
        con.execute(";".join([*KEPT, *WITHHELD]))
    with ppdm_sql.connect(path, locked=True, timeout=60) as con:
        for name in names:
            asked = f"SELECT {ASKED[name]} FROM range(3)" if name in ASKED else f'FROM main."{name.upper()}"'
            for run in (con.execute, con.cursor().sql, con.compile, con.explain):
                with pytest.raises(Locked, match=r"nobody has looked into .*, which came with the database"):
                    run(asked)
            with pytest.raises(Locked):
                con.sql("SELECT 1 AS a").filter(f"a IN (SELECT 1 FROM {name})")
        assert con.execute("SELECT count(*) FROM pairs").fetchall() == [(500,)]
        assert sum(n for _, n in con.execute("FROM again").fetchall()) == 500
        assert con.execute("SELECT count(*) FROM old").fetchall()
        assert con.execute("SELECT count(*) FROM people WHERE age > 30").fetchall()


def test_views_that_double_what_others_read_are_withheld(path):
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE VIEW d0 AS SELECT 1 AS a")
        for i in range(12):
            con.execute(f"CREATE VIEW d{i + 1} AS SELECT p.a FROM d{i} AS p, d{i} AS q")
    with ppdm_sql.connect(path, locked=True) as con:
        assert con.execute("FROM d3").fetchall() == [(1,)]
        with pytest.raises(Locked, match="d12, which came with the database"):
            con.execute("FROM d12")


def test_a_function_in_the_place_of_one_of_duckdbs(path):
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE MACRO sum(x) AS current_setting('allowed_paths')::VARCHAR")
    with pytest.raises(ReleaseError, match="called as one of DuckDB's, 'sum': a locked connection does not open it"):
        ppdm_sql.connect(path, locked=True)


def test_stored_answers_can_be_asked(path):
    with ppdm_sql.connect(path) as con:
        con.execute(
            "CREATE RECONSTRUCTED VIEW ages AS SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex"
        )
        con.execute("CREATE RECONSTRUCTED VIEW mean AS SELECT sex, avg(wage) AS n FROM people GROUP BY sex")
        expected = [con.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in ("ages", "mean")]
    with ppdm_sql.connect(path, locked=True) as con:
        assert [con.execute(f"FROM {name} ORDER BY ALL").fetchall() for name in ("ages", "mean")] == expected
