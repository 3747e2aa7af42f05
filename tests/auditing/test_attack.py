"""What guessing gets right on real releases, against what the formulas say it should."""

from __future__ import annotations

import hashlib
import math

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.auditing import attack
from ppdm_sql.errors import ReleaseError, SourceError
from ppdm_sql.privacy.collusion import Prior, reconstruction_probability
from ppdm_sql.publishing import publish

ROWS = 6_000


def key(number: int) -> bytes:
    return hashlib.sha256(f"attack {number}".encode()).digest()


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(5)
    salary = rng.choice(50, rows, p=np.arange(50, 0, -1) / 1275)
    return pa.table(
        {
            "id": np.arange(rows) * 7,
            "region": pa.array(np.take(["north", "south"], rng.integers(2, size=rows))),
            "salary": salary,
            "job": pa.array(
                np.take(["a", "b", "c"], rng.choice(3, rows, p=[0.6, 0.3, 0.1])), mask=rng.random(rows) < 0.1
            ),
            "seen": pa.array(rng.integers(1, 30, rows), mask=rng.random(rows) < 0.3),
        }
    )


def policy(retain: float, table: str = "people", high: int = 49) -> dict:
    uniform = {"mechanism": "uniform", "retain": retain}
    return {
        "table": table,
        "identity": ["id"],
        "columns": {
            "salary": uniform | {"domain": {"min": 0, "max": high}},
            "job": uniform | {"domain": {"values": ["a", "b", "c"]}, "nulls": "value"},
            "seen": uniform | {"domain": {"min": 1, "max": 29}, "nulls": "keep"},
        },
    }


@pytest.fixture(scope="module")
def original():
    return people()


@pytest.fixture(scope="module")
def copy(tmp_path_factory, original):
    folder = tmp_path_factory.mktemp("copies")

    def make(retain: float, number: int, ending: str = "duckdb"):
        path = folder / f"{retain}-{number}.{ending}"
        if not path.exists():
            publish(original, policy(retain), to=path, key=key(number), progress=False)
        return path

    return make


def column(found, name):
    return next(each for each in found.columns if each.name == name)


def within(count: int, expected: float, rows: int) -> bool:
    """Within four standard errors; the confidence of a row is the chance of its guess."""
    return abs(count - expected) <= 4 * math.sqrt(max(expected * (1 - expected / rows), 1))


@pytest.mark.parametrize("retain", [0.1, 0.3, 0.7])
def test_what_is_right_is_what_the_posterior_says(copy, original, retain):
    found = attack([copy(retain, 0)], original)
    assert found.rows == ROWS
    for each in found.columns:
        score = each.together
        assert within(score.right, score.expected, score.rows)
        assert score.right >= each.commonest * 0.95
        for guesses, right, sure in score.calibration:
            assert within(right, sure, max(guesses, 1))
        assert 0.01 * score.rows <= score.surest.rows <= score.rows
        assert score.surest.right >= (score.surest.confidence - 0.1) * score.surest.rows


def test_the_reconstruction_probability_is_the_formulas(copy, original):
    found = column(attack([copy(0.3, 0)], original), "salary").together
    counts = np.bincount(original["salary"].to_numpy())
    expected = reconstruction_probability(Prior.from_counts(np.arange(len(counts)), counts), 0.3, 50)
    assert found.reconstruction == pytest.approx(expected, abs=0.01)


def test_nulls_that_stay_are_not_guessed(copy, original):
    found = attack([copy(0.3, 0)], original)
    assert column(found, "seen").rows == ROWS - original["seen"].null_count
    assert column(found, "job").rows == ROWS
    assert sum(found.whole_rows.right_columns) == ROWS


def test_thirty_independent_copies_give_nearly_all_away(original, tmp_path):
    rng = np.random.default_rng(2)
    small = original.slice(0, 1500).select(["id", "salary"])
    paths = []
    for number, retain in enumerate(rng.uniform(0.001, 0.5, 30)):
        paths.append(tmp_path / f"{number}.parquet")
        rules = {"table": "people", "columns": {"salary": policy(float(retain))["columns"]["salary"]}}
        publish(small, rules, to=paths[-1], key=key(number), progress=False)
    found = column(attack(paths, small), "salary")
    assert len(found.chains) == 30
    assert found.together.share > 0.97
    assert found.together.reconstruction > 0.95
    assert max(score.share for score in found.alone) < 0.55


def test_copies_of_one_key_stay_at_the_best_copy(copy, original):
    paths = [copy(retain, 0) for retain in (0.1, 0.3, 0.7)]
    for each in attack(paths, original).columns:
        assert each.chains == ((0, 1, 2),)
        assert each.together == each.alone[2]
        assert all(pair.coupling.fits and pair.coupling.told for pair in each.pairs)


def test_a_second_key_beside_a_path(copy, original):
    paths = [copy(0.3, 0), copy(0.3, 1), copy(0.5, 0, "parquet")]
    for each in attack(paths, original).columns:
        assert each.chains == ((0, 2), (1,))
        assert each.together.right >= each.alone[2].right
        assert each.together.reconstruction > each.alone[2].reconstruction + 0.02
        assert within(each.together.right, each.together.expected, each.together.rows)


def test_taking_a_path_for_independent_copies_is_not_what_happens(copy, original, monkeypatch):
    """With the wrong law the confidence would be far from what is right: this is what the comparison is for."""
    monkeypatch.setattr(
        "ppdm_sql.auditing.value_guessing.chains", lambda count, coupled: tuple((i,) for i in range(count))
    )
    found = column(attack([copy(0.3, 0), copy(0.5, 0)], original), "salary").together
    assert not within(found.right, found.expected, found.rows)


