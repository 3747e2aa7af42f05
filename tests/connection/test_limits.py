"""What a connection may spend on a statement: beyond it there is an error, and the connection goes on."""

from __future__ import annotations

import cProfile
import threading
from contextlib import contextmanager

import duckdb
import pytest

import ppdm_sql
from ppdm_sql.connection import connection
from ppdm_sql.engine.duckdb.limits import Limits
from ppdm_sql.errors import LimitExceeded, QueryError, SettingError

ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM t) SELECT max(a) FROM t"
ESTIMATE = "SELECT count(*) FROM people WHERE age > 30"
TEN = "SELECT range AS a, range % 2 = 0 AS even, 'x' || range AS name FROM range(10) ORDER BY a DESC"

FETCHES = {
    "fetchall": lambda con: con.fetchall(),
    "fetchmany": lambda con: con.fetchmany(100),
    "iterated": list,
    "df": lambda con: con.df(),
    "fetch_df_chunk": lambda con: con.fetch_df_chunk(50),
    "fetchnumpy": lambda con: con.fetchnumpy(),
    "to_arrow_table": lambda con: con.to_arrow_table(),
    "to_arrow_reader": lambda con: con.to_arrow_reader().read_all(),
    "pl": lambda con: con.pl(),
}
READS = {
    "fetchall": lambda relation: relation.fetchall(),
    "df": lambda relation: relation.df(),
    "fetchnumpy": lambda relation: relation.fetchnumpy(),
    "to_arrow_table": lambda relation: relation.to_arrow_table(),
    "to_arrow_reader": lambda relation: relation.to_arrow_reader().read_all(),
    "iter_rows": lambda relation: list(relation.iter_rows()),
    "pl": lambda relation: relation.pl(),
}


@pytest.fixture(scope="module")
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True, max_rows=10) as con:
        yield con


@pytest.fixture(scope="module")
def hasty(release):
    with ppdm_sql.connect(release(0.5), read_only=True, timeout=600) as con:
        yield con


@contextmanager
def little_time(con):
    """Time that is too short for what has no end; all else has enough, on a busy machine too."""
    before = con._clock._limits
    con._clock._limits = Limits(timeout=0.2)
    try:
        yield
    finally:
        con._clock._limits = before


@pytest.mark.parametrize("fetch", FETCHES.values(), ids=FETCHES)
def test_a_result_with_more_rows_is_refused_in_every_form(con, fetch):
    assert len(con.execute(TEN).fetchall()) == 10
    with pytest.raises(LimitExceeded, match="max_rows = 10 "):
        fetch(con.execute("FROM range(100000000000)"))
    assert con.description is None
    assert con.execute(ESTIMATE).fetchall() == con.sql(ESTIMATE).fetchall()


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_relation_with_more_rows_is_refused_in_every_form(con, read):
    con.execute("")
    relation = con.sql("FROM range(100000000000)")
    with pytest.raises(LimitExceeded, match="max_rows = 10 "):
        read(relation)
    assert relation.limit(10).aggregate("count(*)").fetchall() == [(10,)]
    assert con.sql("FROM range(100)").aggregate("count(*)").fetchall() == [(100,)]


@pytest.mark.parametrize("name", [*FETCHES])
def test_results_within_the_limit_are_what_they_are_without(con, release, name):
    fetch = FETCHES[name]
    with ppdm_sql.connect() as free:
        assert str(fetch(con.execute(TEN))) == str(fetch(free.execute(TEN)))
        if name in READS:
            assert str(READS[name](con.cursor().sql(TEN))) == str(READS[name](free.sql(TEN)))


@pytest.mark.parametrize("end", [";", " ; ", "; -- done", " -- 'a;\n;", "; /* ; */ ", "\n-- ;\n"])
@pytest.mark.parametrize("sql", ["FROM range(11)", "SELECT 1, ';' AS b", ESTIMATE, "SELECT id FROM people LIMIT 3"])
def test_a_statement_may_end_as_it_likes(con, sql, end):
    con.execute("")
    expected = con.sql(sql).limit(3).fetchall()
    assert con.execute(sql + end).fetchmany(3) == expected
    assert con.execute(f"SELECT 1; {sql}{end}").fetchmany(3) == expected


def test_rows_are_counted_over_all_fetches(con):
    con.execute("FROM range(11)")
    assert len(con.fetchmany(6)) == 6
    assert con.fetchone() == (6,)
    with pytest.raises(ppdm_sql.OperationalError, match="max_rows"):
        con.fetchall()
    con.execute("FROM range(10)")
    assert len(con.fetchmany(6)) == 6
    assert len(con.fetchall()) == 4


def test_rows_of_a_release_are_limited_too(con):
    with pytest.raises(LimitExceeded):
        con.execute("SELECT id, age FROM people").fetchall()
    assert len(con.execute("SELECT id, age FROM people LIMIT 10").fetchall()) == 10


