"""No method of a connection or a relation reads perturbed rows as if they were true."""

from __future__ import annotations

import duckdb
import pandas as pd
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.connection.relation import Relation
from ppdm_sql.errors import QueryError, Unsupported

BY_SEX = "SELECT sex, count(*) AS n FROM people WHERE age > 40 GROUP BY sex ORDER BY sex"


def test_registered_tables(writable):
    frame = pd.DataFrame({"k": [1, 2]})
    assert writable.register("brought", frame) is writable
    assert writable.execute("SELECT sum(k) FROM brought").fetchall() == [(3,)]
    writable.register("answer", writable.sql("SELECT count(*) AS n FROM half.people WHERE age > 40"))
    assert writable.execute("SELECT n > 5000 FROM answer").fetchall() == [(True,)]
    writable.unregister("brought")
    with pytest.raises(duckdb.CatalogException):
        writable.execute("FROM brought")
    with pytest.raises(Unsupported, match="register"):
        writable.register("copy", writable.sql("SELECT age FROM half.people"))


@pytest.mark.parametrize("config", [{"enable_external_access": False}, {"python_enable_replacements": False}])
def test_answers_need_no_variables(release, config):
    with ppdm_sql.connect(release(0.5), read_only=True, config=config) as con:
        con.execute("SET ppdm_method = 'bayes'")
        assert con.execute(BY_SEX).fetchall() == con.sql(BY_SEX).fetchall()


@pytest.mark.parametrize("name", ["table", "view", "from_query", "read_parquet", "from_parquet", "table_function"])
def test_what_would_read_rows_raw_is_withheld(con, name):
    assert not hasattr(con, name)
    with pytest.raises(AttributeError, match=rf"no {name}\(\).* Use con.sql\("):
        getattr(con, name)


def test_every_method_of_duckdbs_connection_is_decided():
    with duckdb.connect() as theirs, ppdm_sql.connect() as ours:
        for name in dir(theirs):
            if not name.startswith("_") and not hasattr(ours, name):
                with pytest.raises(AttributeError, match="perturbed values"):
                    getattr(ours, name)
        with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
            _ = ours.nonsense


def test_what_has_nothing_to_do_with_releases_passes(writable):
    assert str(writable.decimal_type(5, 2)) == "DECIMAL(5,2)"
    assert writable.from_df(pd.DataFrame({"a": [1, 2]})).aggregate("sum(a)").fetchall() == [(3,)]
    assert writable.create_function("twice", lambda x: 2 * x, ["BIGINT"], "BIGINT") is writable
    assert writable.execute("SELECT twice(3)").fetchall() == [(6,)]
    writable.append("mine", pd.DataFrame({"a": [7], "b": ["y"]}))
    assert writable.execute("SELECT count(*) FROM mine").fetchall() == [(6,)]
    with pytest.raises(QueryError, match="may not name a release"):
        writable.append("people", pd.DataFrame({"a": [7]}))
    with pytest.raises(QueryError, match="may not name a release"):
        writable.values(duckdb.SQLExpression("(SELECT avg(age) FROM half.people)"))


def test_an_answer_is_a_relation_of_estimates(con):
    relation = con.sql(BY_SEX)
    rows = con.execute(BY_SEX).fetchall()
    assert isinstance(relation, Relation)
    assert relation.columns == ["sex", "n"]
    assert relation.shape == (len(relation), 2) == (2, 2)
    assert "sex" in relation
    assert "age" not in relation
    assert str(relation) == repr(relation)
    assert "│   sex   │" in str(relation)
    assert "text/html" in relation._repr_mimebundle_()
    assert {"fetchall", "df", "filter"} <= set(dir(relation))
    assert relation.filter("sex = 'F'").fetchall() == rows[:1]
    assert relation["n"].fetchall() == relation.n.fetchall() == [row[1:] for row in rows]
    assert relation.aggregate("sum(n)").fetchall() == [(sum(row[1] for row in rows),)]
    assert relation.union(relation).order("n").limit(1).fetchall() == [min(rows, key=lambda row: row[1])]
    assert relation.query("answer", "SELECT count(*) FROM answer").fetchall() == [(2,)]
    assert con.sql("SELECT count(*) FROM relation").fetchall() == [(2,)]
    assert con.sql(BY_SEX, alias="named").alias == "named"
    with pytest.raises(ppdm_sql.ProgrammingError):
        relation.filter("age > 40").fetchall()


