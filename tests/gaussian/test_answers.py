"""Queries on columns with Gaussian noise: unbiased with errors that hold, refused where nothing can be said."""

import re
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import Unsupported
from ppdm_sql.mechanisms.gaussian import column as policy_noise
from ppdm_sql.query.understand.noise import Variable, corrected

ROWS = 1_200
RELEASES = 60


def staff(rows=ROWS):
    rng = np.random.default_rng(17)
    age = rng.integers(18, 70, rows)
    pay = np.round(np.exp(rng.normal(7.5, 0.4, rows) + 0.01 * age), 2)
    late = pa.array(np.round(rng.gamma(2, 10, rows)), mask=rng.random(rows) < 0.2)
    return pa.table(
        {
            "id": np.arange(rows),
            "sex": rng.choice(["F", "M"], rows),
            "weight": rng.integers(1, 5, rows),
            "age": age.astype(np.int16),
            "pay": pay,
            "late": late,
            "hours": rng.integers(1, 21, rows),
        }
    )


POLICY = {
    "table": "staff",
    "identity": ["id"],
    "columns": {
        "age": {"mechanism": "gaussian", "noise": 0.5, "covariance": "data"},
        "pay": {"mechanism": "gaussian", "noise": 0.8, "covariance": "data", "step": 0.5},
        "late": {"mechanism": "gaussian", "noise": 0.3, "deviation": 14, "step": 1, "nulls": "keep"},
        "hours": {"mechanism": "uniform", "domain": {"min": 1, "max": 20}, "retain": 0.6},
    },
}

EXPRESSIONS = [
    "sum(pay)",
    "avg(pay)",
    "avg(age) FILTER (WHERE sex = 'F')",
    "var_samp(pay)",
    "stddev_pop(age)",
    "covar_samp(age, pay)",
    "corr(age, pay)",
    "covar_pop(pay, weight)",
    "sum(pay * age)",
    "sum(pay * weight) / sum(weight)",
    "avg(pay - 10 * age)",
    "sum(age ^ 2)",
    "avg(late)",
    "var_samp(late)",
    "sum(CASE WHEN sex = 'M' THEN pay ELSE 2 * age END)",
    "avg(pay) FILTER (WHERE hours > 10)",
    "sum(pay * hours)",
    "avg(late * weight)",
    "avg(age) / avg(pay)",
]


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gaussian")
    table = staff()
    paths = [folder / f"{i}.parquet" for i in range(RELEASES)]
    for i, path in enumerate(paths):
        ppdm_sql.publish(table, POLICY, to=path, key=bytes([i]) * 32)
    return paths


@pytest.fixture(scope="module")
def truth():
    con = duckdb.connect()
    con.register("staff", staff())
    return con


def answers(paths, expressions, where=""):
    """Estimates and standard errors, shape (releases, expressions).

    What answers one release answers all: the same statement, compiled once, for only the key differs.
    """
    items = ", ".join(f"{e} AS e{i}, ppdm_error({e}) AS s{i}" for i, e in enumerate(expressions))
    with ppdm_sql.connect(paths[0], read_only=True) as con:
        statement = con.compile(f"SELECT {items} FROM staff {where}", dialect="duckdb")
    found = []
    with duckdb.connect() as con:
        for path in paths:
            con.execute(f"CREATE OR REPLACE VIEW staff AS FROM '{path}'")
            found.append(con.execute(statement).fetchone())
    table = np.array(found, dtype=float)
    return table[:, ::2], table[:, 1::2]


def range_answers(paths, expressions):
    """The same where nothing can be compiled."""
    items = ", ".join(f"{e} AS e{i}, ppdm_error({e}) AS s{i}" for i, e in enumerate(expressions))
    found = []
    for path in paths:
        with ppdm_sql.connect(path, read_only=True) as con:
            found.append(con.execute(f"SELECT {items} FROM staff").fetchone())
    table = np.array(found, dtype=float)
    return table[:, ::2], table[:, 1::2]


def check(estimates, errors, truths):
    scores = (estimates - truths) / errors
    assert np.abs(scores.mean(axis=0)).max() < 4.2 / len(scores) ** 0.5  # unbiased
    assert np.abs((scores**2).mean(axis=0) - 1).max() < 5 * (2 / len(scores)) ** 0.5  # of the size it says
    assert abs((scores**2).mean() - 1) < 0.12
    assert 0.93 < (np.abs(scores) < 1.96).mean() < 0.97


