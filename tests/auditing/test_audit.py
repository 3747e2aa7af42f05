"""The audit finds what was planted, and nothing where nothing was."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ppdm_sql.auditing import audit
from ppdm_sql.auditing.heaping import heaps
from ppdm_sql.auditing.priors import numbers_of
from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.policy import ColumnPolicy, bind

ROWS = 20_000


def columns(retain: float = 0.3, **more: dict) -> dict:
    uniform = {"mechanism": "uniform", "retain": retain}
    return {
        "age": uniform | {"domain": {"min": 17, "max": 90}},
        "wage": uniform | {"domain": {"min": 0, "max": 200_000}},
        "job": uniform | {"domain": {"values": ["a", "b", "c", "d"]}, "nulls": "value"},
        "born": uniform | {"domain": {"min": "1940-01-01", "max": "2009-12-31"}, "nulls": "keep"},
    } | more


def policy(retain: float = 0.3) -> dict:
    from datetime import date

    found = columns(retain)
    found["born"]["domain"] = {"min": date(1940, 1, 1), "max": date(2009, 12, 31)}
    return {"table": "people", "columns": found}


def clean(rows: int = ROWS, seed: int = 1) -> dict[str, np.ndarray | pa.Array]:
    """Columns that are spread smoothly and know nothing of each other."""
    rng = np.random.default_rng(seed)
    return {
        "sex": np.take(["F", "M"], rng.integers(2, size=rows)),
        "region": np.take(["n", "e", "s", "w"], rng.integers(4, size=rows)),
        "age": 17 + (74 * rng.beta(1.5, 2, rows)).astype(int),
        "wage": (200_000 * rng.beta(2, 4, rows)).astype(int),
        "job": pa.array(
            np.take(["a", "b", "c", "d"], rng.choice(4, rows, p=[0.4, 0.3, 0.2, 0.1])), mask=rng.random(rows) < 0.1
        ),
        "born": pa.array(np.datetime64("1940-01-01") + rng.integers(0, 25_567, rows), mask=rng.random(rows) < 0.2),
    }


@pytest.mark.parametrize("retain", [0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_is_found_where_nothing_is(retain, seed):
    found = audit(pa.table(clean(seed=seed)), policy(retain))
    assert (found.heaps, found.dependences) == ((), ())
    assert (found.uniqueness.identifying, found.uniqueness.unique) == ((), 0)
    assert found.clean


def test_round_wages():
    table = clean()
    rng = np.random.default_rng(9)
    table["wage"] = np.where(rng.random(ROWS) < 0.9, np.round(table["wage"], -3), table["wage"])
    found = audit(pa.table(table), policy()).heaps
    assert [(heap.column, heap.words) for heap in found] == [("wage", "multiples of 50"), ("wage", "multiples of 500")]
    heap = found[1]
    assert heap.share == pytest.approx(401 / 200_001)
    assert heap.prior == pytest.approx(0.9 + 0.1 / 500, abs=0.01)
    assert heap.usual == pytest.approx(0.3 + 0.7 / 200_001)


def test_the_probability_is_what_happens(tmp_path):
    """Of the published multiples, as many are their rows' own as the audit says."""
    import duckdb

    from ppdm_sql.publishing import publish

    table = clean()
    table["wage"] = np.where(np.random.default_rng(9).random(ROWS) < 0.4, np.round(table["wage"], -3), table["wage"])
    kept = policy(0.2) | {"order": "source"}  # so that a row can be found again
    publish(pa.table(table), kept, to=tmp_path / "r.parquet", key=bytes(range(32)), progress=False)
    heap = next(heap for heap in audit(pa.table(table), policy(0.2)).heaps if heap.column == "wage")
    published = duckdb.sql(f"SELECT wage FROM '{tmp_path / 'r.parquet'}'").to_arrow_table()["wage"].to_numpy()
    shown = published % 500 == 0
    assert heap.words == "multiples of 500"
    error = np.sqrt(heap.true * (1 - heap.true) / shown.sum())
    assert np.mean((published == table["wage"])[shown]) == pytest.approx(heap.true, abs=4 * error)


