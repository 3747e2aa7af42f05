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
    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "sex": pa.array(np.array(["F", "M"])[sex]),
            "age": pa.array(age, pa.int16()),
            "job": pa.array([JOBS[i] for i in job]),
            "pay": pa.array(pay, pa.float64()),
        }
    )


@dataclass(frozen=True)
class Case:
    """A mechanism for age and job; pay stays exact."""

    name: str
    columns: Callable[[float], dict[str, Any]]
    law: Callable[[float, np.ndarray], np.ndarray] | None
    refused: tuple[str, ...] = field(default=("SELECT max(age) FROM staff", "SELECT count(DISTINCT job) FROM staff"))

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
CASES = [UNIFORM, CUSTOM, IDENTITY, SWAP]
