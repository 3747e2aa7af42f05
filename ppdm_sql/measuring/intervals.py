"""Terms that cut a grid into intervals: found without looking at every point.

A comparison of the column with a constant changes its value at most twice along an ordered grid. The places are found
by asking the engine itself, so that its own rules for comparing types decide, at a thousand places a round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from ppdm_sql.domain.domain import Grid
from ppdm_sql.measuring.constants import grid_units
from ppdm_sql.measuring.domains import point
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.long_lists import constants_of
from ppdm_sql.syntax.quoting import quote_name

FAN = 1024
COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
Row = tuple[Any, ...]
Run = Callable[[str], Sequence[Row]]


def compared_constants(term: exp.Expr, *, lists: bool = False) -> list[exp.Expr] | None:
    """The constants a term compares its column with, or None where it does anything else with the column.

    With `lists`, long ones stand among them as they are.
    """
    found: list[exp.Expr] = []
    if not _collect(term, found):
        return None
    return found if lists else [each for value in found for each in (constants_of(value) or [value])]


def _collect(node: exp.Expr, found: list[exp.Expr]) -> bool:
    if isinstance(node, exp.Paren | exp.Not):
        return _collect(node.this, found)
    if isinstance(node, exp.And | exp.Or):
        return _collect(node.left, found) and _collect(node.right, found)
    if isinstance(node, exp.Case) and node.this is None:
        outcomes = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
        plainly = not any(outcome.find(exp.Column) for outcome in outcomes if outcome is not None)
        return plainly and all(_collect(branch.this, found) for branch in node.args["ifs"])
    if isinstance(node, exp.Is):
        return isinstance(node.this.unnest(), exp.Column) and isinstance(node.expression, exp.Null)
    if isinstance(node, COMPARISONS):
        sides = [node.left, node.right]
    elif isinstance(node, exp.Between) and not node.args.get("symmetric"):
        sides = [node.this, node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In) and node.expressions:
        sides = [node.this, *node.expressions]
    else:
        return False
    bare = [isinstance(side.unnest(), exp.Column) for side in sides]
    plain = [not any(side.find_all(exp.Column)) for side in sides]
    if sum(bare) != 1 or sum(plain) != len(sides) - 1 or (len(sides) > 2 and not bare[0]):
        return False
    found.extend(side for side, is_column in zip(sides, bare, strict=True) if not is_column)
    return True


def cuts(run: Run, column: RetainedColumn, constants: Sequence[exp.Expr]) -> list[int]:
    """The grid places where a comparison with one of the constants may change: sorted, 0 and the size included."""
    grid = column.domain
    assert isinstance(grid, Grid)
    known = {value.sql(dialect=ANALYST): grid_units(value, column) for value in constants}
    searched = [text for text, units in known.items() if units is None]
    tests = [f"{quote_name(column.name)} {sign} ({text})" for text in searched for sign in (">=", ">")]
    found = set(_search(run, column, tests))
    return sorted(found.union(places_of(grid, [units for units in known.values() if units is not None])))


def places_of(grid: Grid, constants: Sequence[Fraction | int]) -> list[int]:
    """The places where comparisons with constants, in the grid's units, may change: 0 and the size included."""
    places = {0, grid.size}
    for units in set(constants):
        place = units - grid.low if grid.step == 1 else Fraction(units - grid.low) / grid.step
        first, behind = (place, place + 1) if isinstance(place, int) else (math.ceil(place), math.floor(place) + 1)
        places.add(min(max(first, 0), grid.size))
        places.add(min(max(behind, 0), grid.size))
    return sorted(places)


def _search(run: Run, column: RetainedColumn, tests: Sequence[str]) -> Iterator[int]:
    """For each test, which is false and then true along the grid, the first place where it is true."""
    if not tests:
        return
    grid = column.domain
    assert isinstance(grid, Grid)
    low, high = [0] * len(tests), [grid.size] * len(tests)  # the answer lies in [low, high]
    while any(a < b for a, b in zip(low, high, strict=True)):
        stride = [max(1, (b - a) // FAN) for a, b in zip(low, high, strict=True)]
        asked = [
            f"(SELECT min(r) FROM (SELECT r, {point(column, f'{a} + r * {s}')} AS {quote_name(column.name)} "
            f"FROM range({-(-(b - a) // s)}) AS t(r)) WHERE {test})"
            for test, a, b, s in zip(tests, low, high, stride, strict=True)
        ]
        found = run(f"SELECT {', '.join(asked)}")[0]
        for i, place in enumerate(found):
            if place is None:
                steps = -(-(high[i] - low[i]) // stride[i])
                low[i] = min(high[i], low[i] + (steps - 1) * stride[i] + 1) if steps else high[i]
            else:
                hit = low[i] + place * stride[i]
                low[i] = hit if place == 0 else hit - stride[i] + 1
                high[i] = hit
    yield from high