def test_an_adversary_who_knows_the_release_alone_does_no_better(copy, original):
    known = attack([copy(0.3, 0)], original)
    alone = attack([copy(0.3, 0)], original, prior="release")
    for one, other in zip(known.columns, alone.columns, strict=True):
        assert other.together.right <= one.together.right
    assert column(alone, "job").together.right >= 0.95 * column(known, "job").together.right


def test_rows_in_another_order_are_matched_by_what_names_them(copy, original):
    straight = attack([copy(0.3, 0), copy(0.3, 1)], original)
    shuffled = attack([copy(0.3, 0), copy(0.3, 1)], original.take(np.random.default_rng(1).permutation(ROWS)))
    assert (straight.matched, shuffled.matched) == ("by position; the exact columns agree in every row", "by id")
    for one, other in zip(straight.columns, shuffled.columns, strict=True):
        assert other.together.right == one.together.right


def test_a_source_that_has_grown_is_matched_by_what_names_rows(copy, original):
    grown = pa.concat_tables([original, people(ROWS + 500).slice(ROWS)])
    found = attack([copy(0.3, 0)], grown)
    assert (found.rows, found.matched) == (ROWS, "by id")


def test_rows_that_nothing_matches(tmp_path, original):
    nameless = original.drop_columns(["id"])
    rules = {k: v for k, v in policy(0.3).items() if k != "identity"}
    publish(nameless, rules, to=tmp_path / "keyed.parquet", key=key(0), progress=False)
    with pytest.raises(SourceError, match="in an order that only the key tells, and no exact column names rows"):
        attack([tmp_path / "keyed.parquet"], nameless)
    publish(nameless, rules | {"order": "source"}, to=tmp_path / "r.parquet", key=key(0), progress=False)
    assert attack([tmp_path / "r.parquet"], nameless).matched.startswith("by position")
    with pytest.raises(SourceError, match=r"their exact columns differ in [\d,]+ rows, and no exact column names rows"):
        attack([tmp_path / "r.parquet"], nameless.take(np.random.default_rng(1).permutation(ROWS)))
    with pytest.raises(SourceError, match="different numbers of rows"):
        attack([tmp_path / "r.parquet"], nameless.slice(1))


def test_every_kind_of_source(copy, original, tmp_path):
    expected = attack([copy(0.3, 0)], original).columns
    pq.write_table(original, tmp_path / "people.parquet")
    with duckdb.connect(str(tmp_path / "people.duckdb")) as con:
        con.execute(f"CREATE TABLE people AS FROM '{tmp_path / 'people.parquet'}'")
        con.execute(f"COPY people TO '{tmp_path / 'people.csv'}'")
        assert attack([copy(0.3, 0)], (con, "FROM people")).columns == expected
    for source in (
        f"{tmp_path}/people.duckdb::people",
        tmp_path / "people.csv",
        original.to_reader(),
        original.to_pandas(),
    ):
        assert attack([copy(0.3, 0)], source).columns == expected


def test_other_domains_are_not_put_together(copy, original, tmp_path):
    publish(original, policy(0.3, high=99), to=tmp_path / "wide.parquet", key=key(0), progress=False)
    found = attack([copy(0.3, 0), tmp_path / "wide.parquet"], original)
    assert column(found, "salary").together is None
    assert column(found, "job").together is not None


def test_a_column_that_only_one_release_perturbs(copy, original, tmp_path):
    rules = policy(0.3)
    rules["columns"]["region"] = {"mechanism": "uniform", "retain": 0.5, "domain": {"values": ["north", "south"]}}
    publish(original, rules, to=tmp_path / "more.parquet", key=key(0), progress=False)
    found = column(attack([copy(0.3, 0), tmp_path / "more.parquet"], original), "region")
    assert found.alone[0] is None
    assert found.together == found.alone[1]


def test_awkward_tables(release, original_file):
    """Every type that can be perturbed, NULLs, quotes and letters."""
    found = attack([release(0.4), release(0.4, 1)], f"{original_file}::people")
    assert [each.name for each in found.columns][-1] == "Order"
    for each in found.columns:
        assert within(each.together.right, each.together.expected, each.together.rows)


def test_what_cannot_be_attacked(copy, original, tmp_path):
    with pytest.raises(ReleaseError, match="name at least one"):
        attack([], original)
    with pytest.raises(ReleaseError, match="there is no file"):
        attack([tmp_path / "gone.duckdb"], original)
    with pytest.raises(SourceError, match="no column 'salary', which is released"):
        attack([copy(0.3, 0)], original.drop_columns(["salary"]))
    with pytest.raises(SourceError, match="has values that its released domain does not hold") as caught:
        attack([copy(0.3, 0)], original.set_column(2, "salary", pa.array(np.full(ROWS, 777))))
    assert "777" not in str(caught.value)
    publish(original, {"table": "plain"}, to=tmp_path / "plain.parquet", key=key(0), progress=False)
    with pytest.raises(ReleaseError, match="no perturbed column that can be guessed"):
        attack([tmp_path / "plain.parquet"], original)
    with pytest.raises(ValueError, match="prior is one of"):
        attack([copy(0.3, 0)], original, prior="hunch")


def test_several_tables_in_one_release(copy, original, tmp_path):
    both = tmp_path / "both.duckdb"
    publish(original, policy(0.3), to=both, key=key(0), progress=False)
    publish(original, policy(0.3, "others"), to=both, key=key(0), progress=False)
    with pytest.raises(ReleaseError, match=r"several tables \('others', 'people'\): say which one with --table"):
        attack([both], original)
    assert attack([both], original, table="People").columns == attack([copy(0.3, 0)], original).columns
    with pytest.raises(ReleaseError, match="has no table 'cats'"):
        attack([both], original, table="cats")
