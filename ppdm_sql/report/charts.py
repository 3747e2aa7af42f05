"""Plots as SVG: narrow enough for a phone, side by side on a desk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import vl_convert
from markupsafe import Markup

WIDTH, HEIGHT = 336, 250
FONT = "Arial, Helvetica, sans-serif"  # measured while drawing, so the page must use the same
BLUE, ORANGE, GREY, INK = "#0067a6", "#c44601", "#767676", "#1d2330"
PERCENT = "%"


def draw(chart: alt.LayerChart | alt.FacetChart | alt.Chart, height: int = HEIGHT) -> Markup:
    """The chart as SVG, of a width that a phone has."""
    sized = chart.properties(width=WIDTH, height=height, autosize=alt.AutoSizeParams(type="fit", contains="padding"))
    spec = sized.configure(
        font=FONT,
        background="white",
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
            labelColor=INK,
            titleColor=INK,
            gridColor="#e3e6ea",
            domainColor="#8a919c",
            tickColor="#8a919c",
            titlePadding=8,
        ),
        legend=alt.LegendConfig(
            orient="bottom",
            direction="vertical",
            title=None,
            labelFontSize=12,
            labelLimit=WIDTH,
            labelColor=INK,
            symbolStrokeWidth=2.5,
        ),
        view=alt.ViewConfig(stroke=None),
        text=alt.MarkConfig(fontSize=12),
    ).to_dict()
    # Whoever cannot see it has the figure's label and table; the marks' own labels would only be read twice.
    hidden = vl_convert.vegalite_to_svg(spec).strip().replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
    return Markup(hidden)  # noqa: S704 - Vega escapes what it writes


def _data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _share(field: str, title: str, top: float = 1.0) -> dict[str, Any]:
    return {
        "shorthand": f"{field}:Q",
        "title": title,
        "scale": alt.Scale(domain=[0, top], nice=False),
        "axis": alt.Axis(format=PERCENT, tickCount=5),
    }


def before_and_after(rows: Sequence[dict[str, Any]], marked: Sequence[dict[str, Any]]) -> Markup:
    """Curves over what was likely before; each row has before, after, line; marked points have a label too."""
    styles = {"at most": (ORANGE, [1, 0]), "at least": (BLUE, [1, 0]), "nothing learnt": (GREY, [4, 4])}
    shown = {row["line"] for row in rows}
    lines = [line for line in styles if line in shown]
    colour = alt.Color("line:N", scale=alt.Scale(domain=lines, range=[styles[line][0] for line in lines]))
    dashes = alt.StrokeDash("line:N", scale=alt.Scale(domain=lines, range=[styles[line][1] for line in lines]))
    x, y = alt.X(**_share("before", "likely before")), alt.Y(**_share("after", "likely after"))
    curves = alt.Chart(_data(rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour, strokeDash=dashes)
    points = alt.Chart(_data(marked)).mark_point(size=70, filled=True, color=ORANGE, opacity=1).encode(x=x, y=y)
    place: dict[str, Any] = {"align": "left", "dx": 9, "dy": 1}
    halo = alt.Chart(_data(marked)).mark_text(**place, stroke="white", strokeWidth=5).encode(x=x, y=y, text="label:N")
    words = alt.Chart(_data(marked)).mark_text(**place, color=INK).encode(x=x, y=y, text="label:N")
    return draw(alt.layer(curves, points, halo, words), HEIGHT + 70)


def seen_and_true(rows: Sequence[dict[str, Any]], safe: float | None) -> Markup:
    """How likely a seen value's set is, over how much commoner it is than among draws; before tells the lines apart."""
    x = alt.X(
        "relative:Q",
        title="times as common among rows as among draws",
        scale=alt.Scale(type="log"),
        axis=alt.Axis(values=[1, 10, 100, 1000, 10000], format="~s"),
    )
    y = alt.Y(**_share("after", "likely after one is seen"))
    colour = alt.Color("line:N", scale=alt.Scale(range=[ORANGE, BLUE]), sort=None)
    layers: list[alt.Chart] = [alt.Chart(_data(rows)).mark_line(strokeWidth=2.5).encode(x=x, y=y, color=colour)]
    if safe is not None:
        at = _data([{"relative": safe}])
        layers.append(alt.Chart(at).mark_rule(color=INK, strokeDash=[4, 4]).encode(x="relative:Q"))
    return draw(alt.layer(*layers), HEIGHT + 50)


