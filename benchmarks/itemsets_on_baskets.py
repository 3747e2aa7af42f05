"""Apriori on randomized baskets against the true frequent itemsets, at several privacy levels.

Precision: the share of the itemsets listed that are frequent. Recall: the share of the frequent ones that are listed.
False certainties: itemsets called certain that are not frequent. Truth is what mlxtend finds in the baskets, cut as the
release cuts them. Run by `python -m benchmarks.itemsets_on_baskets`, with the shared data beside the project.
"""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import ppdm_sql
from ppdm_sql.errors import Unsupported
from ppdm_sql.mining import frequent_itemsets

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
KEY = bytes(range(32))


@dataclass(frozen=True)
class Setting:
    """A data set, how it is randomized, and what counts as frequent."""

    name: str
    max_size: int
    rho: float | None
    least: float


SETTINGS = (Setting("groceries", 8, None, 0.05), Setting("groceries", 8, 0.05, 0.03), Setting("retail", 12, 0.02, 0.03))
GAMMAS = (19.0, 100.0, 1e3, 1e6)


def truth(baskets: list[list[Any]], least: float) -> set[frozenset[Any]]:
    """The frequent itemsets of up to three items."""
    from mlxtend.frequent_patterns import apriori  # noqa: PLC0415  # the oracle of this experiment alone

    flat = pd.Series([item for basket in baskets for item in basket])
    counts = flat.value_counts()
    items = list(counts[counts >= least * len(baskets)].index)
    frame = pd.DataFrame({str(item): [item in basket for basket in map(set, baskets)] for item in items})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = apriori(frame, min_support=least, max_len=3)
    return {frozenset(items[i] for i in itemset) for itemset in found.itemsets}


def measure(setting: Setting, gamma: float) -> str:
    """One line of the table."""
    lists = pq.read_table(DATA / f"{setting.name}.parquet").column("items").combine_chunks()
    items = sorted(set(lists.flatten().to_pylist()))
    domain = {"min": items[0], "max": items[-1]} if isinstance(items[0], int) else {"values": items}
    column: dict[str, Any] = {"mechanism": "select_a_size", "domain": domain, "gamma": gamma}
    column["max_size"] = setting.max_size
    if setting.rho is not None:
        column["rho"] = setting.rho
    rng = np.random.default_rng(1)
    cut = [
        rng.permutation(b)[: setting.max_size].tolist() if len(b) > setting.max_size else b for b in lists.to_pylist()
    ]
    true = truth(cut, setting.least)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "baskets.duckdb"
        table = pa.table({"items": pa.array(cut, lists.type)})
        ppdm_sql.publish(table, {"table": "baskets", "columns": {"items": column}}, to=path, key=KEY)
        with ppdm_sql.connect(path, read_only=True) as con:
            try:
                found = frequent_itemsets(con, "baskets", "items", min_support=setting.least).to_pylist()
            except Unsupported:
                return "more candidates than can be looked at: the noise is larger than the threshold"
    listed = {frozenset(row["itemset"]) for row in found}
    certain = {frozenset(row["itemset"]) for row in found if row["certain"]}
    right = len(listed & true)
    return (
        f"{len(true):8}  {len(listed):6}  {right / max(len(listed), 1):9.0%}  {right / max(len(true), 1):6.0%}  "
        f"{len(certain):7}  {len(certain - true):18}"
    )


def main() -> None:
    """Print the table."""
    print("data        rho   gamma  support  frequent  listed  precision  recall  certain  false certainties")
    for setting in SETTINGS:
        for gamma in GAMMAS:
            rho = "best" if setting.rho is None else f"{setting.rho:g}"
            line = measure(setting, gamma)
            print(f"{setting.name:10}  {rho:>4}  {gamma:6.0e}  {setting.least:7.1%}  {line}", flush=True)


if __name__ == "__main__":
    main()
