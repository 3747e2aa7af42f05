"""What guessing gets right on every mechanism, against what the formulas say it should."""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ppdm_sql.auditing import attack, audit
from ppdm_sql.cli.attack import describe
from ppdm_sql.cli.main import main
from ppdm_sql.errors import RareValues, SourceError
from ppdm_sql.policy import load_policy
from ppdm_sql.privacy import distortion, distortion_if_independent, highest_posterior, identity_posterior
from ppdm_sql.publishing import publish

ROWS = 12_000
ITEMS = [f"item {k}" for k in range(16)]
ZIPS = 30
RHO1, RHO2 = 0.07, 0.3


def key(number: int) -> bytes:
    return hashlib.sha256(f"mechanisms attacked {number}".encode()).digest()


def table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(11)
    pay = rng.gamma(4, 5, rows)
    common = np.arange(len(ITEMS), 0, -1.0)
    order = np.argsort(rng.gumbel(size=(rows, len(ITEMS))) + np.log(common), axis=1)[:, ::-1]
    sizes = rng.integers(0, 6, rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "pay": pa.array(np.round(pay, 1), mask=rng.random(rows) < 0.05),
            "height": np.round(0.5 * pay + rng.normal(0, 3, rows), 2),
            "job": pa.array(rng.choice(list("abcdefgh"), rows, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.04, 0.01])),
            "town": pa.array(rng.choice(12, rows, p=np.arange(12, 0, -1) / 78), mask=rng.random(rows) < 0.1),
            "zip": rng.choice(ZIPS, rows, p=np.arange(ZIPS, 0, -1) / 465),
            "basket": pa.array([[ITEMS[i] for i in row[:m]] for row, m in zip(order, sizes, strict=True)]),
        }
    )


def policy(retain: float = 0.3, noise: float = 1.0, **basket: object) -> dict:
    return {
        "table": "t",
        "identity": ["id"],
        "columns": {
            "pay": {"mechanism": "gaussian", "noise": noise, "step": 0.1, "nulls": "keep"},
            "height": {"mechanism": "gaussian", "noise": noise, "step": 0.1},
            "job": {"mechanism": "identity", "retain": retain},
            "town": {"mechanism": "swap", "retain": retain, "nulls": "value"},
            "zip": {
                "mechanism": "small_domain",
                "domain": {"min": 0, "max": ZIPS - 1},
                "privacy": {"rho1": RHO1, "rho2": RHO2},
            },
            "basket": {
                "mechanism": "select_a_size",
                "domain": {"values": ITEMS},
                "privacy": {"rho1": 0.05, "rho2": 0.5},
                "max_size": 4,
                **basket,
            },
        },
    }


@pytest.fixture(scope="module")
def original():
    return table()


@pytest.fixture(scope="module")
def copy(tmp_path_factory, original):
    folder = tmp_path_factory.mktemp("copies")

    def make(number: int = 0, retain: float = 0.3, noise: float = 1.0, **basket):
        path = folder / f"{number}-{retain}-{noise}-{'-'.join(basket)}.duckdb"
        if not path.exists():
            publish(original, policy(retain, noise, **basket), to=path, key=key(number), progress=False)
        return path

    return make


@pytest.fixture(scope="module")
def single(copy, original):
    return attack([copy()], original)


def named(found, name):
    return next(each for each in found if each.name == name)


def within(count: float, expected: float, rows: int) -> bool:
    """Within four standard errors of a share."""
    return abs(count - expected) <= 4 * math.sqrt(max(expected * (1 - expected / rows), 1))


@pytest.mark.parametrize("name", ["job", "town", "zip"])
@pytest.mark.parametrize("prior", ["source", "release"])
def test_guesses_of_values_are_as_often_right_as_they_expect(copy, original, single, name, prior):
    found = single if prior == "source" else attack([copy()], original, prior=prior)
    score = named(found.columns, name).together
    # Shares that are read off the release are known to some percent of themselves only.
    room = 0 if prior == "source" else 0.03 * score.rows
    assert abs(score.right - score.expected) <= room + 4 * math.sqrt(score.expected)
    if prior == "source":
        assert all(within(right, sure, max(n, 1)) for n, right, sure in score.calibration)
    assert score.right > 1.2 * named(found.columns, name).commonest


@pytest.mark.parametrize("name", ["job", "town"])
def test_a_shown_value_of_the_columns_own_is_true_as_lemma_1_says(original, single, name):
    values = original[name].to_pylist()
    shares = np.unique([str(value) for value in values], return_counts=True)[1] / ROWS
    assert 0.7 * shares.max() < 0.3  # so that a shown value is always the best guess
    expected = float(shares @ [identity_posterior(0.3, share) for share in shares])
    score = named(single.columns, name).together
    assert within(score.right, expected * ROWS, ROWS)


