"""The mechanisms under test: a small table, and for each mechanism what its policy says of the table's columns.

To add a mechanism, add a case. `columns` gives the policy of a retention p; `law` the chances that a value of `age` is
published as each of `AGES`, given the shares of the ages in the original, or None where the law is tested elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

AGES = list(range(20, 28))
JOBS = ["clerk", "cook", "driver", "nurse"]
AGE_WEIGHTS = [1, 2, 3, 4, 4, 3, 2, 1.5]
JOB_WEIGHTS = [5, 1, 2, 2]
SKILLS = ["first aid", "French", "law", "maths", "welding"]
QUERIES = (
    "SELECT count(*) FROM staff WHERE age >= 24",
    "SELECT count(*) FROM staff WHERE job IN ('cook', 'nurse')",
    "SELECT sum(age) FROM staff",
    "SELECT count(*) FROM staff WHERE age BETWEEN 22 AND 24 AND sex = 'F'",
    "SELECT count(*) FROM staff WHERE age > 23 AND job = 'driver'",
    "SELECT count(*) FROM staff WHERE job LIKE 'c%' OR age = 21",
    "SELECT sum(pay) FROM staff WHERE job = 'cook'",
    "SELECT avg(age) FROM staff WHERE sex = 'M'",
    "SELECT sum(age * pay) FROM staff WHERE job <> 'nurse'",
    "SELECT avg(pay) FROM staff WHERE age < 23 AND NOT job = 'cook'",
)
"""What is asked of mechanisms that perturb age and job value by value."""


def secret(number: int) -> bytes:
    """A key that depends on its number only."""
    return hashlib.sha256(f"mechanism {number}".encode()).digest()


def staff(rows: int, seed: int = 5) -> pa.Table:
    """People whose job and pay depend on their age and sex."""
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, rows)
    age = np.clip(np.rint(rng.normal(22.8 + 0.6 * sex, 1.6, rows)), AGES[0], AGES[-1]).astype(int)
    job = (age + rng.integers(0, 3, rows) * (1 + sex)) % len(JOBS)
    pay = np.round(10 + 2.5 * (age - 20) + rng.gamma(2.0, 3.0, rows))
    skilled = rng.random((rows, len(SKILLS))) < np.where(sex[:, None] > 0, 0.5, 0.3)
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "sex": pa.array(np.array(["F", "M"])[sex]),
            "age": pa.array(age, pa.int16()),
            "job": pa.array([JOBS[i] for i in job]),
            "pay": pa.array(pay, pa.float64()),
            "skills": pa.array([[SKILLS[i] for i in np.flatnonzero(row)] for row in skilled], pa.list_(pa.string())),
        }
    )


@dataclass(frozen=True)
class Case:
    """A mechanism for some columns, `column` among them, and what is asked of it.

    `groups` is asked for rows by group; `kept` says whether a retention of 1 leaves everything as it is.
    """

    name: str
    columns: Callable[[float], dict[str, Any]]
    law: Callable[[float, np.ndarray], np.ndarray] | None
    refused: tuple[str, ...] = field(default=("SELECT max(age) FROM staff", "SELECT count(DISTINCT job) FROM staff"))
    queries: tuple[str, ...] = QUERIES
    groups: str = "SELECT job, count(*) FROM staff WHERE sex = 'F' GROUP BY job ORDER BY job"
    column: str = "age"
    kept: bool = True

    def policy(self, retain: float) -> dict[str, Any]:
        """The whole policy."""
        return {"table": "staff", "identity": ["id"], "columns": self.columns(retain)}


def replacing(share: np.ndarray, retain: float) -> np.ndarray:
    """Kept, or drawn by shares."""
    return retain * np.eye(len(share)) + (1 - retain) * share


UNIFORM = Case(
    "uniform",
    lambda retain: {
        "age": {"mechanism": "uniform", "domain": {"min": AGES[0], "max": AGES[-1]}, "retain": retain},
        "job": {"mechanism": "uniform", "domain": {"values": JOBS}, "retain": retain},
    },
    lambda retain, shares: replacing(np.full(len(AGES), 1 / len(AGES)), retain),
)
CUSTOM = Case(
    "custom",
    lambda retain: {
        "age": {
            "mechanism": "custom",
            "domain": {"min": AGES[0], "max": AGES[-1]},
            "retain": retain,
            "replace": {"values": AGES, "weights": AGE_WEIGHTS},
        },
        "job": {"mechanism": "custom", "retain": retain, "replace": {"values": JOBS, "weights": JOB_WEIGHTS}},
    },
    lambda retain, shares: replacing(np.array(AGE_WEIGHTS) / sum(AGE_WEIGHTS), retain),
)
IDENTITY = Case(
    "identity",
    lambda retain: {name: {"mechanism": "identity", "retain": retain} for name in ("age", "job")},
    lambda retain, shares: replacing(shares, retain),
)
SWAP = Case(
    "swap",
    lambda retain: {name: {"mechanism": "swap", "retain": retain} for name in ("age", "job")},
    lambda retain, shares: replacing(shares, retain),
)
SMALL_DOMAIN = Case(
    "small_domain",
    lambda retain: {
        name: {"mechanism": "small_domain", "domain": domain, "privacy": {"rho1": 0.4, "rho2": 0.8}}
        for name, domain in (("age", {"min": AGES[0], "max": AGES[-1]}), ("job", {"values": JOBS}))
    },
    None,
    kept=False,
)
GAUSSIAN = Case(
    "gaussian",
    lambda retain: {
        "age": {"mechanism": "gaussian", "noise": 1 - retain + 0.1, "deviation": 2, "step": 0.01},
        "pay": {"mechanism": "gaussian", "noise": 1 - retain + 0.1, "deviation": 6, "step": 0.01},
    },
    None,
    refused=("SELECT max(age) FROM staff", "SELECT count(DISTINCT pay) FROM staff", "SELECT median(age) FROM staff"),
    queries=(
        "SELECT sum(age) FROM staff",
        "SELECT avg(age) FROM staff WHERE sex = 'M'",
        "SELECT var_pop(age) FROM staff",
        "SELECT stddev(pay) FROM staff WHERE job <> 'nurse'",
        "SELECT covar_pop(age, pay) FROM staff",
        "SELECT corr(age, pay) FROM staff",
        "SELECT sum(age * pay) FROM staff WHERE job = 'cook'",
    ),
    groups="SELECT job, avg(pay) FROM staff WHERE sex = 'F' GROUP BY job ORDER BY job",
    kept=False,
)
BASKETS = Case(
    "select_a_size",
    lambda retain: {
        "skills": {"mechanism": "select_a_size", "domain": {"values": SKILLS}, "gamma": 30.0, "max_size": 5}
    },
    None,
    refused=(
        "SELECT count(*) FROM staff WHERE len(skills) > 2",
        "SELECT count(*) FROM staff WHERE skills = ['law']",
        "SELECT max(skills) FROM staff",
    ),
    queries=(
        "SELECT count(*) FROM staff WHERE list_contains(skills, 'law')",
        "SELECT count(*) FROM staff WHERE list_has_all(skills, ['law', 'French'])",
        "SELECT count(*) FROM staff WHERE 'maths' = ANY(skills) AND sex = 'F'",
        "SELECT sum(pay) FROM staff WHERE list_contains(skills, 'welding')",
        "SELECT count(*) FROM staff WHERE list_contains(skills, 'law') AND NOT list_contains(skills, 'maths')",
    ),
    groups="SELECT sex, count(*) FROM staff WHERE list_contains(skills, 'first aid') GROUP BY sex ORDER BY sex",
    column="skills",
    kept=False,
)
CASES = [UNIFORM, CUSTOM, IDENTITY, SWAP, SMALL_DOMAIN, GAUSSIAN, BASKETS]
