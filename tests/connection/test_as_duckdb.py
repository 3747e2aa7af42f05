"""What touches no release: results, descriptions and errors equal DuckDB's own."""

from __future__ import annotations

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import ppdm_sql


def outcome(con, sql, parameters=None):
    """What a statement does: rows, description and rowcount, or the error."""
    try:
        con.execute(sql) if parameters is None else con.execute(sql, parameters)
        described = con.description
        return described, con.rowcount, con.fetchall() if described is not None else None
    except Exception as error:
        return type(error), str(error), con.description


STATEMENTS = [
    ("SELECT 1 AS a, 'x' AS b, NULL AS c, DATE '2020-01-01' AS d", None),
    ("SELECT a, ? AS p FROM mine WHERE a < ? ORDER BY a", ["x", 3]),
    ("SELECT $p + $q", {"p": 1, "q": 2}),
    ("INSERT INTO mine VALUES (20, 'new'), (21, 'new')", None),
    ("INSERT INTO mine VALUES (22, 'new') RETURNING a", None),
    ("UPDATE mine SET b = 'z' WHERE a > 2", None),
    ("DELETE FROM mine WHERE a = 0", None),
    ("CREATE TABLE t AS SELECT 1 AS a", None),
    ("CREATE TEMP VIEW v AS SELECT 1 AS a; FROM v", None),
    ("SET threads = 2", None),
    ("PRAGMA table_info('mine')", None),
    ("DESCRIBE mine", None),
    ("SUMMARIZE mine", None),
    ("SHOW TABLES", None),
    ("EXPLAIN SELECT a FROM mine", None),
    ("BEGIN; INSERT INTO mine VALUES (5, 'x'); ROLLBACK; SELECT count(*) FROM mine", None),
    ("PREPARE p AS SELECT a FROM mine WHERE a = $1; EXECUTE p(3)", None),
    ("PIVOT mine ON b USING sum(a)", None),
    ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 5) FROM r", None),
    ("SELECT {'a': [1, 2], 'b': MAP {'k': 1.5}} AS s, INTERVAL 3 DAY AS i, 'x'::BLOB AS l, uuid() IS NULL", None),
    ("COPY (SELECT 1) TO '/dev/null'", None),
    ("", None),
    ("-- nothing", None),
]

WRONG = [
    ("SELEC 1", None),
    ("SELECT * FROM nowhere", None),
    ("SELECT 1; SELECT * FROM nowhere", None),
    ("SELECT c FROM mine", None),
    ("SELECT 'a'::INTEGER", None),
    ("SELECT a + 'x' FROM mine WHERE error('no') IS NULL", None),
    ("SELECT nothing(1)", None),
    ("SELECT ?", None),
    ("SELECT ?", [1, 2]),
    ("SELECT ?", 3),
    ("SELECT ?", "x"),
    ("SELECT $a", {"b": 1}),
    ("SELECT ?; SELECT ?", [1]),
    ("CREATE TABLE mine (a INTEGER)", None),
    ("INSERT INTO mine VALUES (1)", None),
    ("DROP TABLE nowhere", None),
    ("ROLLBACK", None),
    ("SET nothing = 1", None),
    ("ATTACH '/nowhere/at/all.duckdb' AS other (READ_ONLY)", None),
    ("CREATE TABLE k (a INTEGER PRIMARY KEY); INSERT INTO k VALUES (1), (1)", None),
    ("EXECUTE nothing(1)", None),
]


@pytest.mark.parametrize(("sql", "parameters"), [*STATEMENTS, *WRONG])
@pytest.mark.parametrize("attached", [False, True])
def test_what_touches_no_release_is_as_in_duckdb(release, sql, parameters, attached):
    path = release(0.5)
    with duckdb.connect() as theirs, ppdm_sql.connect() as ours:
        for con in (theirs, ours):
            con.execute("CREATE TABLE mine AS SELECT range AS a, 'x' || range AS b FROM range(5)")
            if attached:
                con.execute(f"ATTACH '{path}' AS half (READ_ONLY)")
        assert outcome(ours, sql, parameters) == outcome(theirs, sql, parameters)
        assert ours.execute("FROM mine").fetchall() == theirs.execute("FROM mine").fetchall()


@pytest.mark.parametrize(("sql", "parameters"), [*STATEMENTS, *WRONG])
def test_relations_that_touch_no_release_are_as_in_duckdb(sql, parameters):
    def found(con):
        con.execute("CREATE TABLE mine AS SELECT range AS a, 'x' || range AS b FROM range(5)")
        try:
            relation = con.sql(sql, params=parameters)
            return relation is not None and (relation.columns, relation.types, relation.fetchall(), str(relation))
        except Exception as error:
            return type(error), str(error)

    with duckdb.connect() as theirs, ppdm_sql.connect() as ours:
        assert found(ours) == found(theirs)


def test_a_script_with_a_mistake_runs_not_at_all(writable):
    with pytest.raises(duckdb.ParserException) as ours:
        writable.execute("CREATE TABLE half_done (a INTEGER); SELEC 2")
    with pytest.raises(duckdb.ParserException) as theirs, duckdb.connect() as con:
        con.execute("CREATE TABLE half_done (a INTEGER); SELEC 2")
    assert str(ours.value) == str(theirs.value)
    with pytest.raises(duckdb.CatalogException):
        writable.execute("FROM half_done")


@pytest.mark.parametrize("rows", [None, [], [[1, "x"], [2, "y"]], [[1]], [{"a": 1}]])
def test_executemany_is_as_in_duckdb(rows):
    def found(con):
        con.execute("CREATE TABLE mine (a INTEGER, b VARCHAR)")
        try:
            con.executemany("INSERT INTO mine VALUES (?, ?)", rows)
            return con.rowcount, con.description, con.fetchall(), con.execute("FROM mine").fetchall()
        except Exception as error:
            return type(error), str(error)

    with duckdb.connect() as theirs, ppdm_sql.connect() as ours:
        assert found(ours) == found(theirs)


frame_of_the_module = pd.DataFrame({"m": [1, 2]})


def test_variables_are_tables_as_in_duckdb(writable):
    frame = pd.DataFrame({"a": [1, 2, 9]})
    arrow_table = pa.table({"a": [1]})
    assert writable.execute("SELECT count(*) FROM mine JOIN frame USING (a)").fetchall() == [(2,)]
    assert writable.sql("SELECT sum(m) FROM frame_of_the_module, arrow_table").fetchall() == [(3,)]
    writable.executemany("INSERT INTO mine SELECT a, ? FROM frame", [["p"], ["q"]])
    assert writable.execute("SELECT count(*) FROM mine").fetchall() == [(11,)]
    relation = writable.sql("SELECT a FROM mine WHERE a < 2")
    assert len(relation) == 4
    assert writable.sql("SELECT count(*) FROM relation").fetchall() == [(4,)]
    assert len(frame) + len(arrow_table) == 4
    with pytest.raises(duckdb.CatalogException):  # a variable of ours is none of the caller's
        writable.execute("FROM values_of_nobody, statement")