def test_small_domains_keep_their_word(single, original):
    column = named(single.columns, "zip")
    (promise,) = column.promises
    assert (promise.rho1, promise.rho2, promise.protected) == (RHO1, RHO2, ZIPS)
    assert promise.kept and RHO2 - 0.01 < promise.highest < RHO2
    assert promise.rows > 100 and within(promise.right, promise.highest * promise.rows, promise.rows)
    assert column.together.surest.confidence < RHO2
    # Plain uniform at the same privacy keeps less of a domain of 30, so that less is guessed.
    rule = {"mechanism": "uniform", "domain": {"min": 0, "max": ZIPS - 1}, "privacy": {"rho1": RHO1, "rho2": RHO2}}
    plain = load_policy({"table": "t", "columns": {"zip": rule}}).columns[0].retention.probability(ZIPS)
    assert column.retentions[0] > plain


def test_a_broken_promise_is_called_so(copy, original, monkeypatch):
    """As if the parts kept more than they do in fact say."""
    from ppdm_sql.auditing import views

    real = views.log_odds
    monkeypatch.setattr(views, "log_odds", lambda retain, drawn: real(min(2 * retain, 1.0), drawn))
    found = attack([copy()], original)
    (promise,) = named(found.columns, "zip").promises
    assert not promise.kept and "BROKEN" in describe(found)
    assert not within(promise.right, promise.highest * promise.rows, promise.rows)


@pytest.mark.parametrize("name", ["pay", "height"])
@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_linear_guesses_err_as_the_distortion_says(copy, original, single, name, noise):
    found = single if noise == 1.0 else attack([copy(0, 0.5, noise)], original)
    number = named(found.numbers, name)
    assert number.rows == ROWS - original[name].null_count
    assert number.together.error**2 == pytest.approx(number.together.expected**2, rel=0.06)
    assert number.together.expected**2 == pytest.approx(distortion([noise], number.deviation**2), rel=0.05)
    assert number.deviation == pytest.approx(np.nanstd(original[name].to_numpy()), rel=1e-9)
    assert 0.64 < number.together.within < 0.74  # 68 % if it were normal


def test_noise_of_one_key_tells_no_more_than_its_least(copy, original):
    found = attack([copy(), copy(0, 0.5, 0.5), copy(0, 0.7, 0.5)], original)
    for number in found.numbers:
        assert number.chains == ((0, 1, 2),) and not number.doubtful
        assert number.together.error == pytest.approx(number.alone[1].error, rel=0.01)
        assert number.together.expected == pytest.approx(number.alone[1].expected, rel=0.001)
    assert "release 2 alone tells all" in describe(found)


def test_independent_noise_is_averaged_away(copy, original):
    paths = [copy(), copy(1), copy(2, 0.5, 0.5)]
    found = attack(paths, original)
    for number in found.numbers:
        expected = distortion_if_independent([1.0, 1.0, 0.5], number.deviation**2)
        assert number.chains == ((0,), (1,), (2,)) and not number.doubtful
        assert number.together.error**2 == pytest.approx(number.together.expected**2, rel=0.06)
        assert number.together.expected**2 == pytest.approx(expected, rel=0.05)
        assert number.together.error < 0.85 * min(score.error for score in number.alone)
    assert "averaged, it gets smaller" in describe(found)


def test_noise_of_one_key_is_not_taken_for_independent(copy, original, monkeypatch):
    """With the wrong law the guesser would expect far less error than there is: this is what the comparison is for."""
    monkeypatch.setattr("ppdm_sql.auditing.number_guessing.chains", lambda n, coupled: tuple((i,) for i in range(n)))
    for number in attack([copy(), copy(0, 0.5, 0.5)], original).numbers:
        assert number.together.error**2 > 1.1 * number.together.expected**2


def test_who_has_the_release_alone_knows_nearly_as_much(copy, original, single):
    found = attack([copy()], original, prior="release")
    for one, other in zip(single.numbers, found.numbers, strict=True):
        assert one.together.error <= other.together.error <= 1.01 * one.together.error


@pytest.mark.parametrize("compress", [False, True])
def test_shown_items_are_as_often_held_as_expected(copy, original, single, compress):
    found = attack([copy(0, compress=True)], original) if compress else single
    (basket,) = found.baskets
    assert (basket.items, basket.baskets) == (len(ITEMS), ROWS)
    assert within(basket.held, basket.expected, basket.shown)
    assert within(basket.worst.held, basket.worst.expected, basket.worst.shown)
    assert basket.worst.item == "item 0"
    assert basket.before < basket.highest <= float(highest_posterior(basket.gamma, basket.before)) * (1 + 1e-9)


def test_baskets_that_were_cut_are_known_to_be(copy, original, monkeypatch):
    """Baskets of more than two items are cut to two: taken for whole ones, more of them would be expected."""
    from ppdm_sql.auditing import basket_guessing

    (right,) = attack([copy(0, max_size=2)], original).baskets
    assert within(right.held, right.expected, right.shown)
    monkeypatch.setattr(basket_guessing.np, "minimum", lambda one, other: np.ones_like(one))
    (wrong,) = attack([copy(0, max_size=2)], original).baskets
    assert not within(wrong.held, wrong.expected, wrong.shown)


