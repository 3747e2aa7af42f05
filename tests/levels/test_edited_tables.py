"""What two releases tell of a row whose value was edited in between: what two independent releases of two values do."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2, norm

from ppdm_sql.errors import KeyFileError, PolicyError
from ppdm_sql.publishing import publish

ROWS = 24_000
SIZE = 4
RETAIN = 0.3
KEY = bytes(range(32))
CODES = pa.array(["a", "b", "c", "d"])
BASKETS = [["milk"], ["milk", "bread"], ["bread", "tea"], ["tea", "milk", "jam"]]

DOMAIN = {"min": 0, "max": SIZE - 1}
ROW_BY_ROW = {
    "uniform": {"mechanism": "uniform", "domain": DOMAIN, "retain": RETAIN},
    "custom": {
        "mechanism": "custom",
        "domain": {"values": ["a", "b", "c", "d"]},
        "replace": {"values": ["a", "b", "c", "d"], "weights": [4, 3, 2, 1]},
        "retain": RETAIN,
    },
    "single": {"mechanism": "gaussian", "noise": 1, "deviation": 3.0, "step": 0.01},
    "spread": {"mechanism": "gaussian", "noise": 1, "step": 0.01},
    "left": {"mechanism": "gaussian", "noise": 2, "covariance": {"left": 4.0, "right": 3.0}, "step": 0.01},
    "right": {"mechanism": "gaussian", "noise": 2, "covariance": {"right": 9.0}, "step": 0.01},
    "basket": {
        "mechanism": "select_a_size",
        "domain": {"values": ["milk", "bread", "tea", "jam"]},
        "privacy": {"rho1": 0.1, "rho2": 0.6},
        "max_size": 4,
    },
}
BY_ALL_ROWS = {
    "identity": {"mechanism": "identity", "retain": RETAIN},
    "swap": {"mechanism": "swap", "retain": RETAIN},
    "small": {"mechanism": "small_domain", "domain": DOMAIN, "privacy": {"rho1": 0.3, "rho2": 0.6}},
}

DEVIATIONS = {
    "single": lambda values: 3.0,
    "left": lambda values: np.sqrt(8.0),
    "right": lambda values: np.sqrt(18.0),
    "spread": np.std,
}


def originals(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Values before and after, a third of them edited."""
    rng = np.random.default_rng(3)
    before = rng.integers(0, SIZE, rows)
    return before, np.where(rng.random(rows) < 1 / 3, (before + rng.integers(1, SIZE, rows)) % SIZE, before)


def table(values: np.ndarray, names: dict) -> pa.Table:
    """One column for each name; of the two whose noise goes together, the left one alone is edited."""
    columns = {"id": np.arange(len(values))}
    for name in names:
        if name == "custom":
            columns[name] = CODES.take(pa.array(values))
        elif name == "basket":
            columns[name] = pa.array(BASKETS).take(pa.array(values))
        else:
            columns[name] = np.zeros(len(values)) if name == "right" else values
    return pa.table(columns)


def release(values: np.ndarray, columns: dict, folder, name: str, **options) -> pa.Table:
    policy = {"table": "t", "identity": ["id"], "columns": columns}
    to = folder / f"{name}.parquet"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        publish(table(values, columns), policy, to=to, key=KEY, ledger=folder / "l", progress=False, **options)
    return pq.read_table(to).sort_by("id")


def states(name: str, released: pa.Table, values: np.ndarray) -> np.ndarray:
    """What a release shows of each row, as one of four states."""
    shown = released[name].combine_chunks()
    if name == "custom":
        return np.searchsorted(np.array(list("abcd")), shown.to_numpy(zero_copy_only=False).astype(str))
    if name == "basket":
        return np.array([("milk" in each) + 2 * ("bread" in each) for each in shown.to_pylist()])
    if name in DEVIATIONS:
        noise = (shown.to_numpy() - (0 if name == "right" else values)) / DEVIATIONS[name](values)
        return np.searchsorted(norm.ppf([0.25, 0.5, 0.75]), noise)
    return shown.to_numpy().astype(int)


