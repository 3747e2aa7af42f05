"""Small domains keep the promises of the suite, with what is their own: parts, a promise instead of a retention."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from cases import JOBS, staff
from mechanisms.conftest import ROWS, secret
from scipy.stats import chi2

import ppdm_sql
from ppdm_sql.errors import PolicyError, SourceError, Unsupported
from ppdm_sql.policy.manifest import Manifest
from ppdm_sql.publishing.release import publish
from ppdm_sql.release.stored import stored_manifests

CODES = 80


def coded(rows: int = ROWS, seed: int = 5) -> pa.Table:
    """The staff with a code that depends on chance, and on age a little; some codes are common, some rare."""
    table = staff(rows, seed)
    weights = 1 / np.arange(5, 5 + CODES) ** 0.7
    code = np.random.default_rng(seed).choice(CODES, rows, p=weights / weights.sum())
    code = np.where(table.column("age").to_numpy() > 23, code, (code * 7) % CODES)
    return table.append_column("code", pa.array(code, pa.int16()))


@pytest.fixture(scope="module")
def original():
    with duckdb.connect() as con:
        con.register("generated", coded())
        con.execute("CREATE TABLE staff AS FROM generated")
        yield con


POLICY = {
    "table": "staff",
    "identity": ["id"],
    "columns": {
        "code": {
            "mechanism": "small_domain",
            "domain": {"min": 0, "max": CODES - 1},
            "privacy": {"rho1": 0.06, "rho2": 0.3},
        },
        "job": {"mechanism": "uniform", "domain": {"values": JOBS}, "retain": 0.5},
    },
}
RELEASES = 24
QUERIES = (
    "SELECT count(*) FROM staff WHERE code >= 20",
    "SELECT sum(code) FROM staff",
    "SELECT count(*) FROM staff WHERE code BETWEEN 10 AND 24 AND sex = 'F'",
    "SELECT count(*) FROM staff WHERE code > 13 AND job = 'driver'",
    "SELECT count(*) FROM staff WHERE job LIKE 'c%' OR code % 5 = 0",
    "SELECT avg(code) FROM staff WHERE sex = 'M'",
    "SELECT sum(code * pay) FROM staff WHERE job <> 'nurse'",
    "SELECT avg(pay) FROM staff WHERE code < 15",
    "SELECT stddev(code) FROM staff",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")

    def make(number: int = 0, ending: str = "duckdb"):
        path = folder / f"{number}.{ending}"
        if not path.exists():
            publish(coded(), POLICY, to=path, key=secret(number))
        return path

    return make


def test_answers_are_right_on_average_and_intervals_calibrated(made, original):
    truths = np.array([original.execute(query).fetchall()[0][0] for query in QUERIES], dtype=float)
    asked = [re.sub(r"SELECT (.*?) FROM", r"SELECT \1, ppdm_error(\1) FROM", query) for query in QUERIES]
    found = []
    for number in range(RELEASES):
        with ppdm_sql.connect(made(number), read_only=True) as con:
            found.append([con.execute(query).fetchone() for query in asked])
    estimates, errors = np.moveaxis(np.array(found, dtype=float), 2, 0)
    z = (estimates - truths) / errors
    assert (np.abs(z.mean(axis=0)) < 4 / np.sqrt(RELEASES)).all(), z.mean(axis=0)
    squares = (z**2).mean(axis=0)
    low, high = (chi2.ppf(q, RELEASES) / RELEASES for q in (0.0005, 0.9995))
    assert ((squares > low) & (squares < high)).all(), np.round(squares, 2)
    assert 0.92 < (np.abs(z) < 1.96).mean() < 0.98


def test_groups_of_the_column_and_beside_it(made, original):
    for query in (
        "SELECT code // 10, count(*) FROM staff GROUP BY 1 ORDER BY 1",
        "SELECT sex, count(*) FROM staff WHERE code > 12 GROUP BY sex ORDER BY sex",
        "SELECT code > 13, job, count(*) FROM staff GROUP BY ALL ORDER BY ALL",
    ):
        truth = {row[:-1]: row[-1] for row in original.execute(query).fetchall()}
        with ppdm_sql.connect(made(1), read_only=True) as con:
            found = con.execute(query.replace("count(*)", "count(*), ppdm_error(count(*))", 1)).fetchall()
        assert {row[:-2] for row in found} == set(truth)
        assert all(abs(row[-2] - truth[row[:-2]]) < 4.5 * row[-1] + 1e-9 for row in found)


def test_parts_are_public_and_keep_the_promise(made):
    with duckdb.connect(str(made()), read_only=True) as con:
        manifest = Manifest.from_json(stored_manifests(con)[0][1])
        released = con.sql("SELECT id, code, code_part FROM perturbed.staff ORDER BY id").to_arrow_table()
        other = con.sql(f"SELECT id, code, code_part FROM '{made(ending='parquet')}' ORDER BY id").to_arrow_table()
    assert released.equals(other)
    assert Manifest.from_json(manifest.to_json()) == manifest
    [column] = [c for c in manifest.perturbed if c.name == "code"]
    assert len(column.parts) > 1
    truth = coded().sort_by("id").column("code").to_numpy()
    part, shown = (released.column(name).to_numpy() for name in ("code_part", "code"))
    common = np.bincount(truth, minlength=CODES) / len(truth)
    for number, one in enumerate(column.parts):
        mine = part == number
        assert set(truth[mine]) == set(one.places)
        assert set(shown[mine]) <= set(one.places)
        shares = np.bincount(truth[mine], minlength=CODES) / mine.sum()
        inside = list(one.places)
        law = np.full((len(inside), len(inside)), (1 - one.retain) / len(inside))
        law[np.diag_indices(len(inside))] += one.retain
        posterior = shares[inside][:, None] * law
        posterior /= posterior.sum(axis=0)
        assert posterior[common[inside] <= 0.06].max() <= 0.3 + 1e-9


def test_more_is_kept_than_by_uniform_retention_under_the_same_promise(made):
    from ppdm_sql.mechanisms.small_domain.declare import plain_retention

    with ppdm_sql.connect(made(), read_only=True) as con:
        [column] = [c for c in con.manifest("staff").perturbed if c.name == "code"]
        described = {row[0]: row for row in con.execute("DESCRIBE PERTURBED staff").fetchall()}
    assert min(part.retain for part in column.parts) > plain_retention(column)
    assert described["code"][2] == "small_domain"


def test_the_same_rows_for_the_same_key(tmp_path, made):
    again = tmp_path / "again.parquet"
    shuffled = coded().take(np.random.default_rng(1).permutation(ROWS))
    publish(shuffled, POLICY, to=again, key=secret(0))
    first = duckdb.sql(f"SELECT id, code, code_part FROM '{made(ending='parquet')}' ORDER BY id").fetchall()
    assert duckdb.sql(f"SELECT id, code, code_part FROM '{again}' ORDER BY id").fetchall() == first


def test_null_is_a_value_of_some_part(tmp_path):
    ages = pa.array([20 + i % 5 if i % 7 else None for i in range(3_000)], pa.int16())
    policy = {
        "table": "t",
        "columns": {
            "age": {
                "mechanism": "small_domain",
                "domain": {"min": 20, "max": 27},
                "privacy": {"rho1": 0.3, "rho2": 0.6},
                "nulls": "value",
            }
        },
    }
    path = tmp_path / "t.duckdb"
    publish(pa.table({"age": ages}), policy, to=path, key=secret(3))
    with ppdm_sql.connect(path, read_only=True) as con:
        count, error = con.execute("SELECT count(*), ppdm_error(count(*)) FROM t WHERE age IS NULL").fetchone()
        grouped = dict(con.execute("SELECT age, count(*) FROM t GROUP BY age").fetchall())
    assert abs(count - ages.null_count) < 4 * error
    assert None in grouped and len(grouped) == 6


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"nulls": "keep"}, PolicyError, "must be one of error, value"),
        ({"domain": {"min": 20, "max": 79}}, SourceError, "outside its declared domain"),
        ({"privacy": {"rho1": 0.0001, "rho2": 0.5}}, PolicyError, "use a larger rho1"),
        ({"part": "sex"}, PolicyError, "the source has one"),
        ({"retain": 0.5}, PolicyError, "retain has no meaning"),
    ],
)
def test_what_cannot_be_published_writes_nothing(tmp_path, change, kind, message):
    policy = {**POLICY, "columns": {"code": {**POLICY["columns"]["code"], **change}}}
    path = tmp_path / "r.duckdb"
    with pytest.raises(kind, match=message):
        publish(coded(300), policy, to=path, key=secret(0))
    assert not path.exists()


def test_refusals(made):
    with ppdm_sql.connect(made(), read_only=True) as con:
        for query in (
            "SELECT max(code) FROM staff",
            "SELECT median(code) FROM staff",
            "SELECT count(DISTINCT code) FROM staff",
        ):
            with pytest.raises(Unsupported, match="line 1, column"):
                con.execute(query)
        rows = con.execute("SELECT code, code_part FROM staff LIMIT 3").fetchall()
    assert len(rows) == 3