def test_copies_of_the_columns_own_values(copy, original):
    coupled = named(attack([copy(), copy(0, 0.5, 0.5)], original).columns, "job")
    assert coupled.chains == ((0, 1),) and coupled.together == coupled.alone[1]
    apart = named(attack([copy(), copy(1)], original).columns, "job")
    assert apart.chains == ((0,), (1,)) and apart.together.right > apart.alone[0].right
    assert within(apart.together.right, apart.together.expected, apart.together.rows)
    swapped = attack([copy(), copy(0, 0.5, 0.5)], original)
    assert named(swapped.columns, "town").together is None and named(swapped.columns, "zip").together is None
    assert "each is guessed by itself" in describe(swapped)


def test_domains_that_begin_elsewhere_are_numbered_by_themselves(original, tmp_path):
    """A second release of another domain is guessed by its own numbers."""
    paths = []
    for low in (0, -10):
        paths.append(tmp_path / f"{low}.parquet")
        rule = {"mechanism": "uniform", "domain": {"min": low, "max": ZIPS - 1}, "retain": 0.5}
        publish(original.select(["id", "zip"]), {"table": "t", "columns": {"zip": rule}}, to=paths[-1], key=key(0))
    first, second = named(attack(paths, original).columns, "zip").alone
    for score in (first, second):
        assert within(score.right, score.expected, score.rows) and score.right > 0.45 * ROWS


def test_a_column_that_one_release_drops(original, copy, tmp_path):
    rules = policy()
    rules["columns"]["job"] = {"mechanism": "drop"}
    del rules["columns"]["basket"]
    publish(original.drop_columns(["basket"]), rules, to=tmp_path / "less.parquet", key=key(0), progress=False)
    found = attack([copy(), tmp_path / "less.parquet"], original)
    assert named(found.columns, "job").alone[1] is None
    assert len(found.baskets) == 1


def test_a_guesser_who_believes_too_much_is_said_to(original, tmp_path):
    rng = np.random.default_rng(1)
    fine = pa.table({"id": np.arange(4000), "wage": np.round(rng.gamma(4, 100, 4000), 2)})
    rule = {"mechanism": "uniform", "domain": {"min": 0, "max": 5000, "step": 0.01}, "retain": 0.3}
    publish(fine, {"table": "t", "columns": {"wage": rule}}, to=tmp_path / "f.parquet", key=key(0), progress=False)
    assert "the guesser takes" in describe(attack([tmp_path / "f.parquet"], fine, prior="release"))
    assert "the guesser takes" not in describe(attack([tmp_path / "f.parquet"], fine))


def test_other_tables_are_told(copy, original):
    with pytest.raises(SourceError, match="'job' has values that do not occur in the original"):
        attack([copy()], original.set_column(3, "job", pa.array(["zzz"] * ROWS)))
    with pytest.raises(SourceError, match="items that its released item set does not hold") as caught:
        attack([copy()], original.set_column(6, "basket", pa.array([["secret"]] * ROWS)))
    assert "secret" not in str(caught.value)


def test_tables_of_one_mechanism_alone(original, tmp_path):
    for name in ("pay", "basket", "job"):
        rules = {"table": "t", "columns": {name: policy()["columns"][name]}}
        publish(original.select(["id", name]), rules, to=tmp_path / f"{name}.parquet", key=key(0), progress=False)
        found = attack([tmp_path / f"{name}.parquet"], original)
        assert found.rows == ROWS and name in describe(found)


def test_the_audit_takes_every_mechanism(original):
    found = audit(original, policy())
    assert found.rows == ROWS and not found.heaps


@pytest.mark.parametrize("rows", [1, 3])
def test_hardly_any_rows(rows, tmp_path):
    small = table(ROWS).slice(0, rows)
    rules = policy()
    for name in ("pay", "height"):
        rules["columns"][name]["deviation"] = 10.0
    del rules["columns"]["zip"]
    with pytest.warns(RareValues):
        publish(small, rules, to=tmp_path / "r.parquet", key=key(0), progress=False)
    assert f"{rows:,} rows" in describe(attack([tmp_path / "r.parquet"], small))


def test_plots_of_every_mechanism(copy, original, tmp_path, capsys):
    pq.write_table(original, tmp_path / "t.parquet")
    page = tmp_path / "page.html"
    arguments = ["attack", str(copy()), str(copy(1)), "--source", str(tmp_path / "t.parquet"), "--plot", str(page)]
    assert main(arguments) == 0
    assert "averaged, it gets smaller with every copy" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    for label in ("How far guesses of noisy numbers are off", "How often an item that a basket shows", "kept."):
        assert label in text