def tail(first: np.ndarray, second: np.ndarray, strata: np.ndarray) -> float:
    """The chance of so much dependence of two states within strata, were there none."""
    counts = np.zeros((strata.max() + 1, SIZE, SIZE))
    np.add.at(counts, (strata, first, second), 1)
    statistic, degrees = 0.0, 0
    for each in counts[counts.sum(axis=(1, 2)) > 0]:
        kept = each[each.sum(axis=1) > 0][:, each.sum(axis=0) > 0]
        expected = np.outer(kept.sum(axis=1), kept.sum(axis=0)) / kept.sum()
        statistic += ((kept - expected) ** 2 / expected).sum()
        degrees += (kept.shape[0] - 1) * (kept.shape[1] - 1)
    return float(chi2.sf(statistic, degrees))


def compared(columns: dict, rows: int, folder, **options) -> dict[str, tuple[float, float, float]]:
    """For each column: how many unedited rows show the same, and the tests on edited and on unedited rows."""
    before, after = originals(rows)
    first = release(before, columns, folder, "first")
    second = release(after, columns, folder, "second", **options)
    edited = before != after
    strata = before * SIZE + after
    found = {}
    for name in columns:
        shown = states(name, first, before), states(name, second, after)
        pairs = zip(first[name].to_pylist(), second[name].to_pylist(), strict=True)
        alike = np.array([one == other for one, other in pairs])
        tests = [tail(shown[0][some], shown[1][some], strata[some]) for some in (edited, ~edited)]
        found[name] = (float(alike[~edited].mean()), tests[0], tests[1])
    return found


def test_edited_rows_meet_fresh_coins_and_others_the_same(tmp_path):
    for name, (alike, edited, _) in compared(ROW_BY_ROW, ROWS, tmp_path).items():
        assert alike == 1, name
        assert edited > 1e-4, (name, edited)


def test_columns_that_depend_on_all_rows_are_refused_when_edited(tmp_path):
    before, after = originals(3_000)
    for name in ("first", "again"):
        release(before, BY_ALL_ROWS, tmp_path, name)
    for name, rule in BY_ALL_ROWS.items():
        with pytest.raises(PolicyError, match=r"released before by this key.*for it had other rows"):
            release(after, {name: rule}, tmp_path, "second")
    assert not (tmp_path / "second.parquet").exists()


def test_where_two_copies_are_meant_they_are_independent(tmp_path):
    for name, (alike, edited, rest) in compared(BY_ALL_ROWS, ROWS, tmp_path, independent=True).items():
        assert alike < 0.9, name
        assert min(edited, rest) > 1e-4, (name, edited, rest)


def test_other_parameters_have_other_coins(tmp_path):
    """A wider domain, and twice the noise: independent copies of unedited rows."""
    before, _ = originals(ROWS)
    first = {name: ROW_BY_ROW[name] for name in ("uniform", "single")}
    wider = {
        "uniform": first["uniform"] | {"domain": {"min": 0, "max": SIZE}},
        "single": first["single"] | {"deviation": 6.0},
    }
    one = release(before, first, tmp_path, "first")
    with pytest.raises(PolicyError, match="cannot be coupled"):
        release(before, wider, tmp_path, "second")
    other = release(before, wider, tmp_path, "second", independent=True)
    inside = other["uniform"].to_numpy() < SIZE
    both = [states("uniform", each.filter(pa.array(inside)), before) for each in (one, other)]
    assert tail(*both, before[inside]) > 1e-4
    noise = [(each["single"].to_numpy() - before) / scale for each, scale in ((one, 3.0), (other, 6.0))]
    quarters = [np.searchsorted(norm.ppf([0.25, 0.5, 0.75]), each) for each in noise]
    assert tail(*quarters, before) > 1e-4


def test_a_ledger_of_the_first_format_takes_no_release(tmp_path):
    (tmp_path / "l").write_text(json.dumps({"ppdm_ledger": 1, "couples": "00", "table": "t"}) + "\n")
    for options in ({}, {"independent": True}):
        with pytest.raises(KeyFileError, match=r"older version, whose releases drew other coins.*with a new key"):
            release(originals(100)[0], {"uniform": ROW_BY_ROW["uniform"]}, tmp_path, "second", **options)
    assert not (tmp_path / "second.parquet").exists()
