"""The page on every mechanism: its words against what a release shows, and how it looks."""

from __future__ import annotations

import hashlib
import math
import re

import browser
import numpy as np
import pyarrow as pa
import pytest

from ppdm_sql.itemsets import lowest_discoverable
from ppdm_sql.mechanisms.small_domain.declare import plain_retention
from ppdm_sql.policy import load_policy
from ppdm_sql.privacy.accuracy import own_count_error
from ppdm_sql.privacy.statements import percent
from ppdm_sql.publishing import publish
from ppdm_sql.report.section import section_of
from ppdm_sql.report.writing import report

ROWS = 8_000
KEY = hashlib.sha256(b"pages of mechanisms").digest()
ITEMS = ["milk", "bread", "tea", "eggs", "beer", "salt"]


def table() -> pa.Table:
    rng = np.random.default_rng(4)
    order = np.argsort(rng.random((ROWS, len(ITEMS))), axis=1)
    return pa.table(
        {
            "id": np.arange(ROWS),
            "pay": np.round(rng.normal(50, 8, ROWS), 1),
            "job": pa.array(np.take(["cook", "clerk", "nurse"], rng.choice(3, ROWS, p=[0.5, 0.4, 0.1]))),
            "born": pa.array(rng.integers(0, 9, ROWS), pa.int32()).cast(pa.date32()),
            "zip": rng.choice(20, ROWS, p=np.repeat([0.09, 0.01], 10)),
            "basket": pa.array(
                [[ITEMS[i] for i in row[:m]] for row, m in zip(order, rng.integers(1, 4, ROWS), strict=True)]
            ),
        }
    )


def policy() -> dict:
    return {
        "table": "shop",
        "identity": ["id"],
        "columns": {
            "pay": {"mechanism": "gaussian", "noise": 1.0, "step": 0.1},
            "job": {"mechanism": "identity", "retain": 0.4},
            "born": {"mechanism": "swap", "retain": 0.4},
            "zip": {
                "mechanism": "small_domain",
                "domain": {"min": 0, "max": 19},
                "privacy": {"rho1": 0.1, "rho2": 0.4},
            },
            "basket": {
                "mechanism": "select_a_size",
                "domain": {"values": ITEMS},
                "privacy": {"rho1": 0.05, "rho2": 0.5},
                "max_size": 3,
            },
        },
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mechanisms")


@pytest.fixture(scope="module")
def manifest(folder):
    return publish(table(), policy(), to=folder / "shop.duckdb", key=KEY, progress=False)


@pytest.fixture(scope="module")
def page(folder, manifest):
    return report(folder / "shop.duckdb", folder / "shop.html", source=table(), progress=False)


def words(path) -> str:
    text = re.sub(r"(?s)<style>.*?</style>|<svg.*?</svg>", "", path.read_text(encoding="utf-8"))
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", text))


def bound(manifest, name):
    return next(column for column in manifest.perturbed if column.name == name)


def released(folder, column):
    import duckdb

    with duckdb.connect(str(folder / "shop.duckdb"), read_only=True) as con:
        return con.sql(f"SELECT {column} FROM perturbed.shop ORDER BY id").to_arrow_table().column(0)


def test_what_becomes_of_a_value_is_what_the_release_shows(folder, manifest, page):
    text, original = words(page), table()
    shown = np.array(released(folder, "job").to_pylist())
    nurse = np.array(original["job"].to_pylist()) == "nurse"
    assert "published as itself with 46 %" in text
    assert (shown[nurse] == "nurse").mean() == pytest.approx(0.46, abs=4 * math.sqrt(0.25 / nurse.sum()))
    seen = shown == "nurse"
    assert nurse[seen].mean() == pytest.approx(0.46, abs=4 * math.sqrt(0.25 / seen.sum()))
    off = np.abs(released(folder, "pay").to_numpy() - original["pay"].to_numpy())
    (reach,) = re.findall(r"published number is within ± ([\d.]+) of the original", text)
    assert np.mean(off <= float(reach)) == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / ROWS))
    assert "is still off by 70.7 % of the spread" in text


