"""The connection as a stand-in for DuckDB's: DB-API 2.0, every form of a result, transactions, equal errors."""

from __future__ import annotations

import datetime
import pickle
import subprocess
import sys
import threading
import time

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import PpdmError, QueryError, ReleaseError, SettingError, Unsupported

OLDER = "SELECT count(*) FROM people WHERE age > 40"
BY_SEX = "SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex ORDER BY sex"
EXCEPTIONS = (
    "Warning Error DatabaseError DataError IntegrityError InternalError NotSupportedError OperationalError "
    "ProgrammingError"
)


# --- the module ---


def test_the_module_says_what_duckdbs_says():
    names = ("apilevel", "threadsafety", "paramstyle")
    assert [getattr(ppdm_sql, name) for name in names] == [getattr(duckdb, name) for name in names]


@pytest.mark.parametrize("name", [*EXCEPTIONS.split(), "STRING", "NUMBER", "DATETIME", "BINARY", "ROWID"])
def test_exceptions_and_type_objects_are_duckdbs(name):
    assert getattr(ppdm_sql, name) is getattr(duckdb, name)
    assert name in dir(ppdm_sql)


def test_constructors():
    assert ppdm_sql.Date(2020, 1, 2) == datetime.date(2020, 1, 2)
    assert ppdm_sql.Time(3, 4, 5) == datetime.time(3, 4, 5)
    assert ppdm_sql.Timestamp(2020, 1, 2, 3) == datetime.datetime(2020, 1, 2, 3)
    moment = datetime.datetime(2020, 1, 2, 3, 4, 5)
    assert ppdm_sql.DateFromTicks(moment.timestamp()) == moment.date()
    assert ppdm_sql.TimeFromTicks(moment.timestamp()) == moment.time()
    assert ppdm_sql.TimestampFromTicks(moment.timestamp()) == moment
    assert ppdm_sql.Binary(b"x") == b"x"


def test_db_api_names_cost_nothing_until_they_are_used():
    code = "import sys, ppdm_sql; ppdm_sql.apilevel; dir(ppdm_sql); print('duckdb' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == "False"
    )


@pytest.mark.parametrize(
    ("sql", "ours", "theirs"),
    [
        ("SELECT max(age) FROM people", Unsupported, ppdm_sql.NotSupportedError),
        ("SELECT count(*) FROM people WHERE age > nothing", QueryError, ppdm_sql.ProgrammingError),
        ("SET ppdm_method = 'magic'", SettingError, ppdm_sql.ProgrammingError),
    ],
)
def test_our_errors_belong_to_both_trees(con, sql, ours, theirs):
    for run in (con.execute, con.sql, con.query, con.explain):
        for kind in (ours, theirs, PpdmError, ppdm_sql.Error, duckdb.Error, ValueError):
            with pytest.raises(kind):
                run(sql)
    with pytest.raises(ours) as caught:
        con.execute(sql)
    assert type(caught.value).__name__ == ours.__name__
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # made on the line itself
    assert type(again) is ours
    assert str(again) == str(caught.value)


def test_a_file_that_is_no_release_is_an_operational_error(tmp_path):
    with pytest.raises(ppdm_sql.OperationalError) as caught:
        ppdm_sql.connect(tmp_path / "none.duckdb", read_only=True)
    assert isinstance(caught.value, ReleaseError)


# --- results ---


def test_fetching_row_by_row(con):
    rows = con.execute(BY_SEX).fetchall()
    assert len(rows) == 2
    assert list(con.execute(BY_SEX)) == rows
    con.execute(BY_SEX)
    assert [con.fetchone(), con.fetchone(), con.fetchone()] == [*rows, None]
    assert con.execute(BY_SEX).fetchmany() == rows[:1]
    assert con.fetchmany() == rows[1:]
    assert con.fetchmany() == []
    con.arraysize = 5
    assert con.execute(BY_SEX).fetchmany() == rows
    assert con.execute(BY_SEX).fetchmany(1) == rows[:1]
    con.setinputsizes([1])
    con.setoutputsize(1)