def test_sums_averages_and_spreads_are_unbiased_and_their_errors_hold(releases, truth):
    truths = np.array(truth.execute(f"SELECT {', '.join(EXPRESSIONS)} FROM staff").fetchone(), dtype=float)
    check(*answers(releases, EXPRESSIONS), truths)


def test_under_conditions_on_exact_columns(releases, truth):
    where = "WHERE weight > 1 AND late IS NOT NULL"
    expressions = EXPRESSIONS[:6]
    truths = np.array(truth.execute(f"SELECT {', '.join(expressions)} FROM staff {where}").fetchone(), dtype=float)
    check(*answers(releases, expressions, where), truths)


def test_a_formula_that_forgets_the_noise_is_seen(releases, truth, monkeypatch):
    """The same check, with the covariance of noise left out: the spreads come out too large."""
    real = policy_noise.NoisyColumn.shared
    monkeypatch.setattr(policy_noise.NoisyColumn, "shared", lambda self, other: 0.9 * real(self, other))
    some = EXPRESSIONS[3:6]
    truths = np.array(truth.execute(f"SELECT {', '.join(some)} FROM staff").fetchone(), dtype=float)
    with pytest.raises(AssertionError):
        check(*answers(releases, some), truths)


def test_the_error_of_a_sum_is_exactly_that_of_the_noise(releases):
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        found = con.execute("SELECT ppdm_error(sum(pay)), ppdm_error(avg(late)), count(late) FROM staff").fetchone()
    manifest = ppdm_sql.publish(staff(), POLICY, to=releases[0].with_suffix(".again.parquet"), key=bytes([0]) * 32)
    noisy = {c.name: c for c in manifest.perturbed}
    assert found[0] == pytest.approx((ROWS * noisy["pay"].shared(noisy["pay"])) ** 0.5, rel=1e-9)
    assert found[1] == pytest.approx((noisy["late"].shared(noisy["late"]) / found[2]) ** 0.5, rel=1e-9)


def test_counts_without_conditions_are_exact(releases, truth):
    query = "SELECT sex, count(*) AS n, count(pay) AS p, count(late) AS l FROM staff GROUP BY sex ORDER BY sex"
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        con.execute("SET ppdm_errors = 'columns'")
        assert con.execute(query).fetchall() == truth.execute(query).fetchall()


def test_numbers_far_from_zero_keep_their_digits(tmp_path):
    """Spreads are taken about a public centre: squares of 1e9 would swallow a variance of 1."""
    rng = np.random.default_rng(5)
    table = pa.table({"id": np.arange(2_000), "x": 1e9 + rng.normal(size=2_000)})
    policy = {"table": "t", "identity": ["id"], "columns": {"x": {"mechanism": "gaussian", "noise": 1, "step": 0.001}}}
    scores, query = [], "SELECT var_samp(x), ppdm_error(var_samp(x)) FROM t"
    for i in range(12):
        ppdm_sql.publish(table, policy, to=tmp_path / f"{i}.parquet", key=bytes([i]) * 32)
        with ppdm_sql.connect(tmp_path / f"{i}.parquet") as con:
            estimate, error = con.execute(query).fetchone()
        scores.append((estimate - np.var(table["x"].to_numpy(), ddof=1)) / error)
    assert abs(np.mean(scores)) < 1
    assert 0.6 < np.std(scores) < 1.5


RANGES = [
    "count(*) FILTER (WHERE pay > 3000)",
    "count(*) FILTER (WHERE pay BETWEEN 2000 AND 4000 AND sex = 'F')",
    "count_if(pay <= 2500 OR sex = 'M') / count(*)",
]


def test_ranges_are_covered(releases, truth):
    estimates, errors = range_answers(releases[:12], RANGES)
    truths = np.array(truth.execute(f"SELECT {', '.join(RANGES)} FROM staff").fetchone(), dtype=float)
    assert (np.abs(estimates - truths) < 1.96 * errors).mean() >= 0.9
    assert (errors[:, 0] < 0.2 * ROWS).all()


