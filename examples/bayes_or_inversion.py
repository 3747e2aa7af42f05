"""When to use which method: the same small count, published and estimated 25 times under fresh keys.

Inversion is right on average, so that sums and averages of many answers stay right, but a single small count may come
out below zero. Iterative Bayes never goes below zero and lies nearer to the truth in each single answer, but pulls
counts near zero away from it on average.
"""

import secrets
import statistics
import tempfile
from pathlib import Path

import pyarrow as pa

from ppdm_sql.connection.connect import connect
from ppdm_sql.publishing import publish

ROWS, SICK, TIMES = 2_000, 10, 25
PATIENTS = pa.table({"id": range(ROWS), "sick": [i < SICK for i in range(ROWS)]})
POLICY = {
    "table": "patients",
    "identity": ["id"],
    "columns": {"sick": {"mechanism": "uniform", "domain": {"values": [False, True]}, "retain": 0.4}},
}


def main() -> None:
    found: dict[str, list[float]] = {"inversion": [], "bayes": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TIMES):
            release = Path(folder, "patients.duckdb")
            publish(PATIENTS, POLICY, to=release, key=secrets.token_bytes(32), replace=True)
            with connect(release, read_only=True) as con:
                for method, estimates in found.items():
                    con.execute(f"SET ppdm_method = '{method}'")
                    [(estimate,)] = con.execute("SELECT count(*) FROM patients WHERE sick").fetchall()
                    estimates.append(estimate)
    print(f"{SICK} of {ROWS} patients are sick; {TIMES} releases:")
    for method, estimates in found.items():
        miss = statistics.fmean((estimate - SICK) ** 2 for estimate in estimates) ** 0.5
        below = sum(estimate < 0 for estimate in estimates)
        print(
            f"{method:9}  mean {statistics.fmean(estimates):6.1f}   typical miss {miss:5.1f}   below zero {below} times"
        )


if __name__ == "__main__":
    main()
