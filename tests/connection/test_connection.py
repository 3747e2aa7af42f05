"""The connection: results, parameters, settings, files, other tables, and what an import costs."""

from __future__ import annotations

import datetime
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.errors import PpdmError, QueryError, ReleaseError, SettingError, Unsupported
from ppdm_sql.publishing.release import publish

OLDER = "SELECT count(*) FROM people WHERE age > 40"


@pytest.fixture
def con(release):
    with ppdm_sql.connect(release(0.5), read_only=True) as con:
        yield con


@pytest.fixture
def exact(release):
    with ppdm_sql.connect(release(1.0), read_only=True) as con:
        yield con


def test_results_come_in_every_form(con):
    (value,) = con.execute(OLDER).fetchone()
    assert isinstance(value, float)
    assert con.fetchone() is None
    assert con.execute(OLDER).fetchmany(5) == [(value,)]
    assert con.execute(OLDER).df().iloc[0, 0] == value
    assert con.execute(OLDER).arrow().to_pylist() == [{"count_star()": value}]
    assert con.execute(OLDER).description[0][0] == "count_star()"
    assert con.fetchall() == [(value,)]
    relation = con.sql(OLDER)
    assert relation.fetchall() == relation.fetchall() == [(value,)]
    assert "count_star()" in str(relation)


def test_bayes_results_come_in_every_form(con):
    con.execute("SET ppdm_method = 'bayes'")
    rows = con.execute("SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex ORDER BY sex").fetchall()
    assert [row[0] for row in rows] == ["F", "M"]
    relation = con.sql("SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex ORDER BY sex")
    con.sql(OLDER).fetchall()  # a later query must not change what an earlier relation reads
    assert relation.fetchall() == rows
    assert relation.df()["n"].tolist() == [row[1] for row in rows]


@pytest.mark.parametrize(
    ("condition", "values", "literal"),
    [
        ("age > ?", [40], "age > 40"),
        ("age BETWEEN ? AND ? AND hours < ?", [20, 40, 50], "age BETWEEN 20 AND 40 AND hours < 50"),
        ("age > $low AND sex = $sex", {"low": 30, "sex": "F"}, "age > 30 AND sex = 'F'"),
        ("age > $2 AND hours > $1", [10, 30], "age > 30 AND hours > 10"),
        ("occupation = ?", ["O'Brien's"], "occupation = 'O''Brien''s'"),
        ("birth < ?", [datetime.date(1970, 5, 1)], "birth < DATE '1970-05-01'"),
        ("seen < ?", [datetime.datetime(2021, 5, 1, 3)], "seen < TIMESTAMP '2021-05-01 03:00:00'"),
        ("salary < ?", [Decimal("50000.25")], "salary < 50000.25"),
        ("wage < ?", [150.25], "wage < 150.25"),
        ("married = ?", [True], "married = TRUE"),
        ("occupation IS NOT DISTINCT FROM ?", [None], "occupation IS NULL"),
        ("age-?-? > 20", [5, 6], "age - 5 - 6 > 20"),
        ("age IN ($a,$b,$c)", {"a": 30, "b": 40, "c": 50}, "age IN (30, 40, 50)"),
        ("age-$a>$b AND '$a-$b' <> $$a-$b$$", {"a": 5, "b": 20}, "age - 5 > 20 AND '$a-$b' <> 'a-$b'"),
    ],
)
def test_parameters_mean_what_constants_mean(exact, condition, values, literal):
    found = exact.execute(f"SELECT count(*) FROM people WHERE {condition}", values).fetchall()
    assert found == exact.execute(f"SELECT count(*) FROM people WHERE {literal}").fetchall()
    assert exact.sql(f"SELECT count(*) FROM people WHERE {condition}", params=values).fetchall() == found


def test_parameters_in_limit_and_select(exact):
    sql = "SELECT region, count(*) * ? FROM people WHERE age > ? GROUP BY region ORDER BY region LIMIT ?"
    assert len(exact.execute(sql, [2, 30, 1]).fetchall()) == 1


def test_missing_and_superfluous_parameters_are_named(con):
    with pytest.raises(QueryError, match=r"parameter \$2 was given no value"):
        con.execute("SELECT count(*) FROM people WHERE age BETWEEN ? AND ?", [3])
    with pytest.raises(QueryError, match="does not have: 2"):
        con.execute("SELECT count(*) FROM people WHERE age > ?", [3, 4])


def test_intervals_follow_the_confidence(con):
    sql = "SELECT ppdm_low(count(*)), count(*), ppdm_high(count(*)), ppdm_error(count(*)) FROM people WHERE age > 40"
    low, value, high, error = con.execute(sql).fetchone()
    assert high - value == pytest.approx(1.959964 * error)
    con.execute("SET ppdm_confidence = 0.5")
    assert con.execute(sql).fetchone()[2] - value == pytest.approx(0.6744898 * error)
    con.execute("RESET ppdm_confidence")
    assert con.execute(sql).fetchone() == (low, value, high, error)