def test_a_histogram_adds_up_and_is_covered(releases, truth):
    query = "SELECT floor(age / 15) AS decade, sex, count(*) AS n, ppdm_error(count(*)) AS s FROM staff GROUP BY 1, 2"
    true = {(d, s): n for d, s, n in truth.execute(re.sub(", ppdm_error.*AS s", "", query)).fetchall()}
    inside, total = [], []
    for path in releases[:6]:
        with ppdm_sql.connect(path, read_only=True) as con:
            rows = con.execute(query).fetchall()
        assert sum(n for _, _, n, _ in rows) == pytest.approx(ROWS)
        total.append(len(rows))
        inside += [abs(n - true.get((d, s), 0)) < 1.96 * error + 1e-6 for d, s, n, error in rows]
    assert np.mean(inside) >= 0.9
    assert min(total) >= 8


def test_groups_and_order_work_over_ranges(releases, truth):
    query = """SELECT sex, CASE WHEN pay < 2500 THEN 'low' ELSE 'high' END AS band, count(*) AS n FROM staff
        WHERE weight > 1 GROUP BY ALL HAVING count(*) > 1 ORDER BY sex, band DESC"""
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        found = con.execute(query).fetchall()
    assert [row[:2] for row in found] == [("F", "low"), ("F", "high"), ("M", "low"), ("M", "high")]
    assert [row[:2] for row in found] == [row[:2] for row in truth.execute(query).fetchall()]


def test_null_is_a_group_of_its_own_and_exact(releases, truth):
    query = "SELECT late > 30 AS much, count(*) AS n FROM staff GROUP BY 1 ORDER BY 1 NULLS LAST"
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        found = con.execute(query).fetchall()
    true = truth.execute(query).fetchall()
    assert [row[0] for row in found] == [row[0] for row in true]
    assert found[-1] == (None, pytest.approx(true[-1][1]))
    assert found[0][1] == pytest.approx(true[0][1], abs=120)


def test_an_empty_release_and_groups_of_nobody(tmp_path):
    ppdm_sql.publish(
        staff().slice(0, 0),
        {
            "table": "staff",
            "identity": ["id"],
            "columns": {"pay": {"mechanism": "gaussian", "noise": 1, "deviation": 9, "step": 1}},
        },
        to=tmp_path / "empty.parquet",
        key=bytes(32),
    )
    with ppdm_sql.connect(tmp_path / "empty.parquet") as con:
        assert con.execute("SELECT count(*), sum(pay), avg(pay) FROM staff").fetchone() == (0, None, None)
        assert con.execute("SELECT count(*) FROM staff WHERE pay > 10").fetchone() == (0,)
        assert con.execute("SELECT sex, count(*) FROM staff WHERE pay > 10 GROUP BY sex").fetchall() == []


