"""A locked connection answers every query on its release, and SQL finds no way out of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.connection import connection
from ppdm_sql.errors import Locked, PpdmError, ReleaseError
from ppdm_sql.publishing.release import publish

ANSWERS = [
    "SELECT count(*) FROM people WHERE age > 30 AND married",
    "SELECT id % 1000 AS g, count(*) FROM people WHERE age > 30 GROUP BY g ORDER BY g",
    "SELECT age, count(*), ppdm_low(count(*)) FROM people GROUP BY age ORDER BY age",
    "SELECT quantile_cont(hours, 0.5), avg(age) FROM people WHERE sex = 'F'",
    "SELECT sex, avg(p.age) FROM people AS p JOIN (SELECT 'F' AS sex) USING (sex) GROUP BY sex",
    "WITH old AS (SELECT age, hours FROM people WHERE age > 50) SELECT count(*), avg(hours) FROM old",
    "SELECT id, age FROM people WHERE id = 20",
    "SELECT count(*) FROM people",
    "FROM range(3)",
    "DESCRIBE people",
    "SHOW TABLES",
    "SELECT table_name FROM information_schema.tables WHERE table_name = 'people'",
    "PIVOT (FROM range(3)) ON range USING count(*)",
    "EXPLAIN SELECT 1",
    "SELECT levenshtein('abc', 'abd'), levenshtein(sex, 'M'), jaro_similarity('a', sex) FROM people WHERE id = 20",
    "SELECT reservoir_quantile(range, 0.5), reservoir_quantile(range, 0.5, 100) FROM range(1)",
    "SELECT bitstring('101', 8)",
    "SELECT repeat('x', 5), lpad('1', 3, '0'), [x + 1 FOR x IN range(4)], current_date > DATE '2020-01-01'",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("locked")
    key = write_key(folder, 1)
    for name in ("r.duckdb", "part-1.parquet"):
        publish(people(2000), policy(0.5), to=folder / name, key=key, replace=True)
    (folder / "secret.csv").write_text(f"a,b\n1,{CANARY}\n")
    (folder / "secret.txt").write_text(CANARY)
    with duckdb.connect(str(folder / "other.duckdb")) as con:
        con.execute(f"CREATE TABLE other AS SELECT '{CANARY}' AS a")
        con.execute(f"COPY other TO '{folder / 'hidden.parquet'}'")
    return folder


@pytest.fixture(scope="module")
def both(folder):
    """To a database, and to files by a pattern."""
    limits = {"locked": True, "timeout": 600, "max_rows": 5000, "max_memory": "1GB"}
    with (
        ppdm_sql.connect(folder / "r.duckdb", **limits) as database,
        ppdm_sql.connect(folder / "part-*.parquet", **limits) as files,
    ):
        yield database, files


@pytest.fixture(params=[0, 1], ids=["database", "files"])
def con(both, request):
    return both[request.param]


@pytest.fixture(scope="module")
def free(folder):
    with ppdm_sql.connect(folder / "part-1.parquet") as free:
        yield free


@pytest.mark.parametrize("sql", ANSWERS)
def test_every_answer_works(both, free, sql):
    expected = free.execute(sql).to_arrow_table().to_pylist()
    for con in both:
        for rows in (con.execute(sql).to_arrow_table(), con.cursor().sql(sql).to_arrow_table()):
            assert [list(map(_rounded, row.values())) for row in rows.to_pylist()] == [
                list(map(_rounded, row.values())) for row in expected
            ]


def _rounded(value):
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("method", ["inversion", "bayes"])
def test_settings_of_ours_can_be_made(con, method):
    con.execute(f"SET ppdm_method = '{method}'; SET ppdm_errors = 'columns'")
    assert len(con.execute("SELECT count(*) FROM people WHERE age > 30").fetchall()[0]) == 3
    con.execute("RESET ppdm_method; RESET ppdm_errors")


CANARY = "canary7261"
LISTS = Path(__file__).with_name("ways_out.sql").read_text(encoding="utf-8").split("# ")
WAYS_OUT, GREEDY = ([line.replace("\\n", "\n") for line in part.splitlines()[1:]] for part in LISTS[1:])
"""Statements that must be refused; the second ones would take all memory if they were not."""


def _tree_of(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_there_is_no_way_out(both, folder):
    frame, arrow = pd.DataFrame({"a": [CANARY]}), pa.table({"a": [CANARY]})
    before, passed = _tree_of(folder), []
    for sql in [*WAYS_OUT, *GREEDY]:
        for con in both:
            try:
                rows = con.execute(sql.replace("{folder}", str(folder))).fetchall()
            except (PpdmError, duckdb.Error) as refused:
                if isinstance(refused, duckdb.ResourceInUseException | duckdb.InternalException):
                    passed.append((sql, refused))
                assert CANARY not in str(refused)
            else:
                passed.append((sql, rows))
            con.execute("ROLLBACK" if sql.startswith("BEGIN") else "")
    assert passed == []
    assert len(WAYS_OUT) > 350
    assert _tree_of(folder) == before
    assert len(frame) == arrow.num_rows == 1


def test_operators_are_no_functions(con):
    for call in ('"<"(range, 1)', 'range."="(1)', '"IS DISTINCT FROM"(range, 1)', "range OPERATOR(=) 1"):
        with pytest.raises(Locked, match="is an operator, and not called as a function is"):
            con.execute(f"SELECT {call} FROM range(3)")
    assert con.execute('SELECT 1 = (1) AND 1 IS DISTINCT FROM (2) AS "is it (so)"').fetchall() == [(True,)]


@pytest.mark.parametrize("name", ["r.duckdb", "part-*.parquet"])
def test_duckdb_itself_lets_nobody_out_if_our_own_checks_fail(folder, name):
    before = _tree_of(folder)
    with ppdm_sql.connect(folder / name, locked=True, max_memory="200MB") as con:
        for sql in WAYS_OUT:
            if "arrow_scan" in sql or "pandas_scan" in sql or "__internal" in sql or "sleep" in sql:
                continue  # these are given addresses, or wait
            with con._con.cursor() as cursor, suppress(duckdb.Error, ValueError):
                assert CANARY not in str(cursor.execute(sql.replace("{folder}", str(folder))).fetchmany(100))
    assert _tree_of(folder) == before


def test_relations_and_cursors_are_no_way_out_either(both, folder):
    for sql in WAYS_OUT[::17]:
        for run in (both[0].sql, both[1].cursor().execute):
            with pytest.raises((PpdmError, duckdb.Error)):
                run(sql.replace("{folder}", str(folder)))


def test_a_refusal_says_why(con):
    with pytest.raises(Locked, match="this connection is locked: ATTACH is not allowed, only queries"):
        con.execute("ATTACH 'x.duckdb'")
    with pytest.raises(ppdm_sql.ProgrammingError, match="duckdb_settings could tell of the machine"):
        con.execute("FROM duckdb_settings()")
    with pytest.raises(Locked, match="nothing is published"):
        con.execute("DROP PERTURBED TABLE people")


def test_files_are_not_told_from_no_files(con, folder):
    told = set()
    for name in ("other.duckdb", "absent.duckdb", "part-1.parquet", "absent.parquet", "secret.csv", "absent.csv"):
        with pytest.raises(Locked) as refused:
            con.execute(f"FROM '{folder / name}'")
        told.add(str(refused.value).replace(str(folder / name), ""))
    assert len(told) == 1


def test_parts_of_queries_are_held_to_the_same(con, folder):
    con.execute("")
    answer = con.sql("SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY sex")
    assert len(answer.filter("n > 0").order("sex").fetchall()) == 2
    for call in (
        lambda: answer.filter("n > (SELECT count(*) FROM duckdb_settings())"),
        lambda: answer.project("current_setting('threads')"),
        lambda: answer.query("a", "COPY a TO 'x.csv'"),
        lambda: answer.query("a", "SET threads = 1"),
        lambda: answer.create("kept"),
        lambda: answer.to_view("kept"),
        lambda: answer.write_csv(str(folder / "out.csv")),
        lambda: answer.write_parquet(str(folder / "out.parquet")),
        lambda: con.explain("COPY people TO 'x.csv'"),
        lambda: con.compile("COPY people TO 'x.csv'"),
        lambda: con.executemany("INSERT INTO people VALUES (?)", [[1]]),
    ):
        with pytest.raises(PpdmError):
            call()
    assert con.explain("SELECT count(*) FROM people WHERE age > 30")
    assert con.compile("SELECT count(*) FROM people WHERE age > 30")


def test_the_embedding_program_gives_tables_and_no_more(con, folder):
    con.register("mine", pa.table({"sex": ["F"], "label": ["woman"]}))
    sql = "SELECT label, count(*) FROM people JOIN mine USING (sex) WHERE age > 0 GROUP BY label"
    assert [row[0] for row in con.execute(sql).fetchall()] == ["woman"]
    con.unregister("mine")
    for call in (
        lambda: con.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT"),
        lambda: con.read_csv(str(folder / "secret.csv")),
        lambda: con.read_json(str(folder / "secret.txt")),
        lambda: con.from_csv_auto(str(folder / "secret.csv")),
        lambda: con.install_extension("httpfs"),
        lambda: con.load_extension("json"),
        lambda: con.register_filesystem(None),
        con.enable_profiling,
        con.checkpoint,
        lambda: con.append("people", pd.DataFrame({"age": [1]})),
        lambda: con.appender("people"),
    ):
        with pytest.raises(Locked):
            call()
    for name in ("table", "view", "table_function", "from_parquet", "read_parquet", "from_query", "query_appender"):
        with pytest.raises(AttributeError):
            getattr(con, name)


def test_locking_one_connection_locks_no_other(folder):
    path = folder / "r.duckdb"
    with ppdm_sql.connect(path, read_only=True) as free, ppdm_sql.connect(path, locked=True) as con:
        free.execute("SET threads = 1")
        assert free.execute(f"SELECT a FROM '{folder / 'secret.csv'}'").fetchall() == [(1,)]
        with pytest.raises(PpdmError):
            con.execute("SET threads = 1")


def test_what_cannot_be_opened(folder):
    for path in ("absent.duckdb", "absent.parquet", "secret.csv"):
        with pytest.raises(ReleaseError):
            ppdm_sql.connect(folder / path, locked=True)
    assert not (folder / "absent.duckdb").exists()


def test_a_file_may_be_called_as_a_database_of_duckdbs(folder, tmp_path):
    path = tmp_path / "memory.duckdb"
    path.write_bytes((folder / "r.duckdb").read_bytes())
    with ppdm_sql.connect(path, locked=True) as con:
        assert con.execute(ANSWERS[0]).fetchall() == con.cursor().execute(ANSWERS[0]).fetchall()


def test_what_is_nested_too_deeply_is_one_error(con):
    with pytest.raises(PpdmError, match="nested too deeply"):
        con.execute(f"FROM {'(FROM ' * 2000}range(1){')' * 2000}")


def _nested(query: str, begin: str, times: int) -> str:
    for _ in range(times):
        begin = query.format(begin)
    return begin


def test_a_query_that_is_shown_is_held_to_what_others_are(con):
    with pytest.raises(Locked, match="written out, the query has more than 4,000 columns"):
        con.execute(f"SHOW {_nested('SELECT *, * FROM ({})', 'SELECT 1 AS a', 13)}")
    assert con.execute("SHOW FROM range(3)").fetchall()[0][:2] == ("range", "BIGINT")


@pytest.mark.parametrize(
    ("refused", "answered", "what"),
    [
        (
            lambda times: "SELECT 1 AS a0" + "".join(f", a{i} + a{i} AS a{i + 1}" for i in range(times)),
            "SELECT count(*) AS n, n * 2 AS m, m + n AS k, k + m AS l FROM people WHERE age > 30",
            "10,000 terms in one item",
        ),
        (
            lambda times: _nested("SELECT *, * FROM ({})", "SELECT 1 AS a", times),
            "SELECT count(*) FROM (SELECT * FROM (SELECT *, age + 1 AS b FROM people)) WHERE b > 30",
            "4,000 columns",
        ),
        (
            lambda times: _nested("SELECT {{'a': x, 'b': x}} AS x FROM ({})", "SELECT 1 AS x", times),
            "SELECT {'a': x, 'b': {'c': x}} FROM range(3) AS r(x)",
            "4,000 columns",
        ),
        (
            lambda times: _nested("SELECT row(x, x) AS x FROM ({})", "SELECT 1 AS x", times),
            f"SELECT {', '.join('x' for _ in range(1000))} FROM range(3) AS r(x)",
            "4,000 columns",
        ),
        (
            lambda times: (
                "WITH t0 AS (SELECT 1 AS a)"
                + "".join(f", t{i + 1} AS (SELECT a.a FROM t{i} AS a, t{i} AS b)" for i in range(times))
                + f" FROM t{times}"
            ),
            "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t WHERE a < 5) FROM t",
            "1,000 tables",
        ),
        (
            lambda times: f"SELECT {_nested('nullif({}, 1)', '1', min(times, 20))} UNION ALL SELECT 2",
            "SELECT count(*), split_part(fmod(count(*), 3)::VARCHAR, '.', 1) FROM people WHERE nullif(age, 30) > 20",
            "10,000 terms, for some functions",
        ),
        (
            lambda times: f"SELECT {_nested('{}.array_pop_back()', '[1]', times)}",
            "SELECT array_to_string([array_to_string([split_part('a-b', '-', 1)], ',')], '-')",
            "10,000 terms, for some functions",
        ),
    ],
)
def test_short_queries_that_take_for_ever_to_plan_are_refused(con, refused, answered, what):
    with pytest.raises(Locked, match=f"written out, the query has more than {what}"):
        con.execute(refused(60))
    assert con.execute(refused(3)).fetchall()
    assert con.execute(answered).fetchall()


def test_errors_within_duckdb_tell_no_paths(con, monkeypatch):
    def fail(*_: object) -> None:
        raise duckdb.InternalException(
            "INTERNAL Error: Memory allocation failure\n\nStack Trace:\n\n/usr/lib/x.so(+0x1)"
        )

    with monkeypatch.context() as patched, pytest.raises(duckdb.InternalException) as caught:
        patched.setattr(connection, "understand", fail)
        con.execute("SELECT 1")
    assert str(caught.value) == "INTERNAL Error: Memory allocation failure"


def test_long_lists_are_answered(con, free):
    sql = f"SELECT count(*) FROM people WHERE age IN ({', '.join(map(str, range(2_000)))})"
    assert con.execute(sql).fetchall() == [pytest.approx(row) for row in free.execute(sql).fetchall()]


def test_nothing_tells_where_the_files_are(con, folder):
    for sql in ANSWERS[:8]:
        for told in (con.explain(sql), con.compile(ANSWERS[0]), con.sql(sql).sql_query()):
            assert str(folder) not in told
    for sql in (
        "FROM duckdb_tables()",
        "FROM duckdb_columns()",
        "FROM pg_class",
        "SHOW ALL TABLES",
        "FROM pg_database",
    ):
        assert str(folder) not in str(con.execute(sql).fetchall())


@pytest.mark.parametrize("name", ["r.duckdb", "part-1.parquet"])
@pytest.mark.parametrize("limits", [{}, {"timeout": 600, "max_rows": 10}])
def test_errors_of_files_tell_no_file(folder, tmp_path, name, limits):
    path = tmp_path / name
    path.write_bytes((folder / name).read_bytes())
    with ppdm_sql.connect(path, locked=True, **limits) as con:
        path.write_bytes(b"damaged since it was opened")
        for run in (con.execute, con.sql, con.cursor().execute):
            for sql in (ANSWERS[0], "SELECT id, age FROM people LIMIT 3"):
                with pytest.raises(ReleaseError, match="the release's files cannot be read: they are damaged, or gone"):
                    run(sql).fetchall()


def test_transactions(con):
    con.begin()
    before = con.execute("SELECT count(*) FROM people WHERE age > 30").fetchall()
    con.execute("ROLLBACK")
    assert con.execute("BEGIN; SELECT count(*) FROM people WHERE age > 30").fetchall() == before
    con.commit()
