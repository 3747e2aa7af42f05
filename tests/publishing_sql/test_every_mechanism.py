"""PERTURB says what a policy's TOML can say of every mechanism, and DESCRIBE PERTURBED says it back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ppdm_sql
from ppdm_sql.errors import PolicyError, QueryError
from ppdm_sql.mechanisms.registry import MECHANISMS
from ppdm_sql.policy import load_policy
from ppdm_sql.publishing_sql.statements import publishing_statement

ROWS = 400
ITEMS = ["bread", "it's", "milk", "tea"]

CLAUSE = """
    age UNIFORM RETAIN 0.3 DOMAIN (17 TO 90) NULLS VALUE OUTSIDE CLAMP,
    pay UNIFORM EPSILON 5 DOMAIN (-1.25 TO 99.75) STEP 0.5,
    seen UNIFORM RETAIN 0.5 DOMAIN (TIMESTAMP '2024-01-01' TO TIMESTAMP '2024-03-01') STEP '12 hours',
    born UNIFORM GAMMA 20 DOMAIN (DATE '1950-01-01' TO DATE '1950-12-31') STEP '7 days',
    huge UNIFORM RETAIN 0.5 DOMAIN (123456789012345678901234567890.25 TO 123456789012345678901234567891.00) STEP 0.25,
    grade CUSTOM REPLACE ('low' 3, 'it''s' 1.5, NULL 0.25) RETAIN 0.4 NULLS VALUE,
    level CUSTOM DOMAIN (1 TO 3) REPLACE (3 1, 1 2, 2 4) RETAIN 0.4,
    town IDENTITY RETAIN 0.7,
    street SWAP RETAIN 0.6 NULLS KEEP,
    wage GAUSSIAN NOISE 0.5 DEVIATION 12000 STEP 10,
    tall GAUSSIAN NOISE 0.25 COVARIANCE (tall 81, heavy 40) STEP 0.1,
    heavy GAUSSIAN NOISE 0.5 COVARIANCE (heavy 100) STEP 0.5 NULLS KEEP,
    mine GAUSSIAN NOISE 1 COVARIANCE DATA STEP 1,
    job SMALL_DOMAIN DOMAIN (1 TO 8) PRIVACY (0.4 TO 0.8) PART "job's part",
    "my basket" SELECT_A_SIZE DOMAIN ('bread', 'it''s', 'milk', 'tea') GAMMA 30 MAX_SIZE 3 RHO 0.25,
    bag SELECT_A_SIZE DOMAIN (1 TO 4) PRIVACY (0.1 TO 0.6) MAX_SIZE 2 COMPRESS ITEMSETS 2 NULLS KEEP,
    ssn DROP