@pytest.mark.parametrize(
    "run",
    [
        lambda con: con.execute(ENDLESS).fetchall(),
        lambda con: con.sql(ENDLESS).fetchall(),
        lambda con: con.sql(ENDLESS).show(),
        lambda con: con.sql(ENDLESS).df(),
        lambda con: con.sql("FROM range(1000000000000)").iter_rows(),
        lambda con: con.sql("FROM range(1000000000000)").to_arrow_reader(),
        lambda con: con.execute("SELECT sleep_ms(60) FROM range(1000000)").df(),
        lambda con: con.execute("SELECT sum(a.range) FROM range(1000000) AS a, range(1000000) AS b").fetchone(),
        lambda con: con.execute(f"SELECT count(*) FROM people WHERE age > ({ENDLESS})"),
    ],
)
def test_time_runs_out_in_duckdb(hasty, run):
    with little_time(hasty), pytest.raises(LimitExceeded, match=r"timeout = 0\.2 seconds"):
        run(hasty)
    assert hasty.cursor().execute("SELECT 1").fetchall() == hasty.execute("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize("call", ["execute", "sql", "explain"])
def test_time_runs_out_in_our_own_part_of_the_work(hasty, monkeypatch, call):
    def endless(*_: object) -> None:
        while True:
            pass

    with little_time(hasty), monkeypatch.context() as patched, pytest.raises(LimitExceeded, match="was stopped"):
        patched.setattr(connection, "understand", endless)
        getattr(hasty, call)("SELECT 1")
    assert hasty.execute("SELECT 1").fetchall() == [(1,)]


def test_an_exception_that_is_swallowed_comes_again(hasty, monkeypatch):
    swallowed = []

    def stubborn(*_: object) -> None:
        while True:
            try:
                while True:
                    pass
            except BaseException as stop:
                swallowed.append(stop)
                if len(swallowed) == 2:
                    raise

    with little_time(hasty), monkeypatch.context() as patched, pytest.raises(LimitExceeded):
        patched.setattr(connection, "understand", stubborn)
        hasty.execute("SELECT 1")


def test_the_watch_ends_with_the_statement(hasty):
    before = threading.active_count()
    for _ in range(20):
        hasty.execute("SELECT 1").fetchall()
    assert threading.active_count() == before


def test_each_statement_has_its_own_time(release):
    with ppdm_sql.connect(timeout=600) as con:
        for _ in range(3):
            assert con.execute("SELECT 1").fetchall() == [(1,)]
        assert con._clock._left > 300


def test_memory(release):
    with ppdm_sql.connect(release(0.5), locked=True, max_memory="60MB") as con:
        assert con._con.execute("SELECT current_setting('memory_limit')").fetchall() == [("57.2 MiB",)]
        for run in (con.execute, con.sql):
            with pytest.raises(LimitExceeded, match="max_memory = 60MB"):
                run("SELECT list(range) FROM range(1000000000)").fetchall()
        assert con.execute(ESTIMATE).fetchall()


@pytest.mark.parametrize(
    "limits",
    [
        {"timeout": 0},
        {"timeout": -1},
        {"timeout": float("nan")},
        {"timeout": float("inf")},
        {"timeout": "5"},
        {"timeout": True},
        {"max_rows": 0},
        {"max_rows": 1.5},
        {"max_rows": True},
        {"max_memory": "much"},
        {"max_memory": 5},
    ],
)
def test_limits_that_cannot_be_meant(limits):
    with pytest.raises(SettingError, match=f"{next(iter(limits))}="):
        ppdm_sql.connect(**limits)


# --- interrupted ---


def from_another_thread(con, monkeypatch):
    """Interrupts as soon as a statement is planned, which then goes on in Python until it is stopped."""

    def works(*_):
        timer.start()
        while True:
            pass

    timer = threading.Timer(0.01, con.interrupt)
    monkeypatch.setattr(connection, "understand", works)
    return timer


def test_our_own_part_of_the_work_is_interrupted_too(release, monkeypatch):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        with monkeypatch.context() as patch:
            timer = from_another_thread(con, patch)
            with pytest.raises(duckdb.InterruptException, match="Interrupted"):
                con.execute(ESTIMATE)
            timer.join()
        assert con.execute(ESTIMATE).fetchall() == con.sql(ESTIMATE).fetchall()


def test_an_interrupt_is_told_from_a_limit_and_reaches_cursors(hasty, monkeypatch):
    cursor = hasty.cursor()
    with monkeypatch.context() as patch:
        timer = from_another_thread(hasty, patch)
        with pytest.raises(duckdb.InterruptException):
            cursor.sql(ESTIMATE)
        timer.join()
    assert cursor.sql(ESTIMATE).fetchall() == hasty.sql(ESTIMATE).fetchall()


def test_an_interrupt_of_nothing_stops_nothing(hasty):
    hasty.interrupt()
    assert hasty.execute(ESTIMATE).fetchone()
    assert hasty.execute("SELECT 1").fetchall() == [(1,)]


def test_statements_end_where_a_profiler_watches_after_a_stop(hasty, monkeypatch):
    with monkeypatch.context() as patch:
        timer = from_another_thread(hasty, patch)
        with pytest.raises(duckdb.InterruptException):
            hasty.execute(ESTIMATE)
        timer.join()
    profile = cProfile.Profile()
    profile.enable()
    try:
        assert hasty.execute(ESTIMATE).fetchone()
    finally:
        profile.disable()


def test_interrupt_passes_over_cursors_that_are_closed():
    with ppdm_sql.connect() as con:
        cursor = con.cursor()
        cursor.close()
        con.interrupt()
        assert con.execute("SELECT 1").fetchall() == [(1,)]
        del cursor


def test_an_interrupt_of_python_code_that_duckdb_calls_is_an_interrupt(con):
    def work():
        con._clock._watch.interrupted = True
        raise QueryError("Invalid Input Error: exporting a stream from the object registered as 'x' failed: Stop:")

    with pytest.raises(duckdb.InterruptException):
        con._clock.run(work)
