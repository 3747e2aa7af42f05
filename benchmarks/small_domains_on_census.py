"""The error of small domain randomization beside plain uniform retention, under the same promise, on census workers.

The query pool of Chaytor and Wang (2010): conditions on one to three exact columns at random, with every value of the
occupation; queries that at least a share of the rows meets are kept, and the mean relative error is shown. Run by
`python -m benchmarks.small_domains_on_census [PLOT.svg]`, with the shared data beside the project.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import ppdm_sql
from ppdm_sql.syntax.quoting import quote_text

CENSUS = Path(__file__).resolve().parents[2] / "shared" / "data" / "census_workers.parquet"
COLUMNS = ("age", "gender", "education", "marital_status", "race", "work_class", "country")
RHO1 = 1 / 11
RHO2 = (1 / 6, 1 / 5, 1 / 4, 1 / 3)
SELECTIVITIES = (0.001, 0.005, 0.01)
CONDITIONS = 200
KEYS = 3


def conditions(con: duckdb.DuckDBPyConnection, seed: int = 11) -> list[str]:
    """Random conditions on exact columns."""
    rng = np.random.default_rng(seed)
    values = {
        name: [text for (text,) in con.execute(f"SELECT DISTINCT {name}::VARCHAR FROM w ORDER BY 1").fetchall() if text]
        for name in COLUMNS
    }
    found = []
    for _ in range(CONDITIONS):
        chosen = rng.choice(len(COLUMNS), rng.integers(1, 4), replace=False)
        tests = [(COLUMNS[i], values[COLUMNS[i]][rng.integers(len(values[COLUMNS[i]]))]) for i in chosen]
        found.append(" AND ".join(f"{name}::VARCHAR = {quote_text(value)}" for name, value in tests))
    return found


def policy(mechanism: str, rho2: float) -> dict[str, Any]:
    """Occupation perturbed, everything else exact."""
    column = {"mechanism": mechanism, "domain": {"min": 1, "max": 46}, "privacy": {"rho1": RHO1, "rho2": rho2}}
    return {"table": "w", "columns": {"occupation": column}}


def counts(con: Any, where: list[str]) -> np.ndarray:
    """The count of every occupation under every condition, shape (conditions, 46)."""
    result = np.zeros((len(where), 46))
    for number, condition in enumerate(where):
        query = f"SELECT occupation, count(*) FROM w WHERE {condition} GROUP BY occupation"
        for value, count in con.execute(query).fetchall():
            result[number, value - 1] = count
    return result


def errors(mechanism: str, rho2: float, where: list[str], truth: np.ndarray) -> Iterator[dict[float, float]]:
    """For each key the mean relative error, by the least share of the rows."""
    rows = float(duckdb.sql(f"SELECT count(*) FROM '{CENSUS}'").fetchall()[0][0])
    for number in range(KEYS):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "w.duckdb"
            ppdm_sql.publish(CENSUS, policy(mechanism, rho2), to=path, key=bytes([number]) * 32)
            with ppdm_sql.connect(path, read_only=True) as con:
                con.execute("SET ppdm_method = 'inversion'")
                estimates = counts(con, where)
        relative = np.abs(estimates - truth) / np.maximum(truth, 1)
        yield {share: float(relative[truth >= share * rows].mean()) for share in SELECTIVITIES}


def main(plot: str | None = None) -> None:
    """Print the table."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE w AS FROM '{CENSUS}'")
        where = conditions(con)
        truth = counts(con, where)
    where = [condition for condition, row in zip(where, truth, strict=True) if row.max() >= 148]
    truth = truth[truth.max(axis=1) >= 148]
    print(f"mean relative error over {KEYS} keys, {len(where)} conditions times 46 occupations, rho1 = 1/11")
    print("rho2   at least  uniform  small domain  ratio")
    series: dict[str, list[float]] = {"uniform": [], "small_domain": []}
    for rho2 in RHO2:
        found = {m: list(errors(m, rho2, where, truth)) for m in ("uniform", "small_domain")}
        for share in SELECTIVITIES:
            plain, small = (float(np.mean([one[share] for one in found[m]])) for m in found)
            print(f"1/{round(1 / rho2)}    {share:8.1%}  {plain:7.3f}  {small:12.3f}  {plain / small:5.2f}", flush=True)
            if share == SELECTIVITIES[0]:
                series["uniform"].append(plain)
                series["small_domain"].append(small)
    if plot is not None:
        _plot(series, Path(plot))


def _plot(series: dict[str, list[float]], path: Path) -> None:
    import altair as alt  # noqa: PLC0415  # for this picture alone

    rows = [
        {"rho2": f"1/{round(1 / rho2)}", "mechanism": name, "error": error}
        for name, found in series.items()
        for rho2, error in zip(RHO2, found, strict=True)
    ]
    chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    axes = chart.encode(
        x=alt.X("rho2:N", title="rho2", sort=None),
        y=alt.Y("error:Q", title="mean relative error, queries of 0.1 % or more"),
        color=alt.Color("mechanism:N", title="mechanism"),
    )
    axes.properties(width=420, height=280).save(str(path))


if __name__ == "__main__":
    main(*sys.argv[1:2])
