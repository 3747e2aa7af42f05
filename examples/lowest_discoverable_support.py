"""How small a support can be found under a promise: Figures 1 to 3 of "Limiting Privacy Breaches", drawn again.

Name a folder to keep the plots (SVG) and their data (CSV); without one they are made and thrown away.
"""

import csv
import sys
import tempfile
from pathlib import Path

import altair as alt

from ppdm_sql.itemsets import best_operator, lowest_discoverable
from ppdm_sql.report.charts import draw

MILLION = 1e6
FIGURES = {
    "figure1": ("breach level rho1 in %", [(rho1, rho1, 5, 5 * MILLION) for rho1 in range(1, 11)]),
    "figure2": ("items in a basket", [(size, 5, size, 5 * MILLION) for size in range(3, 11)]),
    "figure3": ("million baskets", [(count, 5, 5, count * MILLION) for count in (1, 2, 3, 5, 7, 10)]),
}
KINDS = ["1 item", "2 items", "3 items"]


def rows_of(points: list[tuple[float, float, int, float]]) -> list[dict[str, object]]:
    """One row for each point and each size of itemset; rho2 is 50 %, so gamma is 1 / rho1 - 1."""
    rows = []
    for x, rho1, size, baskets in points:
        operator = best_operator(size, 100 / rho1 - 1)
        for items, kind in enumerate(KINDS, start=1):
            support = lowest_discoverable(operator, items, baskets)
            rows.append({"x": x, "y": round(100 * support, 4), "kind": kind})
    return rows


def picture(rows: list[dict[str, object]], title: str) -> str:
    chart = alt.Chart(alt.InlineData(values=rows)).mark_line(strokeWidth=2.5, point=True)
    return draw(
        chart.encode(
            x=alt.X("x:Q", title=title),
            y=alt.Y("y:Q", title="lowest discoverable support in %"),
            color=alt.Color("kind:N", sort=KINDS),
        )
    )


def main(folder: Path) -> None:
    for name, (title, points) in FIGURES.items():
        rows = rows_of(points)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["x", "y", "kind"])
            writer.writeheader()
            writer.writerows(rows)
        (folder / f"{name}.svg").write_text(picture(rows, title), encoding="utf-8")
        print(f"{name}: {title}")
        for x in dict.fromkeys(row["x"] for row in rows):
            found = ", ".join(f"{row['y']:.2f} %" for row in rows if row["x"] == x)
            print(f"  {x:>4}: {found}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        target = Path(sys.argv[1])
        target.mkdir(parents=True, exist_ok=True)
        main(target)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