"""

TOML = """
table = "everything"
identity = ["id"]
[columns]
age = { mechanism = "uniform", retain = 0.3, domain = { min = 17, max = 90 }, nulls = "value", outside = "clamp" }
pay = { mechanism = "uniform", epsilon = 5, domain = { min = -1.25, max = 99.75, step = 0.5 } }
born = { mechanism = "uniform", gamma = 20, domain = { min = 1950-01-01, max = 1950-12-31, step = "7 days" } }
town = { mechanism = "identity", retain = 0.7 }
street = { mechanism = "swap", retain = 0.6, nulls = "keep" }
wage = { mechanism = "gaussian", noise = 0.5, deviation = 12000, step = 10 }
tall = { mechanism = "gaussian", noise = 0.25, covariance = { tall = 81, heavy = 40 }, step = 0.1 }
heavy = { mechanism = "gaussian", noise = 0.5, covariance = { heavy = 100 }, step = 0.5, nulls = "keep" }
mine = { mechanism = "gaussian", noise = 1, covariance = "data", step = 1 }
ssn = { mechanism = "drop" }
[columns.seen]
mechanism = "uniform"
retain = 0.5
domain = { min = 2024-01-01T00:00:00, max = 2024-03-01T00:00:00, step = "12 hours" }
[columns.level]
mechanism = "custom"
retain = 0.4
domain = { min = 1, max = 3 }
replace = { values = [3, 1, 2], weights = [1, 2, 4] }
[columns.job]
mechanism = "small_domain"
domain = { min = 1, max = 8 }
privacy = { rho1 = 0.4, rho2 = 0.8 }
part = "job's part"
[columns."my basket"]
mechanism = "select_a_size"
domain = { values = ["bread", "it's", "milk", "tea"] }
gamma = 30
max_size = 3
rho = 0.25
[columns.huge]
mechanism = "uniform"
retain = 0.5
domain = { min = 123456789012345678901234567890.25, max = 123456789012345678901234567891.00, step = 0.25 }
[columns.grade]
mechanism = "custom"
retain = 0.4
nulls = "value"
replace = { values = ["low", "it's"], weights = [3, 1.5], null = 0.25 }
[columns.bag]
mechanism = "select_a_size"
domain = { min = 1, max = 4 }
privacy = { rho1 = 0.1, rho2 = 0.6 }
max_size = 2
compress = true
itemsets = 2
nulls = "keep"
"""


def everything() -> pa.Table:
    """A row for each mechanism's fancy."""
    rng = np.random.default_rng(3)
    i = np.arange(ROWS)
    known = rng.random(ROWS) < 0.9
    huge = ["123456789012345678901234567890." + part for part in ("25", "50", "75")]
    tall = rng.normal(170, 9, ROWS).round(1)
    return pa.table(
        {
            "id": i,
            "age": pa.array(rng.integers(15, 95, ROWS), mask=~known),
            "pay": rng.integers(0, 203, ROWS) / 2 - 1.25,
            "seen": np.datetime64("2024-01-01T00", "s") + (rng.integers(0, 121, ROWS) * 12).astype("timedelta64[h]"),
            "born": pa.array((np.datetime64("1950-01-01") + 7 * rng.integers(0, 53, ROWS)).astype("datetime64[D]")),
            "huge": pa.array([huge[n] for n in rng.integers(0, 3, ROWS)]).cast(pa.decimal128(38, 2)),
            "grade": pa.array([["low", "it's"][n] for n in rng.integers(0, 2, ROWS)], mask=~known),
            "level": rng.integers(1, 4, ROWS),
            "town": [f"town {n}" for n in rng.integers(0, 9, ROWS)],
            "street": pa.array([f"street {n}" for n in rng.integers(0, 9, ROWS)], mask=~known),
            "wage": rng.normal(40_000, 12_000, ROWS).round(),
            "tall": tall,
            "heavy": pa.array((tall / 2 + rng.normal(0, 8, ROWS)).round(1), mask=~known),
            "mine": rng.integers(0, 1_000, ROWS),
            "job": rng.integers(1, 9, ROWS),
            "my basket": [[ITEMS[n] for n in rng.permutation(4)[: rng.integers(0, 4)]] for _ in i],
            "bag": pa.array([sorted(rng.permutation(4)[:2] + 1) if k else None for k in known], pa.list_(pa.int64())),
            "ssn": [f"secret {n}" for n in i],
        }
    )


@pytest.fixture
def con(tmp_path):
    with ppdm_sql.connect() as con:
        con.register("given", everything())
        con.execute("CREATE TABLE original AS FROM given")
        con.execute(f"SET ppdm_key = '{tmp_path / 'a.key'}'")
        yield con


def rows_of(con, name):
    return con.execute(f"SELECT * FROM {name} ORDER BY id").fetchall()


def test_a_policy_in_sql_is_the_policy_in_toml():
    statement = f"CREATE PERTURBED TABLE everything AS FROM original PERTURB ({CLAUSE}) IDENTIFIED BY (id)"
    found, expected = publishing_statement(statement).policy, load_policy(TOML)
    assert {column.name: column for column in found.columns} == {column.name: column for column in expected.columns}
    assert {column.mechanism for column in expected.columns} == {*MECHANISMS, "drop"}


def test_what_is_described_publishes_the_same_again(con, tmp_path):
    """Also what was read off the originals, for the columns that it was read off of go together again."""
    con.execute(f"CREATE PERTURBED TABLE everything AS FROM original PERTURB ({CLAUSE}) IDENTIFIED BY (id)")
    first, described = rows_of(con, "everything"), con.sql("DESCRIBE PERTURBED everything").fetchall()
    clauses = [row[-1] for row in described if row[-1] is not None]
    assert {clause.split('" ')[-1].split()[clause[0] != '"'].lower() for clause in clauses} == {*MECHANISMS}
    assert [row[0] for row in described if row[-1] is None] == ["id", "job's part", "my basket_size", "bag_size"]
    again = f"CREATE OR REPLACE PERTURBED TABLE everything AS FROM original PERTURB ({', '.join(clauses)}, ssn DROP)"
    con.execute(f"{again} IDENTIFIED BY (id)")
    assert rows_of(con, "everything") == first
    assert con.sql("DESCRIBE PERTURBED everything").fetchall() == described


