"""Generated people for the tests: every type that can be perturbed, dependent columns, NULLs, awkward names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

GRADES = ["low", "middle", "high"]
POLICY = """
table = "people"
identity = ["id"]

[columns.age]
mechanism = "uniform"
domain = {{ min = 17, max = 90 }}
retain = {p}

[columns.hours]
mechanism = "uniform"
domain = {{ min = 1, max = 99 }}
retain = {p}

[columns.education]
mechanism = "uniform"
domain = {{ min = 1, max = 16 }}
retain = {p}
nulls = "keep"

[columns.wage]
mechanism = "uniform"
domain = {{ min = 0, max = 2000, step = 0.01 }}
retain = {p}

[columns.salary]
mechanism = "uniform"
domain = {{ min = 0, max = 99999.99 }}
retain = {p}

[columns.birth]
mechanism = "uniform"
domain = {{ min = 1930-01-01, max = 2009-12-31 }}
retain = {p}

[columns.seen]
mechanism = "uniform"
domain = {{ min = 2020-01-01T00:00:00, max = 2023-12-31T23:00:00, step = "1 hour" }}
retain = {p}

[columns.married]
mechanism = "uniform"
domain = {{ values = [true, false] }}
retain = {p}

[columns.occupation]
mechanism = "uniform"
domain = {{ values = ["Sales", "Tech-support", "Farming", "O'Brien's", "Zoë"] }}
retain = {p}
nulls = "value"

[columns.grade]
mechanism = "uniform"
domain = {{ values = ["low", "middle", "high"] }}
retain = {p}

[columns."Order"]
mechanism = "uniform"
domain = {{ min = -5, max = 5 }}
retain = {p}
"""


def policy(retain: float) -> str:
    """The policy with one retention for every column."""
    return POLICY.format(p=retain)


def people(rows: int, seed: int = 7) -> pa.Table:
    """A table of people; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(41, 14, rows), 17, 90).astype(np.int16)
    skill = rng.normal(0, 1, rows)
    education = np.clip(9 + 2.5 * skill + rng.normal(0, 2, rows), 1, 16).astype(np.int8)
    hours = np.clip(rng.normal(40, 9, rows) - (age > 64) * 18, 1, 99).astype(np.int32)
    wage = np.clip(np.round(np.exp(5 + 0.3 * skill + rng.normal(0, 0.5, rows)), 2), 0, 2000)
    salary = np.clip(wage * hours * 8 + rng.integers(0, 100, rows) / 100, 0, 99999.99)
    birth = (np.datetime64("2010-01-01") - (age.astype(int) * 365 - 16 * 365 + rng.integers(1, 365, rows))).astype(
        "datetime64[D]"
    )
    seen = np.datetime64("2020-01-01T00") + rng.integers(0, 1461 * 24, rows).astype("timedelta64[h]")
    occupations = np.array(["Sales", "Tech-support", "Farming", "O'Brien's", "Zoë"])
    occupation = occupations[rng.choice(5, rows, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    regions = np.array(["north", "south", "east", "west"])
    birth = np.clip(birth, np.datetime64("1930-01-01"), np.datetime64("2009-12-31"))
    return pa.table(
        {
            "id": pa.array(np.arange(rows) * 3 + 11, pa.int64()),
            "age": pa.array(age),
            "hours": pa.array(hours),
            "education": pa.array(education, mask=rng.random(rows) < 0.1),
            "wage": pa.array(wage),
            "salary": _cents(salary),
            "birth": pa.array(birth),
            "seen": pa.array(seen.astype("datetime64[us]")),
            "married": pa.array(rng.random(rows) < np.clip((age - 20) / 50, 0.02, 0.8)),
            "occupation": pa.array(occupation, mask=rng.random(rows) < 0.06),
            "grade": pa.DictionaryArray.from_arrays(np.digitize(skill, [-0.7, 0.9]).astype(np.int8), GRADES),
            "Order": pa.array(rng.binomial(10, 0.45, rows).astype(np.int64) - 5),
            "sex": pa.array(np.where(rng.random(rows) < 0.48, "F", "M")),
            "region": pa.array(regions[rng.integers(0, 4, rows)], mask=rng.random(rows) < 0.03),
            "weight": pa.array(np.round(rng.gamma(4, 25, rows), 1)),
        }
    )


def _cents(salary: np.ndarray) -> pa.Array:
    """Amounts as DECIMAL(10, 2); an Arrow decimal is its number of cents in 16 bytes."""
    units = np.zeros((len(salary), 2), dtype=np.int64)
    units[:, 0] = np.round(salary * 100).astype(np.int64)
    return pa.Array.from_buffers(pa.decimal128(10, 2), len(salary), [None, pa.py_buffer(units.tobytes())])
