"""Publish a table and ask the release, from Python: the truth and the estimate side by side."""

import tempfile
from pathlib import Path

import duckdb

import ppdm_sql
from ppdm_sql.errors import Unsupported

PEOPLE = """
    SELECT i AS id, if(hash(i) % 2 = 0, 'F', 'M') AS sex,
           (17 + 73 * pow(random(), 1.5))::SMALLINT AS age, (random() + random() < 1.2) AS married
    FROM range(100000) AS r(i)
"""

POLICY = {
    "table": "people",
    "identity": ["id"],
    "columns": {
        "age": {"mechanism": "uniform", "domain": {"min": 17, "max": 90}, "retain": 0.3},
        "married": {"mechanism": "uniform", "domain": {"values": [False, True]}, "epsilon": 1.0},
    },
}

QUESTION = "SELECT sex, count(*) AS n FROM people WHERE age BETWEEN 25 AND 45 AND married GROUP BY sex ORDER BY sex"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as original:
        release = Path(folder, "people.duckdb")
        original.execute(f"CREATE TABLE people AS {PEOPLE}")
        ppdm_sql.publish((original, "FROM people ORDER BY id"), POLICY, to=release, key=Path(folder, "people.key"))

        with ppdm_sql.connect(release, read_only=True) as con:
            con.execute("SET ppdm_errors = 'columns'")  # n_low and n_high after n
            truths = original.execute(QUESTION).fetchall()
            answers = con.execute(QUESTION).fetchall()
            for (sex, truth), (_, n, low, high) in zip(truths, answers, strict=True):
                print(f"{sex}: truth {truth}, estimate {n:.0f}, 95 % interval {low:.0f} to {high:.0f}")

            try:
                con.execute("SELECT max(age) FROM people")
            except Unsupported as refusal:
                print(refusal)


if __name__ == "__main__":
    main()