def test_errors_as_columns(con):
    con.execute("SET ppdm_errors = 'columns'")
    result = con.sql("SELECT sex, count(*) AS n, count(*) FILTER (WHERE age > 40) AS m FROM people GROUP BY sex")
    assert result.columns == ["sex", "n", "m", "m_low", "m_high"]
    assert all(low < m < high for _, _, m, low, high in result.fetchall())
    con.execute("set session PPDM_ERRORS to off")
    assert con.sql(OLDER).columns == ["count_star()"]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SET ppdm_method = 'magic'", "must be one of auto, inversion, bayes"),
        ("SET ppdm_confidence = 2", "between 0 and 1"),
        ("SET ppdm_method = 1" + "/**/" * 60 + " + 1", "must be one of auto, inversion, bayes"),
        ("SET ppdm_nonsense = 1", "unknown setting 'ppdm_nonsense'"),
        ("RESET ppdm_nonsense", "unknown setting 'ppdm_nonsense'"),
    ],
)
def test_wrong_settings_are_named(con, sql, message):
    with pytest.raises(SettingError, match=message):
        con.execute(sql)


def test_settings_belong_to_a_cursor(con):
    other = con.cursor()
    other.execute("SET ppdm_errors = 'columns'")
    assert len(other.sql(OLDER).columns) == 3
    assert len(con.sql(OLDER).columns) == 1
    other.close()


def test_several_statements_at_once(con):
    value = con.execute(OLDER).fetchall()
    assert con.execute(f"SET ppdm_method = 'bayes'; RESET ppdm_method; SELECT 1; {OLDER};").fetchall() == value


def test_everything_else_is_duckdbs(tmp_path):
    con = ppdm_sql.connect(tmp_path / "mine.duckdb")
    con.execute("CREATE TABLE t (a INTEGER, b VARCHAR)")
    con.executemany("INSERT INTO t VALUES (?, ?)", [[1, "x"], [2, "people"]])
    assert con.execute("SELECT max(a), min(b) FROM t WHERE a > ?", [1]).fetchall() == [(2, "people")]
    assert con.execute("EXPLAIN SELECT 1").fetchall()[0][0] == "physical_plan"
    con.sql("CREATE VIEW v AS SELECT * FROM t")
    assert con.sql("SELECT count(*) FROM v").fetchall() == [(2,)]
    with pytest.raises(duckdb.CatalogException):
        con.execute("SELECT * FROM nowhere")
    with pytest.raises(duckdb.ParserException):
        con.execute("SELEC 1")
    con.close()


def test_releases_appear_when_they_are_attached(release):
    with ppdm_sql.connect() as con:
        con.execute("SELECT 1")
        con.execute(f"ATTACH '{release(0.5)}' AS half (READ_ONLY)")
        con.execute(f"ATTACH '{release(1.0)}' AS full_ (READ_ONLY)")
        (estimate,) = con.execute("SELECT count(*) FROM half.people WHERE age > 40").fetchone()
        (truth,) = con.execute("SELECT count(*) FROM full_.main.people WHERE age > 40").fetchone()
        assert estimate != truth
        assert abs(estimate - truth) < 1000
        con.execute("USE full_")
        assert con.execute(OLDER).fetchone() == (truth,)
        con._con.execute("CREATE TEMP TABLE people AS SELECT 50 AS age")
        con.execute("CREATE TEMP TABLE other (a INTEGER)")  # after which the connection looks again
        assert con.execute("SELECT max(age) FROM people").fetchone() == (50,)
        with pytest.raises(Unsupported):
            con.execute("SELECT max(age) FROM full_.people")


def test_a_view_made_later_does_not_hide_a_release(release):
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{release(0.5)}' AS half (READ_ONLY)")
        con._con.execute("CREATE VIEW innocent AS SELECT * FROM half.perturbed.people")
        con.execute("SELECT 1; CREATE TABLE t (a INTEGER)")
        (estimate,) = con.execute("SELECT avg(age) FROM innocent").fetchone()
        (perturbed,) = con._con.execute("SELECT avg(age) FROM innocent").fetchone()
        assert abs(estimate - perturbed) > 1
        with pytest.raises(Unsupported, match="max"):
            con.execute("SELECT max(age) FROM innocent")