def test_parts_stand_beside_plain_uniform(folder, manifest, page):
    column, text = bound(manifest, "zip"), words(page)
    plain = plain_retention(column)
    assert all(part.retain >= plain for part in column.parts)
    assert f"Kept or redrawn evenly over all 20 values, {percent(plain)} would be kept for that." in text
    part = np.asarray(released(folder, "zip_part").to_numpy())
    same = released(folder, "zip").to_numpy() == table()["zip"].to_numpy()
    for i, each in enumerate(column.parts):
        here = part == i
        expected = each.retain + (1 - each.retain) / len(each.places)
        assert same[here].mean() == pytest.approx(expected, abs=4 * math.sqrt(0.25 / here.sum()))
        if f"In part {i}, a value" in text:
            assert f"In part {i}, a value is published as itself with {percent(expected)}" in text
    assert "the protected value that is told best becomes" in text


def test_items_are_shown_as_often_as_it_says(folder, manifest, page):
    column = bound(manifest, "basket")
    operator = column.operators[2]
    kept = sum(j * p for j, p in enumerate(operator.keep)) / 2
    assert f"Of a basket of 2 items, each is shown with {percent(kept)}" in words(page)
    pairs = list(zip(table()["basket"].to_pylist(), released(folder, "basket").to_pylist(), strict=True))
    two = [(set(true), set(shown)) for true, shown in pairs if len(true) == 2]
    stays = sum(len(true & shown) for true, shown in two) / (2 * len(two))
    added = sum(len(shown - true) for true, shown in two) / ((len(ITEMS) - 2) * len(two))
    assert stays == pytest.approx(kept, abs=4 * math.sqrt(0.25 / len(two)))
    assert added == pytest.approx(operator.rho, abs=4 * math.sqrt(0.25 / len(two)))
    assert percent(lowest_discoverable(column.operators[3], 2, ROWS)) in words(page)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_counts_of_the_columns_own_values_scatter_as_said(share):
    rng = np.random.default_rng(6)
    rows, retain = 2_000, 0.4
    held = np.arange(rows) < share * rows
    draws = np.array(
        [np.where(rng.random(rows) < retain, held, rng.random(rows) < share).sum() / rows for _ in range(2_000)]
    )
    assert draws.mean() == pytest.approx(share, abs=4 * draws.std() / math.sqrt(2_000))
    assert draws.std() == pytest.approx(own_count_error(rows, retain, share), rel=0.07)


def test_typical_queries_of_every_mechanism(page):
    text = words(page)
    for query in (
        "rows with pay above",
        "the mean of pay",
        "rows with job cook",
        "rows with born 19",
        "rows with zip from 5 to 14",
        "rows with milk in basket",
    ):
        assert query in text, query
    assert "How far guesses of noisy numbers are off" in text
    assert "How often an item that a basket shows is truly in it" in text


def test_the_policy_alone_tells_the_same_of_what_it_knows(folder):
    text = words(report(load_policy(policy()), folder / "alone.html", rows=ROWS))
    assert "published as itself with 46 %" in text
    assert "is still off by 70.7 % of the spread" in text
    assert "Counts by this column alone are those of the original" in text
    assert "the lowest support that can be told from none" in text


def test_awkward_sizes(manifest):
    """One row; a basket of up to 60 items; a value that is always kept."""
    from dataclasses import replace

    from ppdm_sql.policy import bind

    assert section_of(replace(bound(manifest, "job"), retain=1.0), 1).transition
    large = policy()["columns"]["basket"] | {"max_size": 60, "domain": {"min": 1, "max": 100}}
    column = load_policy({"table": "t", "columns": {"basket": large}}).columns[0]
    for rows in (1, 1_000_000):
        assert section_of(bind(column, "INTEGER[]"), rows).transition


@pytest.mark.skipif(browser.PROGRAM is None, reason="no Chromium here")
def test_on_a_phone_and_on_a_desk(page, tmp_path):
    seen = browser.look(page, tmp_path)
    for view in (seen.phone, seen.desk):
        assert view["width"] <= view["view"]
        assert view["plots"] >= 9 and view["labelled"] and view["scripts"] == 0
        assert view["smallest_letters"] > 9
