"""Baskets: items taken out and others put in, and yet the shop's supports come back; as lists and as short seeds."""

import random
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa

import ppdm_sql

POLICY = """
table = "baskets"
identity = ["receipt"]

[columns.items]
mechanism = "select_a_size"
domain = {{ min = 0, max = 199 }}
privacy = {{ rho1 = 0.05, rho2 = 0.5 }}     # what was 5 % likely never gets 50 % likely
max_size = 5
rho = 0.5
compress = {compress}
"""
QUERIES = {
    "bread": "SELECT count(*) FROM baskets WHERE list_contains(items, 0)",
    "bread and butter": "SELECT count(*) FROM baskets WHERE list_has_all(items, [0, 1])",
    "bread, no butter": "SELECT count(*) FROM baskets WHERE 0 = ANY(items) AND NOT 1 = ANY(items)",
}


def shop(receipts: int) -> pa.Table:
    """Everybody buys some of 200 things; 0 is bread, 1 is butter."""
    draw = random.Random(7)
    baskets = []
    for _ in range(receipts):
        basket = {min(int(draw.expovariate(0.03)), 199) for _ in range(draw.randint(1, 3))}
        if draw.random() < 0.3:
            basket |= {0, 1} if draw.random() < 0.6 else {0}
        baskets.append(sorted(basket))
    return pa.table({"receipt": range(receipts), "items": pa.array(baskets, pa.list_(pa.int32()))})


def main() -> None:
    original = shop(30_000)
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        con.register("baskets", original)
        truth = {name: con.sql(query).fetchall()[0][0] for name, query in QUERIES.items()}
        for kind in ("lists", "seeds"):
            path = Path(folder) / f"{kind}.parquet"
            policy = POLICY.format(compress=str(kind == "seeds").lower())
            # Two keys, for the sake of comparison: two copies of one table tell more than either, so release one.
            ppdm_sql.publish(original, policy, to=path, key=Path(folder) / f"{kind}.key")
            print(f"as {kind}: {path.stat().st_size / 1e6:.1f} MB")
            with ppdm_sql.connect(path) as release:
                release.execute("SET ppdm_errors = 'columns'")
                for name, query in QUERIES.items():
                    estimate, low, high = release.execute(query).fetchone()
                    print(f"  {name}: truth {truth[name]:,}, estimate {estimate:,.0f} ({low:,.0f} to {high:,.0f})")
                top = "SELECT unnest(items) AS item, count(*) AS n FROM baskets GROUP BY item ORDER BY n DESC LIMIT 3"
                print("  most bought:", ", ".join(str(row[0]) for row in release.execute(top).fetchall()))


if __name__ == "__main__":
    main()
