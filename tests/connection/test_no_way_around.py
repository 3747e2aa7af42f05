"""No statement is answered from perturbed values as if they were true, whatever way it takes to them."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from keys import write_key
from people import people, policy

import ppdm_sql
from ppdm_sql.errors import PpdmError, QueryError, ReleaseError, Unsupported
from ppdm_sql.publishing.release import publish

ROWS = 4000


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("around")
    for number, retain in enumerate((0.3, 0.5)):
        publish(people(ROWS), policy(retain), to=folder / f"r{number}.parquet", key=write_key(folder, 1))
    publish(people(ROWS), policy(0.3), to=folder / "r.duckdb", key=write_key(folder, 1))
    return folder


@pytest.fixture
def con(files):
    with ppdm_sql.connect() as con:
        con.execute(f"ATTACH '{files / 'r.duckdb'}' AS r (READ_ONLY); USE r")
        yield con


@pytest.fixture(scope="module")
def means(files) -> tuple[float, float]:
    """The true mean age and the perturbed one, far apart."""
    table = people(ROWS)
    with duckdb.connect(str(files / "r.duckdb"), read_only=True) as raw:
        perturbed = raw.execute("SELECT avg(age) FROM perturbed.people").fetchall()[0][0]
    return float(table.column("age").to_numpy().mean()), perturbed


def answered(con, sql, parameters=None) -> list[object]:
    """Every value of the answer, or nothing where it is refused."""
    try:
        return [value for row in con.execute(sql, parameters).fetchall() for value in row]
    except (PpdmError, duckdb.Error):
        return []


WAYS = [
    "WITH people AS (SELECT * FROM people) SELECT avg(age) FROM people",
    "SELECT avg(age) FROM people WHERE EXISTS (WITH people AS (SELECT 1 AS one) FROM people)",
    "WITH x AS (SELECT 1), people AS (FROM people) SELECT avg(age) FROM people, x",
    "SELECT * FROM query('SELECT avg(age) FROM people')",
    "SELECT * FROM query('SELECT avg(age) FROM peo' || 'ple')",
    "SELECT avg(age) FROM query_table('people')",
    "SELECT avg(age) FROM query_table(people)",
    "SELECT avg(age) FROM query_table('peo' || 'ple')",
    "FROM histogram(people, age)",
    "FROM histogram_values('people', age)",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT avg(age) FROM people'))",
    "SELECT avg(age) FROM read_duckdb('{folder}/r.duckdb', table_name = 'people')",
    "SELECT avg(age) FROM '{folder}/r0.parquet'",
    "SELECT avg(age) FROM read_parquet('{folder}/r0.parq' || 'uet')",
    "SELECT avg(age) FROM read_parquet(['{folder}/r0.parquet'])",
    "SELECT a FROM (SELECT 7, MAP {#1: 2}, (SELECT avg(age) FROM r.perturbed.people) AS a, "
    "1 IN -- #}\n (1, 2) FROM range(1))",
    "SELECT a FROM (SELECT 7, MAP {#1: 2}, (SELECT avg(age) FROM '{folder}/r0.parquet') AS a, "
    "1 IN -- #}\n (1, 2) FROM range(1))",
    "SELECT age.max() FROM people",
    "SELECT (age).kurtosis() FROM people",
    "SELECT max(age) FROM people",
    "SELECT mad(age) FROM people",
    "SELECT list(age) FROM people",
    "SELECT * FROM people ORDER BY 2 LIMIT 2",
    "SELECT p.* FROM people AS p ORDER BY ALL LIMIT 2",
    "SELECT *, count(*) FROM people GROUP BY ALL",
    "SELECT * FROM people QUALIFY row_number() OVER (ORDER BY age) = 1",
    "SELECT DISTINCT ON (age) id FROM people",
    "SELECT [x FOR x IN list(age)] FROM people",
    "FROM people SELECT avg(age)",
    "SELECT avg(a) FROM (SELECT age AS a FROM people)",
    "SELECT avg(a) FROM (SELECT age AS a FROM people LIMIT 100000)",
    "SELECT avg(age) FROM (FROM people UNION ALL FROM people)",
    "SELECT avg(a.age) FROM people a POSITIONAL JOIN people b",
    "UNPIVOT people ON age INTO NAME n VALUE v",
    "SUMMARIZE people",
    "SUMMARIZE SELECT * FROM people",
    "COPY people TO '{folder}/x.csv'",
    "PREPARE p AS SELECT avg(age) FROM people; EXECUTE p",
    "CREATE TEMP TABLE t AS FROM people; SELECT avg(age) FROM t",
    "CREATE TEMP TABLE u (a INTEGER); INSERT INTO u SELECT age FROM people; SELECT avg(a) FROM u",
    "CREATE TEMP MACRO tm(t) AS TABLE SELECT avg(age) FROM query_table(t); SELECT * FROM tm('people')",
    "CREATE TEMP MACRO sm(t) AS (SELECT avg(age) FROM query_table(t)); SELECT sm('people')",
    "CREATE TEMP VIEW pv AS FROM '{folder}/r0.parquet'; SELECT max(age) FROM pv",
    "ATTACH '{folder}/r0.parquet' AS pp; SELECT avg(age) FROM pp.file",
    "SET python_scan_all_frames = true",
    "SELECT avg(weight) FROM (SELECT * REPLACE (age AS weight) FROM people)",
    "SELECT avg(weight) FROM (SELECT * RENAME (age AS weight, weight AS other) FROM people)",
    "SELECT avg(a) FROM (SELECT age AS a, weight AS a FROM people)",
    "SELECT avg(age) FROM (SELECT *, hours AS age FROM people)",
    "SELECT avg(b / 2 - 1) FROM (SELECT id, age + 1 AS a, a * 2 AS b FROM people)",
    "SELECT max(sex.x) FROM (SELECT {'x': age} AS sex FROM people)",
    "SELECT count(*) FROM (SELECT age AS weight FROM people) WHERE (SELECT weight > 30)",
    "WITH x AS (SELECT max(age) AS a FROM people) SELECT * FROM (WITH people AS (SELECT 1 AS age) SELECT * FROM x)",
    "CREATE TEMP VIEW v AS FROM r.people; WITH people AS (SELECT 1 AS age) SELECT max(age) FROM v",
    "SELECT max((VALUES (age))) FROM people",
    "SELECT max((SELECT struct_extract(p, 'age'))) FROM people AS p",
    "SELECT max((SELECT z FROM (SELECT p.*) AS q(y, z))) FROM people AS p",
    "SELECT count(*) FROM people AS p WHERE age > 0 AND (SELECT struct_extract(p, 'hours')) > 85",
    "SELECT age, mad(age) FROM people GROUP BY age",
    "CREATE TEMP MACRO half(x) AS avg(x) / 2; SELECT half(age) FROM people",
    "SELECT count(*) FROM (FROM people) TABLESAMPLE 10 PERCENT WHERE age > 30",
    "SELECT count(*) FROM people WHERE age > (SELECT 17 + (random() * 70)::INT)",
    "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)",
    "SELECT ppdm_error(ppdm_error(count(*))) FROM people WHERE age > 30",
    "SELECT birth, seen, count(*) FROM people GROUP BY ALL",
    "SELECT sum(1 / (age - 30)) FROM people",
    "SELECT [age], mad(hours) FROM people GROUP BY 1",
    "SELECT avg(age) FROM (SELECT age FROM people UNION ALL SELECT age FROM people)",
    "SELECT avg(age) FROM (SELECT age FROM people UNION SELECT age FROM people)",
    "SELECT avg(age) FROM (SELECT id, age FROM people EXCEPT SELECT 1, 2)",
    "SELECT avg(age) FROM (SELECT id, age FROM people INTERSECT ALL SELECT id, age FROM people)",
    "SELECT avg(age) FROM (SELECT age FROM people UNION ALL BY NAME SELECT 1 AS one)",
    "SELECT avg(w) FROM (SELECT weight AS w FROM people WHERE FALSE UNION ALL SELECT age FROM people)",
    "SELECT avg(w) FROM (SELECT 1::SMALLINT AS w WHERE FALSE UNION ALL SELECT age FROM people)",
    "SELECT max(w) FROM (SELECT 1::SMALLINT AS w UNION ALL SELECT age FROM people)",
    "SELECT avg(w) FROM (SELECT 1 AS w WHERE FALSE UNION ALL SELECT age + 0 FROM people)",
    "SELECT avg(w) FROM ((SELECT age AS w FROM people) UNION ALL (SELECT age FROM people LIMIT 0))",
    "SELECT avg(age) FROM (SELECT age FROM people UNION ALL SELECT avg(age) FROM people)",
    "SELECT age::DOUBLE FROM people UNION ALL SELECT 1",
    "SELECT avg(DISTINCT age) FROM (SELECT age FROM people UNION ALL SELECT 1::SMALLINT WHERE FALSE)",
    "SELECT avg(age) FROM (people JOIN (SELECT 1 AS one) AS o ON TRUE)",
    "SELECT avg(age) FROM (SELECT 1 AS one) AS o JOIN (people JOIN (SELECT 2 AS two) AS t ON TRUE) ON TRUE",
    "SELECT avg(a) FROM people AS p, LATERAL (SELECT p.age AS a) AS q",
    "SELECT avg(a) FROM people AS p, (SELECT p.age AS a) AS q",
    "SELECT avg(a) FROM people AS p, (SELECT age AS a) AS q",
    "SELECT avg(u) FROM people AS p, unnest([p.age]) AS t(u)",
    "SELECT avg(x::DOUBLE) FROM people JOIN range(100) AS t(x) ON t.x = age",
    "SELECT avg(x::DOUBLE) FROM people JOIN (SELECT range AS age, range AS x FROM range(100)) USING (age)",
    "SELECT avg(x::DOUBLE) FROM people NATURAL JOIN (SELECT range AS age, range AS x FROM range(100))",
    "SELECT avg(x::DOUBLE) FROM people AS p, (SELECT range AS x FROM range(100)) WHERE x = p.age",
    "SELECT avg(x::DOUBLE) FROM people AS p ASOF JOIN (SELECT range AS x FROM range(100)) AS t ON p.age >= t.x",
    "SELECT avg(x::DOUBLE) FROM range(70) AS t(x) SEMI JOIN people ON people.age = x",
    "SELECT avg(x::DOUBLE) FROM range(70) AS t(x) WHERE x IN (SELECT age FROM people)",
    "SELECT avg(x::DOUBLE) FROM range(70) AS t(x) WHERE EXISTS (SELECT 1 FROM people WHERE age = x)",
    "SELECT avg(x::DOUBLE) FROM range(70) AS t(x) JOIN (SELECT DISTINCT age FROM people) AS p ON p.age = x",
    "SELECT avg(a.age) FROM people AS a POSITIONAL JOIN range(10) AS t(x)",
    "SELECT avg(a) FROM (SELECT p.age AS a FROM people AS p JOIN range(1) AS t(x) ON TRUE LIMIT 100000)",
    "SELECT avg(a) FROM (SELECT DISTINCT p.id, p.age AS a FROM people AS p JOIN range(1) AS t(x) ON TRUE)",
    "SELECT avg(a) FROM (SELECT p.age AS a FROM people AS p JOIN range(1) AS t(x) ON TRUE)",
    "SELECT avg(a) FROM (SELECT p.age AS a, x AS a FROM people AS p JOIN range(1) AS t(x) ON TRUE)",
    "SELECT avg(t.age) FROM (SELECT 1 AS one) AS people JOIN people AS t ON TRUE",
    "SELECT avg(people.age) FROM (SELECT 1 AS age) AS t JOIN people ON TRUE",
    "SELECT avg(ppdm_rows.age) FROM people JOIN range(1) AS t(x) ON TRUE",
    "SELECT max((SELECT ppdm_rows.age)) FROM people JOIN range(1) AS t(x) ON TRUE",
    "SELECT max((SELECT p.age)) FROM people AS p JOIN range(1) AS t(x) ON TRUE",
    "SELECT max((SELECT struct_extract(p, 'age'))) FROM people AS p JOIN range(1) AS t(x) ON TRUE",
    "SELECT max(s.y) FROM (SELECT p AS y FROM people AS p JOIN range(1) AS t(x) ON TRUE) AS s",
    "SELECT max(a.age) FROM people AS a JOIN people AS b USING (id)",
    "SELECT avg(a.age + b.age) / 2 FROM people AS a JOIN people AS b USING (id)",
    "SELECT avg(b.age) FROM people AS a LEFT JOIN people AS b ON a.id = b.id + 3",
    "SELECT avg(w) FROM (SELECT * EXCLUDE (weight), age AS w FROM people) AS s JOIN range(1) AS t(x) ON TRUE",
    "SELECT avg(w) FROM (SELECT COLUMNS('age') AS w FROM people) AS s JOIN range(1) AS t(x) ON TRUE",
    "SELECT avg(w) FROM (SELECT id, age.abs() AS w FROM people) AS s JOIN range(1) AS t(x) ON TRUE",
]


@pytest.mark.parametrize("sql", WAYS)
def test_perturbed_values_never_pass_for_true_ones(con, files, means, sql):
    truth, perturbed = means
    assert abs(truth - perturbed) > 3
    values = answered(con, sql.replace("{folder}", str(files)))
    assert not any(isinstance(value, float) and abs(value - perturbed) < 1 for value in values)
    assert all(isinstance(value, float) and abs(value - truth) < 3 for value in values)


@pytest.mark.parametrize(
    ("sql", "parameter"),
    [
        ("FROM query(?)", "SELECT avg(age) FROM people"),
        ("SELECT avg(age) FROM query_table(?)", "people"),
        ("SELECT max(age) FROM read_parquet(?)", "{folder}/r0.parquet"),
    ],
)
def test_parameters_hide_nothing(con, files, sql, parameter):
    assert answered(con, sql, [parameter.replace("{folder}", str(files))]) == []


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO brought SELECT age, $x-$y FROM {rows} WHERE 0=$x-$y",
        "CREATE TABLE memory.made AS SELECT $x-$y AS u, age FROM {rows} ORDER BY $x-$y",
        "COPY (SELECT $x-$y AS u, age FROM {rows} WHERE 0=$x-$y) TO '{folder}/taken.csv'",
        "SELECT $x-$y, (SELECT max(age) FROM {rows}), $x-$y",
        "CREATE TABLE memory.made AS SELECT age, $²$ ' $²$ AS u FROM {rows} --'",
        "CREATE TABLE memory.made AS SELECT $²$ ' $²$, age FROM {rows} --'",
    ],
)
@pytest.mark.parametrize("rows", ["r.perturbed.people", "'{folder}/r0.parquet'"])
def test_dollars_hide_nothing(con, files, sql, rows):
    """sqlglot reads `$x-$ .. $x-$` as a text, DuckDB as parameters."""
    con.execute("CREATE TABLE memory.brought (a INTEGER, b INTEGER); USE memory")
    with pytest.raises(QueryError):
        con.execute(
            sql.replace("{rows}", rows).replace("{folder}", str(files)), {"x": 1, "y": 1} if "$x" in sql else None
        )
    assert con.execute("SELECT count(*) FROM brought").fetchall() == [(0,)]
    assert not (files / "taken.csv").exists()


def test_copying_a_release_into_a_table_is_refused(files):
    with ppdm_sql.connect() as con:
        con.execute("CREATE TABLE t (id BIGINT, age SMALLINT)")
        with pytest.raises(PpdmError):
            con.execute(f"COPY t FROM '{files / 'r0.parquet'}'")


def test_cursors_see_what_other_cursors_attach(files):
    with ppdm_sql.connect() as con:
        con.execute("SELECT 1").fetchall()
        con.cursor().execute(f"ATTACH '{files / 'r.duckdb'}' AS later (READ_ONLY)")
        with pytest.raises(Unsupported):
            con.execute("SELECT max(age) FROM later.people")


def test_a_true_table_is_not_taken_for_the_release(files):
    with ppdm_sql.connect() as con:
        con.register("source", pa.table({"age": [30, 40, 50]}))
        con.execute("CREATE TABLE people AS SELECT * FROM source")
        con.execute(f"ATTACH '{files / 'r.duckdb'}' AS r (READ_ONLY)")
        assert con.execute("SELECT avg(age), max(age) FROM people").fetchall() == [(40.0, 50)]
        assert con.execute("SELECT max(age) FROM main.people").fetchall() == [(50,)]
        assert con.execute("SELECT max(age) FROM memory.main.people").fetchall() == [(50,)]
        for name in ("r.people", "r.main.people"):
            with pytest.raises(Unsupported):
                con.execute(f"SELECT max(age) FROM {name}")


def test_files_of_different_releases_are_not_read_as_one(files):
    with ppdm_sql.connect() as con, pytest.raises(ReleaseError, match="not parts of one release"):
        con.execute(f"SELECT count(*) FROM '{files}/r*.parquet' WHERE age > 30")


def test_parts_of_one_release_are_read_as_one(files, tmp_path):
    for number in range(2):
        publish(people(ROWS), policy(0.5), to=tmp_path / f"part{number}.parquet", key=write_key(tmp_path, number))
    with ppdm_sql.connect() as con:
        (both,) = con.execute(f"SELECT count(*) FROM '{tmp_path}/part*.parquet' WHERE age > 0").fetchone()
        assert both == 2 * ROWS


def test_an_ending_in_capitals_is_a_release_too(tmp_path):
    publish(people(ROWS), policy(0.5), to=tmp_path / "leak.PARQUET", key=write_key(tmp_path, 1))
    with ppdm_sql.connect(tmp_path / "leak.PARQUET") as con, pytest.raises(Unsupported):
        con.execute("SELECT max(age) FROM people")


def test_deep_nesting_is_an_error_with_a_remedy(con):
    with pytest.raises((PpdmError, duckdb.Error)):
        con.execute(f"SELECT count(*) FROM people WHERE {'(' * 700}age > 30{')' * 700}")
    many = " OR ".join(f"(age = {i % 70 + 17} AND hours = {i % 90 + 1})" for i in range(400))
    assert len(answered(con, f"SELECT count(*) FROM people WHERE {many}")) <= 1


def test_factors_are_not_asked_for_rows_they_are_not_meant_for(con):
    (value,) = con.execute(
        "SELECT sum(hours / (weight - weight)) FILTER (WHERE weight <> weight) FROM people WHERE age > 20"
    ).fetchone()
    assert value in (None, 0.0)
    (total,) = con.execute("SELECT sum(CASE WHEN region = 'x' THEN region::INT ELSE age END) FROM people").fetchone()
    assert total > 0


def test_positions_in_order_by_survive_added_columns(con):
    con.execute("SET ppdm_errors = 'columns'")
    rows = con.execute("SELECT count(*) AS n, region FROM people WHERE age > 30 GROUP BY region ORDER BY 2").fetchall()
    regions = [row[-1] for row in rows]
    assert regions == sorted(regions, key=lambda region: (region is None, region))


def test_counts_in_stored_views_are_counts(con):
    con._con.execute(
        "CREATE TEMP VIEW counted AS SELECT sex, count(*) AS n FROM r.perturbed.people WHERE age > 30 GROUP BY sex"
    )
    con.execute("CREATE TEMP TABLE other (a INTEGER)")
    found = con.execute("SELECT sex, n FROM counted ORDER BY sex").fetchall()
    assert found == con.execute("SELECT sex, count(*) FROM people WHERE age > 30 GROUP BY sex ORDER BY sex").fetchall()


def test_groups_may_be_lists_and_nobody_may_be_in_them(con):
    rows = con.execute("SELECT [grade], count(*) FROM people GROUP BY 1").fetchall()
    assert sorted(row[0] for row in rows) == [["high"], ["low"], ["middle"]]
    nobody = "SELECT age, count(*), ppdm_error(count(*)) FROM people WHERE sex = 'nobody' GROUP BY age"
    assert con.execute(nobody).fetchall() == []


def test_a_column_may_bear_any_name(tmp_path):
    table = pa.table({"fixed": [i % 5 for i in range(200)], "w": [i % 7 for i in range(200)]})
    columns = {
        name: {"mechanism": "uniform", "retain": 1, "domain": {"min": 0, "max": most}}
        for name, most in (("fixed", 4), ("w", 6))
    }
    publish(table, {"table": "t", "columns": columns}, to=tmp_path / "t.duckdb", key=write_key(tmp_path, 1))
    with ppdm_sql.connect(tmp_path / "t.duckdb") as con:
        rows = con.execute("SELECT fixed, count(*), sum(w) FROM t GROUP BY fixed ORDER BY fixed").fetchall()
    sums = [sum(w for f, w in zip(*table.to_pydict().values(), strict=True) if f == group) for group in range(5)]
    assert rows == [(group, 40.0, float(sums[group])) for group in range(5)]


def test_a_condition_nobody_can_meet_gives_no_groups(con):
    assert con.execute("SELECT sex, count(*) FROM people WHERE age > 200 GROUP BY sex").fetchall() == []
    assert con.execute("SELECT count(*) FROM people WHERE age > 200").fetchall() == [(0.0,)]


@pytest.mark.parametrize(
    "made",
    [
        "CREATE MACRO coin() AS random()",
        "CREATE MACRO upper(x) AS x || random()::VARCHAR",
        "CREATE VIEW drawn AS SELECT random() * 50 AS v",
    ],
)
def test_a_view_or_macro_that_draws_at_random_is_not_evaluated_on_a_domain(writable, made):
    writable.execute(made)
    asked = {
        "coin": "age > coin() * 50",
        "upper": "upper(occupation) > 'S'",
        "drawn": "age > (SELECT v FROM drawn)",
    }
    (condition,) = [condition for name, condition in asked.items() if name in made]
    with pytest.raises(Unsupported, match="gives another value at each call"):
        writable.sql(f"SELECT count(*) FROM half.people WHERE {condition}")
