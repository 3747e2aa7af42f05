"""Decision trees on Adult: from a release by reconstruction, beside scikit-learn on originals and on perturbed rows.

Run by `python -m benchmarks.trees_on_adult [DEPTH]`, with the shared data beside the project.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import ppdm_sql
from ppdm_sql.mining import decision_tree

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult.parquet"
CATEGORIES = (
    *("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"),
    "income",
)
WITH_NULLS = ("workclass", "occupation", "native_country")
NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "capital_gain": (0, 99_999),
    "capital_loss": (0, 4_356),
    "hours_per_week": (1, 99),
}
TARGET = "income"
FEATURES = [name for name in (*CATEGORIES, *NUMBERS) if name != TARGET]
RETENTIONS = (1.0, 0.7, 0.5, 0.3)


def rows_of(split: str) -> pa.Table:
    """One of the two halves that the publisher of the data made."""
    names = ", ".join((*CATEGORIES, *NUMBERS))
    return duckdb.sql(f"SELECT {names} FROM '{ADULT}' WHERE split = '{split}'").to_arrow_table()


def policy(train: pa.Table, retain: float) -> dict[str, Any]:
    """Every column perturbed, the class too."""
    columns: dict[str, Any] = {}
    for name in CATEGORIES:
        values = sorted(value for value in train.column(name).unique().to_pylist() if value is not None)
        nulls = "value" if name in WITH_NULLS else "error"
        columns[name] = {"mechanism": "uniform", "domain": {"values": values}, "retain": retain, "nulls": nulls}
    for name, (low, high) in NUMBERS.items():
        columns[name] = {"mechanism": "uniform", "domain": {"min": low, "max": high}, "retain": retain}
    return {"table": "adult", "columns": columns}


def reconstructed(train: pa.Table, test: pa.Table, retain: float, depth: int, key: bytes) -> tuple[float, float]:
    """The accuracy of our tree, and of scikit-learn's on the perturbed rows as if they were true."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.duckdb"
        ppdm_sql.publish(train, policy(train, retain), to=path, key=key)
        with ppdm_sql.connect(path, read_only=True) as con:
            tree = decision_tree(con, "adult", TARGET, FEATURES, depth=depth)
        with duckdb.connect(str(path), read_only=True) as plain:
            perturbed = plain.sql("FROM perturbed.adult").to_arrow_table()
    right = np.array(tree.predict(test).to_pylist()) == np.array(test.column(TARGET).to_pylist())
    return float(right.mean()), by_scikit_learn(perturbed, test, depth)


def by_scikit_learn(train: pa.Table, test: pa.Table, depth: int) -> float:
    """The accuracy of scikit-learn's tree of that depth."""
    import pandas as pd  # noqa: PLC0415  # for this experiment alone
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    frames = [table.to_pandas() for table in (train, test)]
    dummies = pd.get_dummies(pd.concat(frames)[FEATURES])
    split = len(frames[0])
    model = DecisionTreeClassifier(max_depth=depth, random_state=0)
    model.fit(dummies.iloc[:split], frames[0][TARGET])
    return float(model.score(dummies.iloc[split:], frames[1][TARGET]))


def main(depth: int) -> None:
    """Print the table."""
    train, test = rows_of("train"), rows_of("test")
    print(f"Adult, accuracy on the test half, depth {depth}; the commonest class alone is right for 76.4 %.")
    print(f"scikit-learn on the originals: {by_scikit_learn(train, test, depth):.1%}")
    print("retention  reconstructed  scikit-learn on perturbed rows")
    for retain in RETENTIONS:
        ours, taken = reconstructed(train, test, retain, depth, bytes(range(32)))
        print(f"{retain:9}  {ours:13.1%}  {taken:30.1%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
