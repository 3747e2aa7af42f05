"""A release as a Parquet file: its parameters travel in the file, and any reader sees the perturbed rows."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import ppdm_sql

VISITS = pa.table(
    {
        "visit": range(50_000),
        "clinic": [f"clinic {i % 3}" for i in range(50_000)],
        "weight": [50 + (i * 7919 % 700) / 10 for i in range(50_000)],
    }
)

POLICY = """
table = "visits"
identity = ["visit"]

[columns.weight]
mechanism = "uniform"
domain = { min = 30, max = 150, step = 0.1 }
retain = 0.4
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder, "visits.parquet")
        ppdm_sql.publish(VISITS, POLICY, to=release, key=Path(folder, "visits.key"))

        print("first rows, as every Parquet reader sees them:")
        print(pq.read_table(release).slice(0, 3).to_pylist())

        with ppdm_sql.connect(release) as con:  # the table has the policy's name
            question = "SELECT clinic, count(*) FROM visits WHERE weight >= 100 GROUP BY clinic ORDER BY clinic"
            print("visits of 100 kg and more, estimated:")
            for clinic, estimate in con.execute(question).fetchall():
                print(f"{clinic}: {estimate:.0f}")


if __name__ == "__main__":
    main()
