"""Advice, taken: the policy that `advise` writes is published, attacked, and keeps what was promised."""

from __future__ import annotations

import itertools
from pathlib import Path

import duckdb
import numpy as np
import pytest
from keys import write_key

from ppdm_sql.cli.main import main
from ppdm_sql.engine.duckdb.catalog import read_catalog
from ppdm_sql.privacy import channel_of, excludes_breach, gamma_of_row, guess_rate, highest_posterior, posterior

ROWS = 80_000
RHO1, RHO2 = 0.15, 0.5
OCCUPATIONS = ["Clerk", "Nurse", "Driver", "Farmer", "Judge"]
POLICY = f"""# Far too much is kept.
table = "people"
identity = ["id"]

[columns.age]                       # in years
mechanism = "uniform"
domain = {{ min = 20, max = 39 }}
retain = 0.8

[columns.occupation]
mechanism = "uniform"
domain = {{ values = {OCCUPATIONS} }}
nulls = "value"
gamma = 200                         # 5 values and NULL

[columns.sick]
mechanism = "uniform"
domain = {{ values = [true, false] }}
retain = 0.9
"""
SOURCE = """
    SELECT i AS id, CASE WHEN hash(i, 1) % 10 < 7 THEN 'town' ELSE 'land' END AS region,
           20 + CASE WHEN region = 'town' THEN (hash(i, 2) % 20)
                     ELSE (hash(i, 2) % 5) * (hash(i, 3) % 5) END::INTEGER AS age,
           (CASE WHEN hash(i, 4) % 100 < 2 THEN NULL
                 ELSE ['Clerk', 'Nurse', 'Driver', 'Farmer', 'Judge']
                      [(hash(i, 5) % 10 * (hash(i, 6) % 10) // 20 + 1)::INTEGER] END) AS occupation,
           hash(i, 7) % 100 < CASE WHEN region = 'town' THEN 4 ELSE 13 END AS sick
    FROM range({rows}) AS r(i)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source, the policy as it was, the advised one, and a release of each."""
    folder = tmp_path_factory.mktemp("advised")
    (folder / "before.toml").write_text(POLICY, encoding="utf-8")
    with duckdb.connect() as con:
        con.execute(f"COPY ({SOURCE.format(rows=ROWS)}) TO '{folder}/people.parquet'")
    asked = ["--rows", str(ROWS), "--rho1", str(RHO1), "--rho2", str(RHO2), "--error", "0.02"]
    assert main(["advise", str(folder / "before.toml"), *asked, "-o", str(folder / "after.toml")]) == 0
    for name in ("before", "after"):
        key = str(write_key(folder, 40))
        release = ["--policy", str(folder / f"{name}.toml"), "--to", str(folder / f"{name}.duckdb"), "--key", key]
        assert main(["publish", str(folder / "people.parquet"), *release]) == 0
    return folder


def values_of(column: str) -> list:
    return {"age": list(range(20, 40)), "occupation": [*OCCUPATIONS, None], "sick": [True, False]}[column]


def tables(folder: Path, name: str, column: str) -> dict[str, np.ndarray]:
    """Rows by true and published value, for all and for each region that an attacker may know; shape (m, m)."""
    with duckdb.connect(str(folder / f"{name}.duckdb"), read_only=True) as con:
        rows = con.execute(
            f"SELECT o.region, o.{column}, p.{column}, count(*) FROM '{folder}/people.parquet' AS o "
            f"JOIN perturbed.people AS p USING (id) GROUP BY ALL"
        ).fetchall()
    place = {value: i for i, value in enumerate(values_of(column))}
    found = {region: np.zeros((len(place), len(place))) for region in ("town", "land")}
    for region, true, published, count in rows:
        found[region][place[true], place[published]] += count
    return found | {"everybody": found["town"] + found["land"]}


def channel(folder: Path, name: str, column: str):
    with duckdb.connect(str(folder / f"{name}.duckdb"), read_only=True) as con:
        [release] = read_catalog(con, {}).releases.values()
    return channel_of(next(c for c in release.perturbed if c.name == column))


def breaches(counts: np.ndarray, sets: np.ndarray, slack: float) -> int:
    """How many properties of at most RHO1 are RHO2 likely after some output, by more than `slack` standard errors."""
    prior = sets @ counts.sum(axis=1) / counts.sum()
    seen = counts.sum(axis=0)
    after = (sets @ counts)[:, seen > 0] / seen[seen > 0]
    spread = np.sqrt(0.25 / seen[seen > 0])
    return int(((prior <= RHO1)[:, None] & (after >= RHO2 + slack * spread)).sum())


