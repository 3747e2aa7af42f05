"""Files in FROM without AS: their columns can be named as in DuckDB, alone, in joins and in unions."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pyarrow.csv
import pytest
from keys import write_key

import ppdm_sql
from ppdm_sql.publishing.release import publish

ROWS = 60
POLICY = {
    "table": "people",
    "identity": ["id"],
    "columns": {"age": {"mechanism": "uniform", "retain": 1.0, "domain": {"min": 20, "max": 69}}},
}
STATEMENTS = (
    "SELECT sum(age) FROM (SELECT * FROM '{f}/p0.parquet' UNION ALL SELECT * FROM '{f}/p1.parquet') AS u",
    "SELECT count(*) FROM (FROM '{f}/p0.parquet' UNION ALL FROM '{f}/p1.parquet') WHERE age > 40",
    "SELECT count(*) FROM (FROM read_parquet('{f}/p0.parquet') UNION ALL FROM \"{f}/p1.parquet\") WHERE age > 40",
    "SELECT p0.k, count(*) FROM '{f}/p0.parquet' WHERE p0.age > 40 GROUP BY p0.k",
    "SELECT v.k, sum(age) FROM '{f}/v.1.parquet' GROUP BY v.k",
    "SELECT sum(read_parquet.age) FROM read_parquet('{f}/p0.parquet')",
    "SELECT name, count(*) FROM '{f}/p0.parquet' JOIN '{f}/names.csv' ON p0.k = names.k WHERE p0.age > 30 GROUP BY 1",
    "SELECT name, sum(age) FROM '{f}/names.csv' JOIN '{f}/p1.parquet' USING (k) GROUP BY name",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two releases that keep everything, and an exact file; beside them the originals, under the same names."""
    folder = tmp_path_factory.mktemp("files")
    for place in ("released", "original"):
        (folder / place).mkdir()
        names = pa.table({"k": [0, 1, 2], "name": ["a", "b", "c"]})
        pa.csv.write_csv(names, folder / place / "names.csv")
    with duckdb.connect() as con:
        for number, name in enumerate(("p0.parquet", "p1.parquet", "v.1.parquet")):
            query = (
                f"SELECT range + {1000 * number} AS id, range % 3 AS k, 20 + range * 7 % 50 AS age FROM range({ROWS})"
            )
            con.execute(f"COPY ({query}) TO '{folder}/original/{name}'")
            key = write_key(folder, number)
            publish(con.sql(query), POLICY, to=folder / "released" / name, key=key, progress=False)
    return folder


@pytest.mark.parametrize("statement", STATEMENTS)
def test_files_are_called_as_duckdb_calls_them(files, statement):
    with duckdb.connect() as original, ppdm_sql.connect() as con:
        truth = original.execute(statement.format(f=files / "original")).fetchall()
        found = con.execute(statement.format(f=files / "released")).fetchall()
    assert sorted(found) == sorted(truth)


def test_two_files_of_one_name_need_aliases(files, tmp_path):
    pa.csv.write_csv(pa.table({"k": [1]}), tmp_path / "p0.csv")
    join = f"SELECT count(*) FROM '{files}/released/p0.parquet' JOIN '{tmp_path}/p0.csv' USING (k) WHERE age > 40"
    with ppdm_sql.connect() as con:
        with pytest.raises(ppdm_sql.errors.QueryError, match="two tables here are called p0"):
            con.execute(join)
        assert con.execute(join.replace(".csv'", ".csv' AS q")).fetchone() == (11.0,)
