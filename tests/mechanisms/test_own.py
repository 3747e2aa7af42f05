"""Identity and swap: what stays as it is, what NULL does, which rows get whose value, and what is warned of."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from cases import IDENTITY, SWAP, secret, staff
from ppdm_udfs import dealing, position_blocks, swapped_rows

import ppdm_sql
from ppdm_sql.errors import PolicyError, QueryError, RareValues, SourceError, Unsupported
from ppdm_sql.policy import explain_policy, load_policy
from ppdm_sql.publishing.release import publish


def released(table, path, mechanism, number=0, **more):
    column = {"mechanism": mechanism, "retain": 0.3, **more}
    policy = {"table": "t", "identity": ["id"], "columns": {"x": column}}
    publish(table, policy, to=path, key=secret(number))
    with duckdb.connect() as con:
        return con.sql(f"SELECT id, x FROM '{path}' ORDER BY id").fetchall()


def numbers(values):
    return pa.table({"id": range(len(values)), "x": pa.array(values)})


def test_a_swapped_column_has_the_values_of_the_original(tmp_path):
    values = [f"v{i % 7}" for i in range(2_000)]
    rows = released(numbers(values), tmp_path / "r.parquet", "swap")
    assert Counter(x for _, x in rows) == Counter(values)
    assert 0.3 < np.mean([x == y for (_, x), y in zip(rows, values, strict=True)]) < 0.5


def test_swapping_does_not_depend_on_the_order_of_rows(tmp_path):
    table = numbers([i % 11 for i in range(3_000)])
    shuffled = table.take(np.random.default_rng(1).permutation(3_000))
    assert released(table, tmp_path / "a.parquet", "swap") == released(shuffled, tmp_path / "b.parquet", "swap")
    assert released(table, tmp_path / "c.parquet", "identity") == released(shuffled, tmp_path / "d.parquet", "identity")


def test_every_permutation_is_alike():
    """Of three replaced rows, over many keys: each of the six orders as often as the others."""
    rows = position_blocks(0, 3)
    seen = Counter(
        tuple(dealing(rows, swapped_rows(rows, 0.5, key=secret(i), table="t", column="x")[1])) for i in range(3_000)
    )
    assert len(seen) == 6
    assert sum((count - 500) ** 2 / 500 for count in seen.values()) < 25.7  # chi-square, 5 degrees, 1 in 10,000


@pytest.mark.parametrize("mechanism", ["identity", "swap"])
def test_nulls(mechanism, tmp_path):
    values = [None if i % 5 == 0 else i % 3 for i in range(2_000)]
    with pytest.raises(SourceError, match="row 1 is the first of at least 400"):
        released(numbers(values), tmp_path / "e.parquet", mechanism)
    kept = released(numbers(values), tmp_path / "k.parquet", mechanism, nulls="keep")
    assert [x is None for _, x in kept] == [x is None for x in values]
    drawn = released(numbers(values), tmp_path / "v.parquet", mechanism, nulls="value")
    assert [x is None for _, x in drawn] != [x is None for x in values]
    for path, truth in (("k", 400), ("v", 400)):
        with ppdm_sql.connect(tmp_path / f"{path}.parquet") as con:
            count, error = con.execute("SELECT count(*), ppdm_error(count(*)) FROM t WHERE x IS NULL").fetchone()
            assert abs(count - truth) <= 4 * error + 1e-6
            missing = con.execute("SELECT count(*), ppdm_error(count(*)) FROM t WHERE x = 1 AND id < 700").fetchone()
    true = sum(x == 1 for x in values[:700])
    assert abs(missing[0] - true) < 4 * missing[1]


@pytest.mark.parametrize("case", [IDENTITY, SWAP], ids=["identity", "swap"])
def test_counts_of_one_column_are_returned_as_they_are(case, releases):
    path = releases(case, 0.4)
    with ppdm_sql.connect(path, read_only=True) as con, duckdb.connect(str(path), read_only=True) as plain:
        for query in ("SELECT count(*) FROM staff WHERE age > 22", "SELECT avg(age) FROM staff"):
            assert con.execute(query).fetchone()[0] == pytest.approx(
                plain.execute(query.replace("staff", "perturbed.staff")).fetchall()[0][0], rel=1e-12
            )
        error = con.execute("SELECT ppdm_error(count(*)) FROM staff WHERE age > 22").fetchone()[0]
    share = np.mean(staff(4_000).column("age").to_numpy() > 22)
    expected = 0.0 if case is SWAP else np.sqrt(4_000 * (1 - 0.4**2) * share * (1 - share))
    assert error == pytest.approx(expected, rel=0.05)


def test_rare_values_are_warned_of(tmp_path):
    values = [1] * 50 + [2] * 50 + [77]
    with pytest.warns(RareValues, match=r"1 value of column 'x' occur in fewer than 5 rows") as caught:
        released(numbers(values), tmp_path / "r.parquet", "swap")
    assert "77" not in str(caught[0].message)


def test_what_is_refused(releases, tmp_path):
    with pytest.raises(PolicyError, match="one retention for all recipients"):
        load_policy({"table": "t", "columns": {"x": {"mechanism": "swap", "retain": {"a": 0.5}}}})
    with pytest.raises(PolicyError, match="domain has no meaning"):
        load_policy({"table": "t", "columns": {"x": {"mechanism": "swap", "retain": 0.5, "domain": {"values": [1]}}}})
    with pytest.raises(SourceError, match="can be read once only"):
        released(numbers([1, 2]).to_reader(), tmp_path / "s.parquet", "identity")
    with ppdm_sql.connect(releases(SWAP, 0.4), read_only=True) as con:
        with pytest.raises(Unsupported, match="replaced by its own values, to another"):
            con.execute("SELECT count(*) FROM staff WHERE age::VARCHAR < job")
        con.execute("SET ppdm_method = 'bayes'")
        with pytest.raises(Unsupported, match="read off the release"):
            con.execute("SELECT count(*) FROM staff WHERE age > 22")
        con.execute("SET ppdm_method = 'auto'")
        with pytest.raises(Unsupported, match="replaced by their own values"):
            con.compile("SELECT count(*) FROM staff WHERE age > 22", "postgres")


def test_in_sql(tmp_path):
    with ppdm_sql.connect() as con:
        con.execute(f"SET ppdm_key = '{tmp_path / 'a.key'}'")
        query = "AS SELECT range AS id, range % 4 AS x FROM range(1000) PERTURB (x {} RETAIN 0.3) IDENTIFIED BY (id)"
        con.execute(f"CREATE PERTURBED TABLE swapped {query.format('SWAP')}")
        assert con.execute("SELECT count(*) FROM swapped WHERE x = 2").fetchone()[0] == pytest.approx(250)
        with pytest.raises((PolicyError, QueryError), match="CREATE PERTURBED TABLE"):
            con.execute(f"CREATE PERTURBED VIEW seen {query.format('IDENTITY')}")


def test_an_empty_table(tmp_path):
    table = numbers([1, 2]).slice(0, 0)
    for mechanism in ("identity", "swap"):
        path = tmp_path / f"{mechanism}.duckdb"
        publish(
            table, {"table": "t", "columns": {"x": {"mechanism": mechanism, "retain": 0.3}}}, to=path, key=secret(1)
        )
        with ppdm_sql.connect(path) as con:
            assert con.execute("SELECT count(*) FROM t WHERE x = 1").fetchone() == (0,)


def test_it_is_explained():
    text = explain_policy(load_policy({"table": "t", "columns": {"x": {"mechanism": "identity", "retain": 0.3}}}))
    assert "what is 10 % likely of a row becomes at most 37 % likely" in text


def test_explain_of_a_column_without_rows(tmp_path):
    empty = pa.table({"id": pa.array([], pa.int64()), "x": pa.array([], pa.int32())})
    released(empty, tmp_path / "e.parquet", "swap")
    with ppdm_sql.connect(tmp_path / "e.parquet") as con:
        for query in ("SELECT x, count(*) FROM t GROUP BY x", "SELECT sum(x) FROM t WHERE x > 2"):
            con.execute(query).fetchall()
            assert "0 rows of the release, share 0" in con.explain(query)