def some_sets(size: int) -> np.ndarray:
    """All single values, and a thousand sets of any size."""
    rng = np.random.default_rng(size)
    return np.concatenate([np.eye(size), (rng.random((1000, size)) < rng.random((1000, 1))).astype(float)])


@pytest.mark.parametrize("column", ["age", "occupation", "sick"])
def test_the_policy_as_it_was_is_breached_and_the_advised_one_is_not(folder, column):
    sets = some_sets(len(values_of(column)))
    before, after = (tables(folder, name, column) for name in ("before", "after"))
    assert sum(breaches(counts, sets, 3) for counts in before.values()) > 0
    assert sum(breaches(counts, sets, 3) for counts in after.values()) == 0


@pytest.mark.parametrize("column", ["age", "occupation", "sick"])
def test_no_property_is_likelier_than_the_promise_allows(folder, column):
    used = channel(folder, "after", column)
    assert excludes_breach(used.gamma, RHO1, RHO2)
    sets = some_sets(used.size)
    for counts in tables(folder, "after", column).values():
        prior, seen = counts.sum(axis=1) / counts.sum(), counts.sum(axis=0)
        after, bound = (sets @ counts) / seen, highest_posterior(used.gamma, np.minimum(sets @ prior, 1))
        assert (after <= bound[:, None] + 4.5 * np.sqrt(0.25 / seen)).all()
        for output in range(used.size):  # and it is what Bayes says, so an attacker can do no better
            believed = posterior(used, prior, output)
            spread = np.sqrt(believed * (1 - believed) / seen[output]) + 1 / seen[output]
            assert (np.abs(counts[:, output] / seen[output] - believed) <= 4.5 * spread).all()


@pytest.mark.parametrize("column", ["age", "occupation", "sick"])
@pytest.mark.parametrize("name", ["before", "after"])
def test_the_best_guess_per_row_is_right_as_often_as_predicted(folder, name, column):
    used = channel(folder, name, column)
    for counts in tables(folder, name, column).values():
        prior = counts.sum(axis=1) / counts.sum()
        guess = np.array([np.argmax(posterior(used, prior, output)) for output in range(used.size)])
        right = counts[guess, np.arange(used.size)].sum() / counts.sum()
        rate = guess_rate(used, prior)
        assert right == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / counts.sum()) + 1e-12)


def test_the_edited_policy_is_the_publishers_own(folder):
    text = (folder / "after.toml").read_text(encoding="utf-8")
    assert text.count("privacy = { rho1 = 0.15, rho2 = 0.5 }") == 3
    for comment in ("# Far too much is kept.", "# in years", "# 5 values and NULL"):
        assert comment in text


def test_a_promise_for_the_whole_row_holds_for_properties_of_several_columns(folder):
    """Every property of occupation and sickness together, by an attacker who knows how the two go together."""
    policy, release, gamma = folder / "row.toml", folder / "row.duckdb", 6.0
    start, end = POLICY.index("[columns.age]"), POLICY.index("[columns.occupation]")
    (folder / "two.toml").write_text(POLICY[:start] + POLICY[end:], encoding="utf-8")
    asked = ["--rows", str(ROWS), "--gamma", str(gamma), "--whole-row", "-o", str(policy)]
    assert main(["advise", str(folder / "two.toml"), *asked]) == 0
    target = ["--policy", str(policy), "--to", str(release), "--key", str(write_key(folder, 41))]
    assert main(["publish", str(folder / "people.parquet"), *target]) == 0

    states = list(itertools.product(values_of("occupation"), values_of("sick")))
    counts = np.zeros((len(states), len(states)))
    with duckdb.connect(str(release), read_only=True) as con:
        for *both, count in con.execute(
            f"SELECT o.occupation, o.sick, p.occupation, p.sick, count(*) FROM '{folder}/people.parquet' AS o "
            "JOIN perturbed.people AS p USING (id) GROUP BY ALL"
        ).fetchall():
            counts[states.index(tuple(both[:2])), states.index(tuple(both[2:]))] += count
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=len(states))))[1:-1]
    prior, seen = counts.sum(axis=1) / counts.sum(), counts.sum(axis=0)
    after = (sets @ counts) / seen
    bound = highest_posterior(gamma, np.minimum(sets @ prior, 1))
    assert (after <= bound[:, None] + 4.5 * np.sqrt(0.25 / seen)).all()
    # the budget was split over the columns, and used up
    with duckdb.connect(str(release), read_only=True) as con:
        [manifest] = read_catalog(con, {}).releases.values()
    used = [channel_of(column) for column in manifest.perturbed]
    assert gamma * 0.999 < gamma_of_row(used) <= gamma