def test_one_value_that_many_have():
    table = clean()
    table["wage"][: ROWS // 3] = 50_000
    found = audit(pa.table(table), policy())
    assert [(heap.column, heap.words) for heap in found.heaps] == [("wage", "the value 50000")]


def test_a_domain_much_wider_than_its_data():
    table = clean()
    table["wage"] = (table["wage"] // 1000) + np.arange(ROWS) % 3
    found = audit(pa.table(table), policy())
    assert "the middle nine rows in ten" in found.heaps[0].words


def test_firsts_of_the_month():
    table = clean()
    months = table["born"].to_numpy(zero_copy_only=False).astype("datetime64[M]").astype("datetime64[D]")
    table["born"] = pa.array(months, mask=np.isnat(months))
    found = audit(pa.table(table), policy(0.6)).heaps
    assert [heap.words for heap in found] == ["firsts of a month"]
    assert found[0].share == pytest.approx(840 / 25_568)


def bound(domain, type_name, retain=0.5):
    return bind(ColumnPolicy("x", "uniform", domain, Retention("retain", retain)), type_name)


def test_full_hours_and_decimals():
    from datetime import datetime, timedelta
    from decimal import Decimal

    rng = np.random.default_rng(3)
    times = bound(Range(datetime(2020, 1, 1), datetime(2020, 12, 31), timedelta(seconds=1)), "TIMESTAMP")
    hours = np.sort(rng.choice(8_000, 500, replace=False)) * 3600
    found = heaps(times, np.unique(np.concatenate([hours, hours[:50] + 77])), np.full(550, 10))
    assert [heap.words for heap in found] == ["full minutes", "quarters of an hour"]
    prices = bound(Range(Decimal("0.05"), Decimal("999.95"), Decimal("0.05")), "DECIMAL(6,2)", 0.6)
    whole = np.arange(1, 900) * 20 - 1
    assert [heap.words for heap in heaps(prices, whole, np.full(899, 3))] == ["whole numbers"]


def test_values_of_a_list_and_null():
    column = bound(Values(tuple("abcdefghijklmnopqrstuvwxyz")), "VARCHAR", 0.6)
    counts = np.full(26, 10)
    counts[3] = 2_000
    assert [heap.words for heap in heaps(column, np.arange(26), counts)] == ["the value d"]
    nullable = bind(
        ColumnPolicy("x", "uniform", column_domain := Values(tuple(range(40))), Retention("retain", 0.5), "value"),
        "INTEGER",
    )
    counts = np.full(41, 10)
    counts[40] = 3_000
    assert column_domain.size == 40
    assert [heap.words for heap in heaps(nullable, np.arange(41), counts)] == ["the value NULL"]


@pytest.mark.parametrize(
    ("low", "step", "size"), [(0, 1, 1000), (-37, 1, 500), (3, 7, 400), (-5, 10, 333), (12, 4, 90)]
)
def test_points_of_a_grid_are_counted(low, step, size):
    from ppdm_sql.auditing.heaping import _multiples
    from ppdm_sql.domain.domain import Grid

    values = np.arange(size)
    for multiple in (2, 5, 6, 10, 25, 100, 1000):
        expected = (low + values * step) % multiple == 0
        for found in _multiples(Grid(low, step, size), values, np.ones(size, dtype=bool), multiple, ""):
            assert found.points == expected.sum()
            assert (found.members == expected).all()
            break
        else:
            assert expected.all() or not expected.any()


def test_an_exact_column_that_determines_a_perturbed_one():
    table = clean()
    code = np.random.default_rng(4).integers(0, 400, ROWS)
    table["code"] = code
    table["job"] = pa.array(np.take(["a", "b", "c", "d"], (code * 7 // 3) % 4))
    found = audit(pa.table(table), policy()).dependences
    assert [(each.column, each.by, each.exact, each.determined) for each in found] == [("job", ("code",), True, True)]
    assert found[0].right == 1
    assert found[0].explained == 1


def test_exact_columns_that_predict_together():
    table = clean()
    rng = np.random.default_rng(4)
    one, two = rng.integers(2, size=ROWS), rng.integers(2, size=ROWS)
    table |= {"one": one, "two": two}
    guess = np.where(rng.random(ROWS) < 0.5, (one ^ two), rng.integers(4, size=ROWS))
    table["job"] = pa.array(np.take(["a", "b", "c", "d"], guess))
    found = audit(pa.table(table), policy()).dependences
    assert len(found) == 1
    assert (found[0].column, set(found[0].by) >= {"one", "two"}, found[0].determined) == ("job", True, False)
    assert found[0].right == pytest.approx(0.5 + 0.5 / 4, abs=0.03)


def test_a_wide_column_is_guessed_in_groups():
    table = clean()
    table["tax"] = table["wage"] // 10 + np.random.default_rng(4).integers(0, 300, ROWS)
    found = audit(pa.table(table), policy()).dependences
    assert [(each.column, each.by, each.groups) for each in found] == [("wage", ("tax",), 16)]
    assert found[0].right > 0.8
    assert found[0].baseline == pytest.approx(1 / 16, abs=0.01)


def test_small_groups_are_not_taken_for_knowledge():
    """A column of names fits every value of its rows, and says nothing of others."""
    table = clean()
    rng = np.random.default_rng(4)
    table |= {"name": np.arange(ROWS), "street": rng.integers(0, ROWS // 3, ROWS)}
    found = audit(pa.table(table), policy())
    assert found.dependences == ()
    assert found.uniqueness.identifying == ("name",)


def test_perturbed_columns_that_tell_of_each_other():
    table = clean()
    born = np.datetime64("1940-01-01") + np.random.default_rng(8).integers(0, 25_000, ROWS)
    table["born"] = born
    table["age"] = np.clip((np.datetime64("2026-01-01") - born).astype(int) // 365, 17, 90)
    found = audit(pa.table(table), policy()).dependences
    assert {(each.column, each.by, each.exact) for each in found} >= {("age", ("born",), False)}


def test_rows_that_stand_alone():
    table = clean()
    table["sex"] = table["sex"].astype(object)
    table["sex"][:3] = ["X", "Y", None]
    found = audit(pa.table(table), policy()).uniqueness
    assert (found.columns, found.unique, found.few, found.smallest) == (("sex", "region"), 3, 3, 1)
    assert found.rows == ROWS


def test_no_exact_columns_and_no_rows():
    table = pa.table({name: values for name, values in clean().items() if name not in ("sex", "region")})
    assert audit(table, policy()).clean
    empty = audit(table.slice(0, 0), policy())
    assert (empty.rows, empty.clean) == (0, True)


def test_what_does_not_fit():
    table = clean()
    with pytest.raises(PolicyError, match="column 'job' of the policy is not in"):
        audit(pa.table({k: v for k, v in table.items() if k != "job"}), policy())
    table["age"] = np.full(ROWS, 203)
    with pytest.raises(SourceError, match="does not hold") as caught:
        audit(pa.table(table), policy())
    assert "203" not in str(caught.value)


def test_numbers_of_a_column():
    column = bound(Range(17, 90), "SMALLINT")
    assert numbers_of("here", pa.array([17, 90], pa.int16()), column).tolist() == [0, 73]
