"""A connection with an original of every type and a key, and the policy that all forms of publishing share."""

from __future__ import annotations

import pytest
from keys import write_key

import ppdm_sql

ROWS = 3_000

ORIGINAL = f"""
    CREATE TABLE adult AS
    SELECT i::BIGINT AS id, (17 + i * 31 % 74)::INTEGER AS age, (i * 37 % 201) / 4.0::DOUBLE AS wage,
        (i * 53 % 10000 / 100)::DECIMAL(10, 2) AS pay, '0' || (1 + i % 3) AS job,
        CASE WHEN i % 11 > 0 THEN i % 3 = 0 END AS married, DATE '1950-01-01' + (i * 11 % 365)::INT AS born,
        TIMESTAMP '2020-01-01' + to_hours((i * 13 % 721)::INT) AS seen,
        ['low', 'middle', 'high', 'never'][1 + i % 3]::ENUM('low', 'middle', 'high', 'never') AS grade,
        (i % 100)::HUGEINT AS huge, 'secret ' || i AS ssn, i % 7 AS kind
    FROM range({ROWS}) t(i) ORDER BY i
"""

CLAUSE = """
PERTURB (age UNIFORM RETAIN 0.5 DOMAIN (17 TO 90),
         wage UNIFORM PRIVACY (0.1 TO 0.5) DOMAIN (0 TO 50) STEP 0.25,
         pay UNIFORM EPSILON 2.2 DOMAIN (0.00 TO 99.99),
         job UNIFORM GAMMA 9 DOMAIN ('01', '02', '03', 'it''s'),
         married UNIFORM RETAIN 0.5 DOMAIN (TRUE, FALSE) NULLS VALUE,
         born UNIFORM RETAIN 0.5 DOMAIN (DATE '1950-01-01' TO DATE '1950-12-31'),
         seen UNIFORM RETAIN 0.5 DOMAIN (TIMESTAMP '2020-01-01 00:00:00' TO TIMESTAMP '2020-01-31') STEP '1 hour',
         grade UNIFORM RETAIN 0.5 DOMAIN ('low', 'middle', 'high'),
         huge UNIFORM RETAIN 0.5 DOMAIN (-5 TO 99),
         ssn DROP)
IDENTIFIED BY (id)
"""

TOML = """
table = "adult_public"
identity = ["id"]
[columns]
age = { mechanism = "uniform", domain = { min = 17, max = 90 }, retain = 0.5 }
wage = { mechanism = "uniform", domain = { min = 0, max = 50, step = 0.25 }, privacy = { rho1 = 0.1, rho2 = 0.5 } }
pay = { mechanism = "uniform", domain = { min = 0.00, max = 99.99 }, epsilon = 2.2 }
job = { mechanism = "uniform", domain = { values = ["01", "02", "03", "it's"] }, gamma = 9 }
married = { mechanism = "uniform", domain = { values = [true, false] }, retain = 0.5, nulls = "value" }
born = { mechanism = "uniform", domain = { min = 1950-01-01, max = 1950-12-31 }, retain = 0.5 }
grade = { mechanism = "uniform", domain = { values = ["low", "middle", "high"] }, retain = 0.5 }
huge = { mechanism = "uniform", domain = { min = -5, max = 99 }, retain = 0.5 }
ssn = { mechanism = "drop" }
[columns.seen]
mechanism = "uniform"
domain = { min = 2020-01-01T00:00:00, max = 2020-01-31T00:00:00, step = "1 hour" }
retain = 0.5
"""

AGE = "PERTURB (age UNIFORM RETAIN 0.5 DOMAIN (17 TO 90), ssn DROP)"
BY_ID = f"{AGE} IDENTIFIED BY (id)"


@pytest.fixture
def key(tmp_path):
    return write_key(tmp_path, 1)


@pytest.fixture
def bare():
    """A connection with the original and no key."""
    with ppdm_sql.connect() as con:
        con.execute(ORIGINAL)
        yield con


@pytest.fixture
def con(bare, key):
    bare.execute(f"SET ppdm_key = '{key}'")
    return bare


def names_in(con):
    """Tables and views that a database holds."""
    query = "SELECT table_name FROM duckdb_tables() UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal"
    return sorted(name for (name,) in con.execute(query).fetchall())


def releases_in(con):
    return [row[0] for row in con.sql("SHOW PERTURBED TABLES").fetchall()]