def privacy_and_error(
    rows: Sequence[dict[str, Any]],
    chosen: dict[str, Any],
    title: str,
    cost: str = "a count is right to ± % of the rows",
) -> Markup:
    """The curve of what can be had, and the point that was chosen; rows have privacy and error."""
    top = max(min(max(row["error"] for row in rows), chosen["error"] * 4), chosen["error"] * 1.3)
    shown = [row for row in rows if row["error"] <= top]
    left = chosen["privacy"] > 0.65
    x = alt.X(**_share("privacy", title))
    y = alt.Y(
        "error:Q",
        title=cost,
        scale=alt.Scale(domain=[0, top], nice=True),
        axis=alt.Axis(format=".2~%", tickCount=5),
    )
    line = alt.Chart(_data(shown)).mark_line(strokeWidth=2.5, color=BLUE).encode(x=x, y=y, order="retain:Q")
    point = alt.Chart(_data([chosen])).mark_point(size=90, filled=True, color=ORANGE, opacity=1).encode(x=x, y=y)
    # Where the curve falls there is room above it to the right, and below it to the left; where it rises, to the left.
    place: dict[str, Any] = {"align": "right", "dx": -9, "dy": 13} if left else {"align": "left", "dx": 9, "dy": -9}
    ends = sorted(rows, key=lambda row: row["privacy"])
    if ends[0]["error"] < ends[-1]["error"]:
        place = {"align": "right", "dx": -9, "dy": -9}
    words = alt.Chart(_data([chosen])).mark_text(**place, color=INK, fontWeight="bold")
    return draw(alt.layer(line, point, words.encode(x=x, y=y, text="label:N")))


def bars(rows: Sequence[dict[str, Any]], title: str, form: str) -> Markup:
    """One bar a row, with its label at its end; rows have name, value and label."""
    order = [row["name"] for row in rows]
    y = alt.Y("name:N", title=None, sort=order, axis=alt.Axis(labelLimit=120, domain=False, ticks=False))
    most = max((row["value"] for row in rows), default=0) or 1
    x = alt.X(
        "value:Q",
        title=title,
        scale=alt.Scale(domain=[0, most * 1.28], nice=False),
        axis=alt.Axis(format=form, tickCount=4),
    )
    shape = alt.Chart(_data(rows)).mark_bar(color=BLUE, height=14).encode(x=x, y=y)
    words = alt.Chart(_data(rows)).mark_text(align="left", dx=4, color=INK).encode(x=x, y=y, text="label:N")
    return draw(alt.layer(shape, words), 60 + 26 * len(rows))


def estimates(rows: Sequence[dict[str, Any]]) -> Markup:
    """Estimates with their intervals, as differences from the truth; rows have name, low, high, middle, held."""
    order = [row["name"] for row in rows]
    held = ["holds the truth", "misses it"]
    colour = alt.Color("held:N", scale=alt.Scale(domain=held, range=[BLUE, ORANGE]))
    y = alt.Y("name:N", title=None, sort=order, axis=alt.Axis(ticks=False, domain=False))
    x = alt.X(
        "low:Q",
        title="off the truth, in % of it",
        scale=alt.Scale(padding=6),
        axis=alt.Axis(format="+.2~%", tickCount=5),
    )
    spans = alt.Chart(_data(rows)).mark_rule(strokeWidth=2.5).encode(x=x, x2="high:Q", y=y, color=colour)
    points = alt.Chart(_data(rows)).mark_point(filled=True, size=55, opacity=1).encode(x="middle:Q", y=y, color=colour)
    zero = alt.Chart(_data([{"x": 0}])).mark_rule(color=INK, strokeDash=[4, 4]).encode(x="x:Q")
    return draw(alt.layer(zero, spans, points), 100 + 22 * len(rows))


def grouped_bars(rows: Sequence[dict[str, Any]], kinds: Sequence[str], title: str, top: float = 1.0) -> Markup:
    """Several bars a name, one a kind; rows have name, kind and value."""
    order = list(dict.fromkeys(row["name"] for row in rows))
    palette = [GREY, BLUE, ORANGE, "#3b7d4f", "#8b5fa8"]
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=palette[: len(kinds)]), sort=list(kinds))
    shape = (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            x=alt.X(**_share("value", title, top)),
            y=alt.Y("name:N", title=None, sort=order, axis=alt.Axis(labelLimit=120, ticks=False, domain=False)),
            yOffset=alt.YOffset("kind:N", sort=list(kinds)),
            color=colour,
        )
    )
    return draw(shape, 70 + 18 * len(kinds) + (12 * len(kinds) + 12) * len(order))


def curves(rows: Sequence[dict[str, Any]], kinds: Sequence[str], x_title: str, y_title: str) -> Markup:
    """Shares over a number; rows have x, y and kind."""
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=[ORANGE, BLUE]), sort=list(kinds))
    shape = (
        alt.Chart(_data(rows))
        .mark_line(strokeWidth=2.5, point=True)
        .encode(
            x=alt.X("x:Q", title=x_title, axis=alt.Axis(format="d", tickMinStep=1), scale=alt.Scale(nice=False)),
            y=alt.Y(**_share("y", y_title)),
            color=colour,
        )
    )
    return draw(shape, HEIGHT + 50)


def calibration(rows: Sequence[dict[str, Any]]) -> Markup:
    """How often guesses are right, over how sure they are; rows have sure, right and guesses."""
    x, y = alt.X(**_share("sure", "how sure the guess is")), alt.Y(**_share("right", "how often it is right"))
    diagonal = alt.Chart(_data([{"sure": 0, "right": 0}, {"sure": 1, "right": 1}])).mark_line(
        color=GREY, strokeDash=[4, 4]
    )
    points = alt.Chart(_data(rows)).mark_point(filled=True, color=BLUE, opacity=0.8)
    size = alt.Size("guesses:Q", scale=alt.Scale(range=[20, 250]), legend=None)
    return draw(alt.layer(diagonal.encode(x=x, y=y), points.encode(x=x, y=y, size=size)))
