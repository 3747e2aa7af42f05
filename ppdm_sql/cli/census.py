"""Made-up people for the demo: a census-like table whose columns depend on each other as they do among people.

Nothing here is secret: the seed is fixed, so that everybody sees the same people.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SEED = 1965
BLOCK = 10_000
EDUCATION = ("Primary", "Secondary", "Bachelor", "Master", "Doctorate")
OCCUPATIONS = ("Cleaner", "Clerk", "Driver", "Engineer", "Farmer", "Manager", "Nurse", "Sales", "Teacher", "Physician")
LEAST_EDUCATION = np.array([0, 1, 0, 2, 0, 1, 2, 0, 2, 3])
REGIONS = ("Centre", "East", "North", "South", "West")
LAST_DAY = np.datetime64("2024-12-31")
FIRST_DAY = np.datetime64("1950-01-01")
MOST_WAGE = 150_000.0

POLICY = f"""\
# Written by ppdm-sql demo: what is done to the table `people` before it is published.
table = "people"
identity = ["ssn"]                 # names a row for ever

[columns.ssn]
mechanism = "drop"                 # never released

[columns.age]
mechanism = "uniform"
domain = {{ min = 17, max = 90 }}
retain = 0.4                       # 4 of 10 ages are kept, the others drawn from the domain

[columns.hours]
mechanism = "uniform"
domain = {{ min = 0, max = 99 }}
retain = 0.5

[columns.education]
mechanism = "uniform"
domain = {{ values = {list(EDUCATION)} }}
privacy = {{ rho1 = 0.1, rho2 = 0.5 }}   # what was at most 10 % likely never gets likelier than 50 %

[columns.occupation]
mechanism = "uniform"
domain = {{ values = {sorted(OCCUPATIONS)} }}
gamma = 9.0
nulls = "value"                    # who has no occupation is perturbed too

[columns.wage]
mechanism = "uniform"
domain = {{ min = 0, max = 150000, step = 0.01 }}
retain = 0.5

[columns.married]
mechanism = "uniform"
domain = {{ values = [false, true] }}
epsilon = 1.1

[columns.moved]
mechanism = "uniform"
domain = {{ min = 1950-01-01, max = 2024-12-31 }}
retain = 0.4
nulls = "keep"                     # who never moved stays visible
"""

Numbers = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


def census(rows: int) -> pa.Table:
    """A table of `rows` people; a shorter one is the beginning of a longer one, as a key asks for."""
    blocks = [_block(number) for number in range(-(-rows // BLOCK))]
    return pa.concat_tables(blocks).slice(0, rows).combine_chunks()


def _block(number: int) -> pa.Table:
    rows = BLOCK
    rng = np.random.default_rng((SEED, number))
    id_ = np.arange(number * BLOCK, (number + 1) * BLOCK)
    age = 17 + np.floor(74 * rng.beta(1.3, 2.0, rows)).astype(np.int64)
    female = rng.random(rows) < 0.51
    education = _education(rng, age)
    works = rng.random(rows) < np.select([age < 22, age < 60, age < 68], [0.45, 0.86, 0.5], 0.06)
    hours = np.where(works, np.clip(np.rint(rng.normal(40 - 4 * female, 9)), 1, 99), 0).astype(np.int64)
    region = rng.choice(len(REGIONS), rows, p=[0.3, 0.15, 0.2, 0.25, 0.1])
    wage = _wage(rng, age, education, hours, region)
    married = rng.random(rows) < 0.75 / (1 + np.exp(-(age - 29) / 4.0))
    days = np.minimum(rng.exponential(2200, rows), (age - 1) * 365).astype(np.int64)
    moved = np.maximum(LAST_DAY - days, FIRST_DAY)
    return pa.table(
        {
            "id": id_ + 1,
            "ssn": _numbers(id_),
            "sex": pa.array(np.where(female, "F", "M")),
            "region": pa.array(np.take(REGIONS, region)),
            "age": pa.array(age, pa.int16()),
            "hours": pa.array(hours, pa.int16()),
            "education": pa.array(np.take(EDUCATION, education)),
            "occupation": pa.array(np.take(OCCUPATIONS, _occupation(rng, education)), mask=~works),
            "wage": wage,
            "married": pa.array(married),
            "moved": pa.array(moved.astype("datetime64[D]"), pa.date32(), mask=rng.random(rows) < 0.12),
        }
    )


def _education(rng: np.random.Generator, age: Whole) -> Whole:
    """The younger generations studied more, and a doctorate takes its years."""
    leaning = rng.normal((60 - age) / 60, 1.0)
    level = np.searchsorted([-0.7, 0.8, 1.5, 2.4], leaning)
    return np.minimum(level, np.searchsorted([18, 22, 24, 28], age, side="right"))


def _occupation(rng: np.random.Generator, education: Whole) -> Whole:
    """One that the education allows: a second and third try where it does not."""
    found = rng.integers(len(OCCUPATIONS), size=len(education))
    for _ in range(3):
        again = LEAST_EDUCATION[found] > education
        found = np.where(again, rng.integers(len(OCCUPATIONS), size=len(education)), found)
    return np.where(LEAST_EDUCATION[found] > education, 0, found)


def _wage(rng: np.random.Generator, age: Whole, education: Whole, hours: Whole, region: Whole) -> Numbers:
    """A year's income in cents: a wage that grows with education, years and hours, or a pension."""
    years = np.maximum(age - 18 - 2 * education, 0)
    mean = 9.85 + 0.22 * education + 0.035 * years - 0.0005 * years**2 + 0.012 * (hours - 40)
    mean = mean + np.array([0.08, -0.05, 0.0, -0.1, 0.04])[region]
    earned = np.exp(rng.normal(mean, 0.4))
    pension = np.where(age < 60, 4_000, 14_000) * rng.gamma(4, 0.25, len(age))
    wage = np.where(hours > 0, earned, pension)
    return np.asarray(np.clip(np.round(wage, 2), 0, MOST_WAGE))


def _numbers(index: Whole) -> pa.Array:
    """Distinct nine-digit numbers that begin with 9, as no real one does."""
    number = (index * 48_271_009 + 7) % 99_999_989  # a prime: no number comes twice
    digits = np.char.zfill(number.astype(np.str_), 8)
    return pa.array([f"9{text[:2]}-{text[2:4]}-{text[4:]}" for text in digits])