def test_rows_of_a_release_are_read_and_not_computed_with(writable):
    rows = writable.sql("SELECT age, sex FROM half.people")
    assert len(rows.limit(3).fetchall()) == 3
    assert len(rows.head(2)) == 2
    for call in (
        lambda: rows.aggregate("avg(age)"),
        lambda: rows.avg("age"),
        lambda: rows.age.max("age"),
        lambda: rows.limit(10).query("r", "SELECT avg(age) FROM r"),
        lambda: rows.filter("age > 40"),
        lambda: rows.project("avg(age)"),
        lambda: rows.create("copy"),
        lambda: rows.create_view("copy"),
        lambda: writable.sql("SELECT p.age AS old FROM half.people AS p").avg("old"),
        lambda: rows.map(lambda frame: frame),
        lambda: writable.sql("FROM mine").union(rows),
        lambda: writable.sql("FROM mine").join(rows, "a = age"),
    ):
        with pytest.raises(ppdm_sql.NotSupportedError, match="perturbed values for true ones"):
            call()
    with pytest.raises(ppdm_sql.Error, match="not suitable for replacement scans"):
        writable.sql("SELECT avg(age) FROM rows").fetchall()
    with pytest.raises(ppdm_sql.Error):
        writable.execute("SELECT count(*) FROM copy")


@pytest.mark.parametrize("sql", ["SELECT 1 AS a", "SELECT count(*) AS a FROM half.people WHERE age > 40"])
def test_no_relation_is_a_way_to_the_rows(writable, sql):
    relation = writable.sql(sql)
    for call in (
        lambda: relation.query("r", "SELECT avg(age) FROM half.people"),
        lambda: relation.filter("a > (SELECT avg(age) FROM half.people)"),
        lambda: relation.project("(SELECT avg(age) FROM half.people)"),
        lambda: relation.select(duckdb.SQLExpression("(SELECT avg(age) FROM half.people)")),
        lambda: relation.insert_into("half.people"),
    ):
        with pytest.raises(ppdm_sql.ProgrammingError, match="may not name a release"):
            call()
    for name in ("_con", "_relation_", "_copy"):
        with pytest.raises(AttributeError):
            getattr(relation, name)


def test_an_answer_can_be_kept_as_a_table_but_not_as_a_view(writable):
    answer = writable.sql("SELECT sex, count(*) AS n FROM half.people WHERE age > 40 GROUP BY sex ORDER BY sex")
    answer.create("kept")
    assert writable.execute("FROM kept ORDER BY sex").fetchall() == answer.fetchall()
    with pytest.raises(Unsupported, match="CREATE RECONSTRUCTED VIEW"):
        answer.create_view("kept_view")


def test_a_relation_is_not_read_by_the_parameters_of_a_release_that_is_gone(tmp_path):
    ppdm_sql.publish(people(600), policy(0.3), to=tmp_path / "r.duckdb", key=write_key(tmp_path, 1))
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'r.duckdb'}' AS r (READ_ONLY); SET ppdm_key = '{tmp_path / 'own.key'}'")
        perturbed = "CREATE OR REPLACE PERTURBED TABLE mine AS SELECT range AS id, range % 10 AS v FROM range(600) "
        con.execute(f"{perturbed} PERTURB (v UNIFORM RETAIN 0.3 DOMAIN (0 TO 9)) IDENTIFIED BY (id)")
        asked = con.sql("SELECT count(*) AS n FROM mine WHERE v > 4")
        other = con.sql("SELECT count(*) AS n FROM r.people WHERE age > 40")
        before = asked.fetchall(), other.fetchall()
        assert (asked.fetchall(), other.fetchall()) == before
        con.execute(f"{perturbed} PERTURB (v UNIFORM RETAIN 0.9 DOMAIN (0 TO 9)) IDENTIFIED BY (id)")
        for read in (
            asked.fetchall,
            asked.df,
            asked.show,
            lambda: len(asked),
            lambda: repr(asked),
            lambda: asked.limit(1),
        ):
            with pytest.raises(QueryError, match="'mine' has changed since"):
                read()
        assert other.fetchall() == before[1]
        assert con.sql("SELECT count(*) AS n FROM mine WHERE v > 4").fetchall() != before[0]
