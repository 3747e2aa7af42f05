"""Gaussian noise on two columns that go together, at two levels; averages, spreads, and a histogram.

Noise follows the covariance of the columns, so that one cannot be filtered by the other. Copies at several levels are
coupled: whoever has both knows no more than the better one tells.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from ppdm_sql.connection.connect import connect
from ppdm_sql.privacy import distortion, distortion_if_independent
from ppdm_sql.publishing import create_key, publish

ROWS = 20_000
RANDOM = np.random.default_rng(1)
AGE = RANDOM.integers(18, 70, ROWS)
WAGE = np.round(np.exp(RANDOM.normal(7.2, 0.4, ROWS) + 0.012 * AGE), 2)
STAFF = pa.table({"id": np.arange(ROWS), "sex": RANDOM.choice(["F", "M"], ROWS), "age": AGE, "wage": WAGE})

POLICY = """
table = "staff"
identity = ["id"]
[columns.age]
mechanism = "gaussian"
noise = { partner = 0.25, public = 1.0 }   # the noise's variance over the column's own
covariance = { age = 225, wage = 5000 }    # declared; "data" would read it off the originals, and publish it
[columns.wage]
mechanism = "gaussian"
noise = { partner = 0.25, public = 1.0 }
covariance = { wage = 1440000 }
step = 0.01
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder) / "staff.key"
        create_key(key)
        for level in ("public", "partner"):
            release = Path(folder) / f"{level}.parquet"
            publish(STAFF, POLICY, to=release, key=key, level=level)
            with connect(release) as con:
                con.execute("SET ppdm_errors = 'columns'")
                query = "SELECT avg(wage) AS a, stddev(wage) AS s, corr(age, wage) AS r FROM staff"
                mean, low, high, spread, _, _, together, _, _ = con.execute(query).fetchone()
                print(f"{level}: average wage {mean:.0f} ({low:.0f} to {high:.0f}), truth {WAGE.mean():.0f}")
                print(f"  standard deviation {spread:.0f}, truth {WAGE.std():.0f}; correlation with age {together:.2f}")
                query = "SELECT floor(wage / 2000) * 2000 AS wages, count(*) AS n FROM staff GROUP BY 1 ORDER BY 1"
                for start, count, least, most in con.execute(query).fetchall():
                    truth = int(((start <= WAGE) & (start + 2000 > WAGE)).sum())
                    if count >= 100:
                        print(f"  from {start:.0f}: {count:.0f} ({least:.0f} to {most:.0f}), truth {truth}")
    print(
        f"a guess is left with {distortion([0.25, 1.0]):.0%} of the variance, from both copies as from the better one"
    )
    print(f"(from two copies with noise of their own: {distortion_if_independent([0.25, 1.0]):.0%})")


if __name__ == "__main__":
    main()
