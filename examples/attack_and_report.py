"""A publisher attacks releases before anybody else does, audits the original, and writes the page for whoever decides.

Two releases under one key tell no more than the better one; a third under another key gives much away.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import ppdm_sql
from ppdm_sql.auditing import attack, audit
from ppdm_sql.report.writing import report

POLICY = """
table = "staff"
identity = ["number"]

[columns.salary]
mechanism = "uniform"
domain = { min = 0, max = 200000 }

[columns.grade]
mechanism = "uniform"
domain = { values = ["A", "B", "C", "D", "E"] }

[levels]
ministry = 0.6
public = 0.3
"""


def staff(rows: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(7)
    salary = np.round(rng.gamma(9, 5_000, rows))
    salary = np.where(rng.random(rows) < 0.7, np.round(salary, -3), salary)  # most are paid in round thousands
    return pa.table(
        {
            "number": np.arange(rows),
            "unit": pa.array(np.take(["north", "south", "west"], rng.integers(3, size=rows))),
            "salary": np.clip(salary, 0, 200_000).astype(int),
            "grade": pa.array(np.take(list("ABCDE"), np.clip(salary // 20_000, 0, 4).astype(int))),
        }
    )


def main() -> None:
    table = staff()
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder) / "one.key", Path(folder) / "other.key"
        releases = [Path(folder) / f"{name}.parquet" for name in ("ministry", "public", "mistake")]
        for path, level, key in zip(releases, ("ministry", "public", "public"), (one, one, other), strict=True):
            ppdm_sql.publish(table, POLICY, to=path, key=key, level=level)

        for chosen, words in (
            (releases[:1], "the ministry's"),
            (releases[:2], "and the public"),
            (releases, "and other"),
        ):
            for column in attack(chosen, table).columns:
                print(f"{words:15} {column.name:7} {column.together.share:.1%} guessed right")

        found = audit(table, POLICY, level="public")
        for heap in found.heaps:
            print(f"heaping: {heap.column}, {heap.words}: a published one is true with {heap.true:.1%}")
        for each in found.dependences:
            print(f"dependence: {each.column} is guessed right in {each.right:.0%} from {', '.join(each.by)}")

        policy = Path(folder) / "policy.toml"
        policy.write_text(POLICY, encoding="utf-8")
        page = report(policy, Path(folder) / "report.html", source=table, level="public")
        print(f"a page of {page.stat().st_size // 1000} kB, with no script in it")


if __name__ == "__main__":
    main()
