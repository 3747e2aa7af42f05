"""Random COUNT queries on the people: any Boolean combination of predicates on perturbed and exact columns."""

from __future__ import annotations

import numpy as np

OCCUPATIONS = ["Sales", "Tech-support", "Farming", "O''Brien''s", "Zoë"]
EXACT = ["sex = 'F'", "region = 'north'", "region <> 'south'", "weight > 90", "id % 3 = 1", "region IS NULL"]


def predicate(rng: np.random.Generator) -> str:
    """One predicate on one perturbed column."""
    year, day = int(rng.integers(1940, 1995)), int(rng.integers(1, 28))
    choices = [
        f"age BETWEEN {rng.integers(18, 40)} AND {rng.integers(40, 80)}",
        f"age {rng.choice(['<', '>=', '<>'])} {rng.integers(25, 60)}",
        f"age % {rng.integers(2, 5)} = 0",
        f"{rng.integers(30, 50)} {rng.choice(['<', '>='])} hours",
        f"hours IN ({', '.join(map(str, rng.integers(25, 55, 9)))})",
        f"education {rng.choice(['<=', '>'])} {rng.integers(4, 13)}",
        "education IS NULL",
        f"coalesce(education, 16) > {rng.integers(6, 12)}",
        f"wage {rng.choice(['<', '>'])} {rng.integers(8000, 30000) / 100}",
        f"salary BETWEEN {rng.integers(0, 40000)}.5 AND {rng.integers(50000, 90000)}.25",
        f"extract(year FROM birth) {rng.choice(['<', '>='])} {year}",
        f"birth >= DATE '{year}-03-{day:02d}'",
        f"seen < TIMESTAMP '{rng.integers(2021, 2023)}-0{rng.integers(1, 9)}-{day:02d} 11:30:00'",
        f"extract(hour FROM seen) < {rng.integers(6, 20)}",
        "married",
        "NOT married",
        f"occupation = '{rng.choice(OCCUPATIONS[:3])}'",
        f"occupation IN ('{OCCUPATIONS[3]}', '{rng.choice(OCCUPATIONS[:2])}')",
        f"occupation LIKE '%{rng.choice(['e', 'a', 'ch', 's'])}%'",
        "occupation IS NOT NULL",
        f"grade {rng.choice(['>', '<=', '='])} 'middle'",
        f'"Order" {rng.choice(["<", ">"])} {rng.integers(-2, 3)}',
        f'abs("Order") <= {rng.integers(1, 4)}',
    ]
    return str(rng.choice(np.array(choices, dtype=object)))


def condition(rng: np.random.Generator, depth: int) -> str:
    """A Boolean combination of predicates."""
    if depth == 0 or rng.random() < 0.35:
        return str(rng.choice(np.array(EXACT, dtype=object))) if rng.random() < 0.2 else predicate(rng)
    if rng.random() < 0.2:
        return f"NOT ({condition(rng, depth - 1)})"
    joined = f" {rng.choice(['AND', 'OR'])} ".join(condition(rng, depth - 1) for _ in range(2))
    return f"({joined})"


def random_count(rng: np.random.Generator, depth: int = 2) -> str:
    """A COUNT under a random condition that has at least one perturbed column."""
    return f"SELECT count(*) FROM people WHERE {predicate(rng)} AND {condition(rng, depth)}"


AGGREGATES = [
    "sum(hours)",
    "sum(age)",
    "avg(age)",
    "avg(wage)",
    "sum(weight)",
    "avg(weight)",
    "avg(education)",
    "sum(hours * weight)",
    "sum(wage * hours)",
    "sum(CASE WHEN age > 40 THEN hours ELSE weight END)",
    "avg(CASE WHEN married THEN 1.0 ELSE 0 END)",
    "stddev(hours)",
    "var_pop(age)",
    "covar_pop(age, hours)",
    "corr(age, hours)",
    "100.0 * count(*) FILTER (WHERE age > 40) / count(*)",
    "sum(salary) / count(*)",
    'avg(abs("Order"))',
    "count(education) + 2 * count_if(hours > 40)",
]


def random_aggregate(rng: np.random.Generator) -> str:
    """Any aggregate, or expression over aggregates, under a condition that many rows meet."""
    aggregate = str(rng.choice(np.array(AGGREGATES, dtype=object)))
    broad = str(
        rng.choice(
            np.array(["age > 25", "hours < 50", "sex = 'F'", "wage > 60", "education > 3", "TRUE"], dtype=object)
        )
    )
    return f"SELECT {aggregate} FROM people WHERE {broad}"
