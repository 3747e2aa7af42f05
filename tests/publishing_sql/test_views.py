"""CREATE PERTURBED VIEW: no storage, one value for ever, nothing without the key."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.errors import QueryError, SourceError, TargetError
from ppdm_sql.publishing.keyfile import read_key

from .conftest import AGE, BY_ID, CLAUSE, ORIGINAL, ROWS, names_in, releases_in

VIEW = f"CREATE PERTURBED VIEW v AS SELECT * FROM adult {CLAUSE}"


def rows_of(con, name, columns="*"):
    return con.execute(f"SELECT {columns} FROM {name} ORDER BY id").fetchall()


@pytest.fixture
def file(key, tmp_path):
    """A database with the original and a perturbed view, and the view's rows."""
    path = tmp_path / "own.duckdb"
    with ppdm_sql.connect(path) as con:
        con.execute(ORIGINAL)
        con.execute(f"SET ppdm_key = '{key}'; {VIEW}")
        return path, rows_of(con, "v")


def test_the_view_shows_what_the_table_would_hold(con):
    con.execute(f"CREATE SCHEMA s; CREATE PERTURBED TABLE s.v AS SELECT * FROM adult {CLAUSE}; {VIEW}")
    assert rows_of(con, "main.v") == rows_of(con, "s.v")
    kinds = "SELECT column_name, column_type FROM (DESCRIBE {})"
    assert con.execute(kinds.format("main.v")).fetchall() == con.execute(kinds.format("s.v")).fetchall()


@pytest.mark.parametrize(
    "identity",
    [
        "id::HUGEINT", "id::UTINYINT % 1 + id::DECIMAL(10, 2)", "'Zoë ' || id", "md5(id::VARCHAR)::UUID",
        "('\\x00' || id)::BLOB",
        "DATE '2000-01-01' + id::INT", "TIMESTAMPTZ '2000-01-01 00:00:00+00' + to_days(id::INT)",
        "id::DOUBLE / 4", "TIME '00:00:00' + to_seconds(id)",
    ],
)  # fmt: skip
def test_identities_of_every_type(con, identity):
    query = f"AS SELECT {identity.replace('id::UTINYINT % 1', '0')} AS id, kind, age, ssn FROM adult"
    clause = BY_ID.replace("(id)", "(id, kind)")
    con.execute(
        f"CREATE SCHEMA s; CREATE PERTURBED TABLE s.v {query} {clause}; CREATE PERTURBED VIEW v {query} {clause}"
    )
    assert rows_of(con, "main.v", "age") == rows_of(con, "s.v", "age")


def test_a_thousand_readings_give_one_value(con):
    con.execute(f"CREATE PERTURBED VIEW v AS SELECT id, age, ssn FROM adult {BY_ID}")
    query = "SELECT age FROM v WHERE id = 7"
    assert {con.execute(query).fetchone() for _ in range(1_000)} == {con.execute(query).fetchone()}


def test_other_ways_to_read_give_the_same_values(con):
    con.execute(VIEW)
    whole = dict(con.execute("SELECT id, age FROM v").fetchall())
    con.execute("SET threads = 1; SET preserve_insertion_order = false")
    assert dict(con.execute("SELECT id, age FROM v ORDER BY id DESC").fetchall()) == whole
    assert dict(con.execute("SELECT id, age FROM v WHERE id % 10 = 3").fetchall()).items() <= whole.items()
    assert dict(con.cursor().execute("SELECT id, age FROM v").fetchall()) == whole
    con.execute("UPDATE adult SET wage = 0")
    assert dict(con.execute("SELECT id, age FROM v").fetchall()) == whole


def test_the_view_is_a_release(con):
    con.execute(VIEW)
    estimate, low, high = con.execute(
        "SELECT count(*), ppdm_low(count(*)), ppdm_high(count(*)) FROM v WHERE age BETWEEN 25 AND 45 AND wage < 30"
    ).fetchone()
    truth = con.execute("SELECT count(*) FROM adult WHERE age BETWEEN 25 AND 45 AND wage < 30").fetchone()[0]
    assert isinstance(estimate, float) and low < truth < high
    assert con.execute("SELECT count(*) FROM v WHERE age > 0").fetchall() == [(ROWS,)]
    assert [row[3] for row in con.sql("SHOW PERTURBED TABLES").fetchall()] == ["view"]
    with pytest.raises(QueryError, match="reads a release"):
        con.execute(f"CREATE PERTURBED TABLE q AS FROM v {BY_ID}")


def test_a_stock_client_gets_an_error(file):
    path, _ = file
    with duckdb.connect(str(path)) as con:
        with pytest.raises(duckdb.CatalogException, match="ppdm_view_needs_its_key_"):
            con.execute("SELECT * FROM perturbed.v")
        with pytest.raises(duckdb.CatalogException, match="ppdm_view_needs_its_key_"):
            con.execute("SELECT count(*) FROM perturbed.v WHERE age > 3")


def test_the_key_is_nowhere_in_the_file(file, key):
    path, _ = file
    secret = read_key(key)
    content = path.read_bytes()
    assert secret not in content and secret.hex().encode() not in content
    assert str(key).encode() not in content