def test_what_a_clause_says_of_each_mechanism(con):
    con.execute(f"CREATE PERTURBED TABLE everything AS FROM original PERTURB ({CLAUSE}) IDENTIFIED BY (id)")
    said = {row[0]: row[-1] for row in con.sql("DESCRIBE PERTURBED everything").fetchall()}
    assert said["age"] == "age UNIFORM RETAIN 0.3 DOMAIN (17 TO 90) NULLS VALUE OUTSIDE CLAMP"
    assert said["huge"].endswith(
        "DOMAIN (123456789012345678901234567890.25 TO 123456789012345678901234567891.00) STEP 0.25"
    )
    assert said["seen"] == (
        "seen UNIFORM RETAIN 0.5 DOMAIN (TIMESTAMP '2024-01-01 00:00:00' TO TIMESTAMP '2024-03-01 00:00:00') "
        "STEP '12 hours'"
    )
    assert said["grade"] == (
        "grade CUSTOM RETAIN 0.4 DOMAIN ('low', 'it''s') NULLS VALUE REPLACE ('low' 3, 'it''s' 1.5, NULL 0.25)"
    )
    assert said["town"] == "town IDENTITY RETAIN 0.7"
    assert said["wage"] == "wage GAUSSIAN NOISE 0.5 DEVIATION 12000 STEP 10"
    assert said["tall"] == "tall GAUSSIAN NOISE 0.25 COVARIANCE (tall 81, heavy 40) STEP 0.1"
    assert said["mine"] == "mine GAUSSIAN NOISE 1 COVARIANCE DATA STEP 1"
    assert said["job"] == 'job SMALL_DOMAIN PRIVACY (0.4 TO 0.8) DOMAIN (1 TO 8) PART "job\'s part"'
    assert said["my basket"] == (
        "\"my basket\" SELECT_A_SIZE GAMMA 30 DOMAIN ('bread', 'it''s', 'milk', 'tea') MAX_SIZE 3 RHO 0.25"
    )


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("x GAUSSIAN", PolicyError, "line 1, column 47: column 'x' says nothing of how much noise"),
        (
            "x GAUSSIAN NOISE 0.5 KEEP",
            QueryError,
            "expected one of STEP, NOISE, .* or a closing parenthesis, found KEEP",
        ),
        ("x GAUSSIAN NOISE 0.5 RETAIN 0.5", PolicyError, 'retain has no meaning for mechanism = "gaussian"'),
        ("x GAUSSIAN NOISE 0.5 COVARIANCE wide", QueryError, "expected INDEPENDENT, DATA or .*, found wide"),
        ("x GAUSSIAN NOISE 0.5 COVARIANCE (x)", QueryError, r"expected a covariance, as in .*, found \)"),
        ("x GAUSSIAN NOISE 0.5 COVARIANCE (x 1, x 2)", QueryError, "COVARIANCE has 'x' twice"),
        ("x GAUSSIAN NOISE 0.5 COVARIANCE (y 1)", PolicyError, "must hold the column's own variance"),
        ("x GAUSSIAN NOISE 0.5 STEP 1 STEP 2", QueryError, "STEP stands twice for column 'x'"),
        ("x UNIFORM RETAIN 0.5 DOMAIN (1 TO 2) NOISE 1", PolicyError, "noise has no meaning for"),
        ("x SMALL_DOMAIN DOMAIN (1 TO 2)", PolicyError, "small_domain needs privacy"),
        ("x SMALL_DOMAIN DOMAIN (1 TO 2) PRIVACY (0.1 TO 0.5) PART 'p'", QueryError, "name of the column that says"),
        ("x SWAP RETAIN 0.5 DOMAIN (1 TO 2)", PolicyError, "domain has no meaning"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, error, said):
    with pytest.raises(error, match=said):
        publishing_statement(f"CREATE PERTURBED TABLE t AS SELECT 1 PERTURB ({text})")