@pytest.fixture(scope="module")
def parquet(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("parquet")
    path = folder / "people.parquet"
    publish(people(3000), policy(0.5), to=path, key=write_key(folder, 1))
    return path


def test_a_parquet_release_is_a_release(parquet):
    with ppdm_sql.connect(parquet) as con:
        (estimate,) = con.execute(OLDER).fetchone()
        assert 1000 < estimate < 2000
        with pytest.raises(Unsupported):
            con.execute("SELECT max(age) FROM people")


def test_a_parquet_release_is_known_by_its_file(parquet):
    with ppdm_sql.connect() as con:
        for table in (f"'{parquet}'", f"read_parquet('{parquet}')", f"parquet_scan('{parquet}')"):
            (estimate,) = con.execute(f"SELECT count(*) FROM {table} AS p WHERE p.age > 40").fetchone()
            assert 1000 < estimate < 2000
            with pytest.raises(Unsupported):
                con.execute(f"SELECT max(age) FROM {table}")


def test_a_parquet_release_among_several_files_is_still_one(parquet):
    with ppdm_sql.connect() as con, pytest.raises(PpdmError):
        con.execute(f"SELECT max(age) FROM read_parquet(['{parquet}'])")


def test_what_is_not_a_release_is_said(tmp_path):
    with pytest.raises(ReleaseError, match="no file"):
        ppdm_sql.connect(tmp_path / "none.duckdb", read_only=True)
    with pytest.raises(ReleaseError, match="not a release"):
        ppdm_sql.connect(tmp_path / "none.parquet")
    (tmp_path / "text.duckdb").write_text("this is not a database, whatever its name says\n" * 100)
    with pytest.raises(ReleaseError, match="cannot be opened"):
        ppdm_sql.connect(tmp_path / "text.duckdb")


def test_an_empty_release_counts_nobody(tmp_path):
    publish(people(0), policy(0.5), to=tmp_path / "empty.duckdb", key=write_key(tmp_path, 1))
    with ppdm_sql.connect(tmp_path / "empty.duckdb") as con:
        for method in ("inversion", "bayes"):
            con.execute(f"SET ppdm_method = '{method}'")
            sql = "SELECT count(*), ppdm_error(count(*)) FROM people WHERE age > 40 AND hours < 30"
            assert con.execute(sql).fetchall() == [(0.0, 0.0)]
            assert con.execute("SELECT sex, count(*) FROM people WHERE age > 40 GROUP BY sex").fetchall() == []


def test_explain_says_what_will_happen(con):
    text = con.explain("SELECT count(*) FROM people WHERE age BETWEEN 25 AND 45 AND education IS NULL")
    assert "column: age SMALLINT, retention 0.5, 74 values in its domain" in text
    assert "cell (true): 21 values, share 0.283784" in text
    assert "NULL, never replaced" in text
    assert "method: inversion: unbiased" in text
    assert "chosen by auto" in text
    assert "COUNT_IF" in text
    assert "touches no release" in con.explain("SELECT 1")
    assert "perturbed" in con.explain("SELECT * FROM people LIMIT 1")


def test_no_answer_holds_the_release_open(release):
    con = ppdm_sql.connect(release(0.5), read_only=True)
    con.execute(OLDER)
    con.close()
    with pytest.raises(duckdb.Error):
        con.execute("SELECT 1")


def test_importing_is_cheap():
    code = "import sys, ppdm_sql; print(sorted({'duckdb', 'sqlglot', 'numpy', 'pyarrow', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_answering_by_inversion_does_not_load_scipy(release):
    code = (
        "import sys, ppdm_sql; con = ppdm_sql.connect(sys.argv[1], read_only=True); "
        "con.execute('SELECT count(*) FROM people WHERE age > 40').fetchall(); con.close(); "
        "print(any(name.split('.')[0] == 'scipy' for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(release(0.5))], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    assert done.stderr == ""


def test_several_parts_reconstructed_from_states_are_read_at_once_or_later(con):
    sql = (
        "SELECT grade::VARCHAR, count(*) FROM people GROUP BY grade UNION ALL "
        "SELECT married::VARCHAR, count(*) FROM people GROUP BY married ORDER BY 1"
    )
    con.execute("SET python_enable_replacements = false")
    now, later = con.execute(sql).fetchall(), con.sql(sql)
    assert [row[0] for row in now] == ["false", "high", "low", "middle", "true"]
    assert later.fetchall() == now


def test_intervals_beside_a_union_have_their_columns_in_every_member(con):
    con.execute("SET ppdm_errors = 'columns'")
    counted = "SELECT sex, count(*) AS n FROM people WHERE age > 30 GROUP BY sex"
    ends = {sex: bounds for sex, *bounds in con.execute(counted).fetchall()}
    for sql in (f"{counted} UNION ALL SELECT 'x', 6 ORDER BY 2", f"SELECT 'x', 6 UNION ALL ({counted}) ORDER BY 2"):
        rows = con.execute(sql).fetchall()
        assert [row[0] for row in rows] == ["x", *sorted(ends, key=lambda sex: ends[sex])]
        assert {row[0]: list(row[1:]) for row in rows} == {"x": [6, 6, 6], **ends}
    assert len(con.execute(f"{counted} EXCEPT SELECT 'x', 6").fetchall()[0]) == 2


@pytest.mark.parametrize("sql", ["SHOW ALL", "SHOW a.b.c.d", "SHOW WITH a AS (SELECT 1.5 AS x, 2.5 AS y, .1) FROM a"])
def test_what_sqlglot_fails_on_is_no_fault_of_ours(con, sql):
    try:
        con.execute(sql)
    except duckdb.CatalogException as missing:
        assert "does not exist" in str(missing)


def test_a_setting_that_sqlglot_fails_on_is_an_error_of_duckdbs(con):
    with pytest.raises(duckdb.Error):
        con.execute("SET threads = v . true")