def test_the_key_opens_the_view_again(file, key, tmp_path):
    path, rows = file
    with ppdm_sql.connect(path) as con:
        assert releases_in(con) == ["v"]
        with pytest.raises(duckdb.Error, match="ppdm_view_needs_its_key_"):
            con.execute("SELECT * FROM v")
        con.execute(f"SET ppdm_key = '{write_key(tmp_path, 2)}'")
        with pytest.raises(duckdb.Error, match="ppdm_view_needs_its_key_"):
            con.execute("SELECT * FROM v")
        con.execute(f"SET ppdm_key = '{key}'")
        assert rows_of(con, "v") == rows
        con.execute(f"SET ppdm_key = '{key}'")
        assert con.execute("SELECT count(*) FROM v WHERE age > 0").fetchone() == (ROWS,)


def test_a_view_in_a_file_that_is_only_read(file, key):
    path, rows = file
    with ppdm_sql.connect(path, read_only=True) as con:
        con.execute(f"SET ppdm_key = '{key}'")
        assert rows_of(con, "v") == rows


def test_or_replace_and_drop(con):
    con.execute(VIEW)
    with pytest.raises(TargetError, match="already: say CREATE OR REPLACE PERTURBED VIEW"):
        con.execute(VIEW)
    con.execute(f"CREATE OR REPLACE PERTURBED VIEW v AS SELECT id, age, ssn FROM adult LIMIT 10 -- ten\n {BY_ID}")
    assert len(rows_of(con, "v")) == 10
    with pytest.raises(TargetError, match="is a perturbed view: DROP PERTURBED VIEW it first"):
        con.execute(f"CREATE OR REPLACE PERTURBED TABLE v AS FROM adult {BY_ID}")
    with pytest.raises(TargetError, match="is a perturbed view: say DROP PERTURBED VIEW"):
        con.execute("DROP PERTURBED TABLE v")
    con.execute("DROP PERTURBED VIEW v")
    assert names_in(con) == ["adult"] and releases_in(con) == []
    con.execute(VIEW)
    assert len(rows_of(con, "v")) == ROWS
    con.execute("CREATE VIEW plain AS FROM adult")
    with pytest.raises(TargetError, match="a view 'plain' already, which is not a release"):
        con.execute(f"CREATE OR REPLACE PERTURBED VIEW plain AS FROM adult {BY_ID}")


def test_an_error_leaves_nothing(con):
    for query, clause in [
        ("FROM adult", AGE.replace("17", "30") + " IDENTIFIED BY (id)"),
        ("FROM adult", f"{AGE} IDENTIFIED BY (kind)"),
        ("FROM nowhere", BY_ID),
    ]:
        with pytest.raises((QueryError, SourceError)):
            con.execute(f"CREATE PERTURBED VIEW v AS {query} {clause}")
        assert names_in(con) == ["adult"] and releases_in(con) == []
    functions = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'ppdm_view%'"
    assert con.execute(functions).fetchall() == [(0,)]


def test_functions_of_a_view_that_could_not_be_stored_are_taken_back(file, key):
    path, _ = file
    with ppdm_sql.connect(path, read_only=True) as con:
        con.execute(f"SET ppdm_key = '{key}'")
        with pytest.raises(TargetError):
            con.execute(f"CREATE PERTURBED VIEW w AS SELECT id, age, ssn FROM adult {BY_ID}")
        functions = "SELECT count(*) FROM duckdb_functions() WHERE function_name LIKE 'ppdm_view%'"
        assert con.execute(functions).fetchall() == [(9,)]


def test_a_view_is_not_for_transactions_or_parameters(con):
    con.execute("BEGIN")
    with pytest.raises(QueryError, match="COMMIT first"):
        con.execute(VIEW)
    con.execute("ROLLBACK")
    with pytest.raises(QueryError, match="a view has no parameters"):
        con.execute(f"CREATE PERTURBED VIEW v AS SELECT id, age, ssn FROM adult WHERE kind = ? {BY_ID}", [3])


def test_rows_that_break_a_rule_later_are_not_shown(con):
    con.execute(f"CREATE PERTURBED VIEW v AS SELECT id, age, ssn FROM adult {BY_ID}")
    con.execute("INSERT INTO adult (id, age) VALUES (-1, 123456)")
    with pytest.raises(
        duckdb.Error, match="view 'v', column 'age': the original now has rows with a value out"
    ) as caught:
        con.execute("SELECT * FROM v").fetchall()
    assert "123456" not in str(caught.value)


def test_a_program_that_does_not_close_ends_quietly(key):
    program = f"""
import ppdm_sql
con = ppdm_sql.connect()
con.execute("CREATE TABLE adult AS SELECT range AS id, 20 + range % 9 AS age, 1 AS ssn FROM range(50)")
con.execute("SET ppdm_key = '{key}'")
con.execute("CREATE PERTURBED VIEW v AS FROM adult {BY_ID}")
print(con.execute("SELECT count(*) FROM v WHERE age > 0").fetchone())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("(50.0,)\n", "")