def test_fetching_whole(con):
    rows = con.execute(BY_SEX).fetchall()
    arrays = con.execute(BY_SEX).fetchnumpy()
    assert arrays["sex"].tolist() == [row[0] for row in rows]
    assert arrays["n"].dtype == np.float64
    for frame in (con.execute(BY_SEX).df(), con.execute(BY_SEX).fetchdf(), con.execute(BY_SEX).fetch_df_chunk()):
        assert list(frame.itertuples(index=False, name=None)) == rows
    for table in (con.execute(BY_SEX).arrow(), con.execute(BY_SEX).to_arrow_table(1000)):
        assert isinstance(table, pa.Table)
        assert [tuple(row.values()) for row in table.to_pylist()] == rows
    assert con.execute(BY_SEX).to_arrow_reader().read_all() == table


def test_polars_frames(con):
    pytest.importorskip("polars", reason="polars is not installed")
    for run in (con.execute, con.sql):
        frame = run(BY_SEX).pl()
        con.execute("")
        assert frame["n"].to_list() == [row[1] for row in con.execute(BY_SEX).fetchall()]


def test_without_polars_the_error_is_clear(con, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    for run in (con.execute, con.sql):
        with pytest.raises(ModuleNotFoundError, match=r"polars is not installed. Install it, or use df\(\)"):
            run(BY_SEX).pl()
        con.execute("")


def test_description_is_that_of_the_last_statement(con):
    assert con.description is None
    con.execute(BY_SEX)
    assert [(column[0], len(column)) for column in con.description] == [("sex", 7), ("n", 7)]
    assert con.description[0][1] == ppdm_sql.STRING
    assert con.description[1][1] == ppdm_sql.NUMBER
    assert con.rowcount == -1
    con.execute("SET ppdm_method = 'bayes'")
    assert con.description is None
    assert con.rowcount == -1
    with pytest.raises(ppdm_sql.ProgrammingError, match="No open result set"):
        con.fetchall()
    con.execute("SELECT 1 AS one")
    assert con.description[0][0] == "one"
    con.execute("RESET ppdm_method; -- nothing more")
    assert con.description is None


def test_a_refused_statement_leaves_no_result(con):
    con.execute(BY_SEX)
    with pytest.raises(Unsupported):
        con.execute("SELECT max(age) FROM people")
    assert con.description is None
    with pytest.raises(ppdm_sql.ProgrammingError):
        con.fetchone()


def test_a_result_that_is_not_fetched_yet_is_not_lost(con):
    rows = con.execute(BY_SEX).fetchall()
    con.execute(BY_SEX)
    for run in (con.sql, con.explain):
        with pytest.raises(ppdm_sql.OperationalError, match="unfinished result"):
            run(OLDER)
    assert con.fetchall() == rows
    assert con.sql(OLDER).fetchall() == con.execute(OLDER).fetchall()


def test_cursors_have_results_of_their_own(con):
    first, second = con.cursor(), con.duplicate()
    first.execute(BY_SEX)
    second.execute("SELECT 1 AS one UNION ALL SELECT 2 ORDER BY 1")
    con.execute(OLDER)
    assert second.fetchone() == (1,)
    assert [row[0] for row in first.fetchall()] == ["F", "M"]
    assert len(con.fetchall()) == 1
    first.close()
    assert second.fetchall() == [(2,)]
    second.close()


def test_closing_twice(release):
    con = ppdm_sql.connect(release(0.5), read_only=True)
    con.close()
    con.close()
    with pytest.raises(ppdm_sql.Error):
        con.execute(OLDER)
    with pytest.raises(ppdm_sql.Error):
        con.cursor()


def test_executemany_runs_for_each_set(writable):
    writable.executemany("INSERT INTO mine VALUES (?, ?)", ((n, str(n)) for n in (10, 11)))
    assert writable.execute("SELECT sum(a) FROM mine").fetchall() == [(31,)]
    for sql in ("SELECT count(*) FROM half.people WHERE age > ?", "SET ppdm_method = 'bayes'"):
        with pytest.raises(ppdm_sql.ProgrammingError, match="executemany is for statements that change"):
            writable.executemany(sql, [[3], [4]])


def test_statements_that_were_taken_apart_before(con):
    for statement in con.extract_statements(f"SELECT 1; {OLDER}"):
        assert con.execute(statement).fetchall() == con.sql(statement).fetchall()


def test_interrupting_from_another_thread(writable):
    timer = threading.Timer(0.2, writable.interrupt)
    timer.start()
    begun = time.monotonic()
    with pytest.raises((duckdb.InterruptException, RuntimeError)):
        writable.execute("SELECT sum(hash(a.range + b.range)) FROM range(1000000) a, range(1000000) b").fetchall()
    assert time.monotonic() - begun < 60
    timer.join()


# --- pandas ---


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy:UserWarning")
def test_pandas_reads(con):
    rows = con.execute(BY_SEX).fetchall()
    frame = pd.read_sql(BY_SEX, con)
    assert list(frame.columns) == ["sex", "n"]
    assert list(frame.itertuples(index=False, name=None)) == rows
    sql = "SELECT count(*) AS n FROM people WHERE age > ? AND sex = ?"
    assert pd.read_sql(sql, con, params=[40, "F"])["n"].tolist() == [rows[0][1]]
    chunks = list(pd.read_sql(BY_SEX, con, chunksize=1))
    assert [len(chunk) for chunk in chunks] == [1, 1]
    assert pd.concat(chunks)["n"].tolist() == [row[1] for row in rows]
    with pytest.raises(Unsupported):  # pandas wraps sqlite3's errors only
        pd.read_sql("SELECT max(age) FROM people", con)


# --- transactions ---


def test_a_release_in_a_transaction(writable):
    answer = writable.execute("SELECT count(*) FROM half.people WHERE age > 40").fetchall()
    writable.begin()
    writable.execute("INSERT INTO mine VALUES (100, 'gone')")
    assert writable.execute("SELECT count(*) FROM half.people WHERE age > 40").fetchall() == answer
    assert writable.rollback() is writable
    assert writable.execute("SELECT max(a) FROM mine").fetchall() == [(4,)]
    writable.execute("BEGIN")
    writable.execute("INSERT INTO mine VALUES (100, 'kept')")
    writable.execute("SET ppdm_method = 'bayes'")
    assert len(writable.execute("SELECT count(*) FROM half.people WHERE age > 40").fetchall()) == 1
    writable.execute("COMMIT")
    assert writable.execute("SELECT max(a) FROM mine").fetchall() == [(100,)]
    assert writable.begin().execute("SELECT 1").fetchall() == [(1,)]
    writable.commit()


@pytest.mark.parametrize("undo", ["ROLLBACK", "method"])
def test_a_failed_transaction_can_be_rolled_back(writable, undo):
    writable.begin()
    writable.execute("CREATE TABLE other (a INTEGER)")
    with pytest.raises(duckdb.ConversionException):
        writable.execute("SELECT 'a'::INTEGER").fetchall()
    with pytest.raises(ppdm_sql.Error, match="aborted"):
        writable.execute("SELECT count(*) FROM half.people WHERE age > 40")
    writable.execute(undo) if undo == "ROLLBACK" else writable.rollback()
    with pytest.raises(duckdb.CatalogException):
        writable.execute("FROM other")
    assert len(writable.execute("SELECT count(*) FROM half.people WHERE age > 40").fetchall()) == 1


def test_a_name_made_in_a_transaction_that_is_undone_hides_no_release(release):
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{release(0.5)}' AS half (READ_ONLY); USE half")
        con.begin()
        con._con.execute("CREATE TEMP TABLE people AS SELECT 50 AS age")
        con.execute("CREATE TEMP TABLE other (a INTEGER)")  # after which the connection looks again
        assert con.execute("SELECT max(age) FROM people").fetchall() == [(50,)]
        con.rollback()
        with pytest.raises(Unsupported):
            con.execute("SELECT max(age) FROM people")


@pytest.mark.parametrize(
    "sql",
    [
        "-- the method\nSET ppdm_method = 'bayes'",
        "/* the\nmethod */ SET ppdm_method TO bayes; -- done",
        "set session PPDM_METHOD='bayes' /* done */ ;",
        "RESET ppdm_method; SET ppdm_method = 'bayes'",
    ],
)
def test_settings_between_comments(con, sql):
    con.execute(sql)
    assert "iterative Bayes" in con.explain(OLDER)