REFUSED = {
    "SELECT max(pay) FROM staff": "max.*line 1, column 8.*count a range",
    "SELECT median(age) FROM staff": "age has Gaussian noise.*Count ranges",
    "SELECT count(DISTINCT age) FROM staff": "distinct",
    "SELECT count(*) FROM staff WHERE age = 30": r"\"age\" = 30 \(line 1, column 34\): .*hides single values.*at least",
    "SELECT count(*) FROM staff WHERE age IN (20, 30)": "hides single values",
    "SELECT count(*) FROM staff WHERE age % 2 = 0": "hides single values",
    "SELECT count(*) FROM staff WHERE pay BETWEEN 3000 AND 3010": "at least",
    "SELECT age, count(*) FROM staff GROUP BY age": "hides single values",
    "SELECT count(*) FROM staff WHERE age > 40 AND pay > 3000": "both have Gaussian noise.*one of them",
    "SELECT count(*) FROM staff WHERE age > 40 AND hours > 3": "together with conditions on or sums of hours",
    "SELECT avg(weight) FROM staff WHERE age > 40": "counted only, not added up",
    "SELECT sum(pay) FROM staff WHERE pay > 2000": "counted only, not added up",
    "SELECT avg(ln(pay)) FROM staff": "sums, products and small powers",
    "SELECT avg(round(pay)) FROM staff": "sums, products and small powers",
    "SELECT avg(abs(pay)) FROM staff": "sums, products and small powers",
    "SELECT avg(1 / pay) FROM staff": "sums, products and small powers",
    "SELECT sum(pay ^ 9) FROM staff": "sums, products and small powers",
    "SELECT count(*) FROM staff WHERE pay > age": "compares pay, which has Gaussian noise|compares age",
    "SELECT count(*) FROM staff WHERE pay > weight": "mixes the perturbed column pay with exact ones",
    "SELECT * FROM staff WHERE pay > 3": "rows cannot be picked by it",
    "SELECT * FROM staff ORDER BY pay": "put in order",
    "SELECT sex, pay, sum(weight) FROM staff GROUP BY sex, pay": "counted only, not added up",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_noise_hides_is_refused_by_name_place_and_remedy(releases, query):
    with ppdm_sql.connect(releases[0], read_only=True) as con, pytest.raises(Unsupported, match=REFUSED[query]):
        con.execute(query).fetchall()


def test_inversion_and_compilation_of_a_range_are_refused(releases):
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        with pytest.raises(Unsupported, match="no unbiased estimate"):
            con.compile("SELECT count(*) FROM staff WHERE pay > 3000", dialect="postgres")
        text = con.compile("SELECT avg(pay), var_samp(pay) FROM staff", dialect="postgres")
        assert "GROUP" not in text and "pay" in text
        con.execute("SET ppdm_method = 'inversion'")
        with pytest.raises(Unsupported, match="no unbiased estimate"):
            con.execute("SELECT count(*) FROM staff WHERE pay > 3000")


def test_it_is_explained(releases):
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        text = con.explain("SELECT count(*) FROM staff WHERE pay > 3000")
        assert "column: pay, Gaussian noise of standard deviation" in text
        assert "bins: " in text and "every bound is an edge" in text
        assert "deconvolution" in text and "biased" in text
        assert "taken out of squares and products" in con.explain("SELECT var_samp(pay) FROM staff")


def test_the_sql_that_runs(releases):
    """One scan: sums of noisy numbers, and of their squares less the variance of the noise."""
    manifest = ppdm_sql.publish(staff(), POLICY, to=releases[0].with_suffix(".sql.parquet"), key=bytes([0]) * 32)
    age = manifest.perturbed[0]
    with ppdm_sql.connect(releases[0], read_only=True) as con:
        text = " ".join(con.explain("SELECT sum(age * age), sum(age) FROM staff WHERE sex = 'F'").split())
    squares = f'("age" * "age" + -{age.shared(age)!r}e0)'.replace("(", "( ").replace(")", " )")
    assert squares in text.replace("(", "( ").replace(")", " )").replace("(  ", "( ").replace("  )", " )")
    assert text.count("FROM staff") == 1 and "= 'F'" in text


@pytest.mark.parametrize("power", [1, 2, 3, 4, 6])
def test_corrected_products_have_the_originals_expectation(power):
    """By Gauss-Hermite quadrature, which is exact for polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    weights = weights / weights.sum()
    c = np.array([[2.0, 0.6], [0.6, 1.5]])
    triangle = np.linalg.cholesky(c)
    x, y = Variable("x"), Variable("y", 3.0)
    place = {"x": 0, "y": 1}
    polynomial = corrected(((x, power), (y, 2)), lambda one, other: c[place[one], place[other]])
    total = 0.0
    for i, j in np.ndindex(12, 12):
        z = triangle @ [nodes[i], nodes[j]]
        noisy = {x: 1.7 + z[0], y: 5.2 + z[1] - 3.0}
        value = sum(k * np.prod([noisy[v] ** p for v, p in term]) for term, k in polynomial.items())
        total += weights[i] * weights[j] * value
    assert total == pytest.approx(1.7**power * (5.2 - 3.0) ** 2, rel=1e-9)


def test_steps_are_decimals_and_exact():
    column = policy_noise.NoisyColumn("x", None, 1.0, Decimal("0.25"), "error", columns=("x",), weights=(1.0,))
    assert column.units == (25, 2)


def test_noise_that_is_next_to_nothing_beside_the_range_is_refused(tmp_path):
    """Chances of every interval in every bin would fill memory; sums are answered all the same."""
    wage = np.r_[np.arange(1_000) % 50, 4e6]
    table = pa.table({"id": np.arange(len(wage)), "wage": wage})
    rules = {"mechanism": "gaussian", "noise": 0.5, "deviation": 10, "step": 0.01}
    declared = {"table": "t", "identity": ["id"], "columns": {"wage": rules}}
    ppdm_sql.publish(table, declared, to=tmp_path / "r.duckdb", key=bytes(range(32)), progress=False)
    query = "SELECT count(*) FROM t WHERE wage > 30"
    with ppdm_sql.connect(tmp_path / "r.duckdb") as con:
        for ask in (con.explain, con.execute):
            with pytest.raises(Unsupported, match=r"so small beside how far its numbers reach .* Ask for sums"):
                ask(query)
        assert con.execute("SELECT sum(wage) FROM t").fetchone()[0] == pytest.approx(wage.sum(), abs=2_000)
