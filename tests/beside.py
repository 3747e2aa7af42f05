"""What stands beside the people in tests of joins and unions: exact tables, and releases of their own."""

from __future__ import annotations

RELEASES = ("jobs", "north", "south")
"""`jobs` has other columns of most people; `north` and `south` have other people, each under its own policy."""


def exact_tables(people: str, kind: str = "") -> str:
    """Statements that make the exact tables: regions (one row a key), visits (up to three), elsewhere (a partition)."""
    return f"""
CREATE {kind} TABLE regions AS SELECT * FROM (VALUES
    ('north', 'cold', 1.5, 'N''1'), ('south', 'warm', 2.0, 'S'), ('east', 'cold', 0.5, 'E'), (NULL, 'warm', 9, 'X')
) AS t(region, zone, factor, "Head Of");
CREATE {kind} TABLE zones AS SELECT * FROM (VALUES ('cold', 1), ('warm', 2)) AS t(zone, "Order");
CREATE {kind} TABLE visits AS
    SELECT id, DATE '2024-01-01' + ((id * 7 + n * 31) % 300)::INTEGER AS day, (id % 13 + n * 2.5)::DOUBLE AS cost
    FROM {people}, range(3) AS r(n) WHERE n < id % 4
    UNION ALL SELECT -range, DATE '2024-06-01', 1.0 FROM range(50);
CREATE {kind} TABLE elsewhere AS
    SELECT (id * 2)::INTEGER AS id, (17 + id * 7 % 74)::INTEGER AS age,
        CASE WHEN id % 3 = 0 THEN 'F' ELSE 'M' END AS sex, (20 + id % 50)::INTEGER AS hours FROM range(1500) AS t(id);
"""


def partition(name: str) -> str:
    """The query for the original of one of the further releases."""
    if name == "jobs":
        return (
            "SELECT 't' || id % 5 AS team, (1 + (id // 3 * 7 + age // 9) % 10)::INTEGER AS skill, id, "
            "(id % 7 < 3 OR married) AS remote FROM people WHERE id % 5 <> 0"
        )
    if name == "north":
        return "SELECT id, age::INTEGER AS age, sex, hours FROM people WHERE id % 3 = 2 AND id % 2 = 0"
    return "SELECT sex AS gender, (age + 3)::INTEGER AS years, id + 7 AS id, hours FROM people WHERE id % 4 = 1"


def partition_policy(name: str, retain: float) -> str:
    """Its policy: every release has a table of its own, and with it coins of its own."""
    columns = {
        "jobs": [("skill", "min = 1, max = 10", retain), ("remote", "values = [true, false]", retain)],
        "north": [("age", "min = 17, max = 90", retain), ("hours", "min = 1, max = 99", retain)],
        "south": [("years", "min = 0, max = 119", (1 + retain) / 2), ("hours", "min = 1, max = 99", retain)],
    }
    parts = [
        f'[columns.{column}]\nmechanism = "uniform"\ndomain = {{ {domain} }}\nretain = {p}\n'
        for column, domain, p in columns[name]
    ]
    return f'table = "{name}"\nidentity = ["id"]\n\n' + "\n".join(parts)
