"""Conditions on so many perturbed columns that hardly any row would show that it meets them.

What is estimated of them hangs on those rows: each has a huge weight, and where none is seen, neither are their number
and its error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NoReturn

from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.formula import All, Atom, Formula, axes_of
from ppdm_sql.query.plan.plan import Plan

LEAST_ROWS = 3.0
"""As many are expected to show it, if all rows meet the conditions: fewer, and in 5 % of releases none does."""

FEW = 2
"""Columns that may always be asked for together."""


def check_shown(plan: Plan) -> Plan:
    """Refuse what would rest on rows that are not there; the plan itself otherwise."""
    for place in range(len(plan.totals)):
        names: set[str] = set()
        rows, expected = 0, 0.0
        for piece in plan.pieces:
            formulas = [product.formula for product in piece.totals[place].products]
            names |= {name for formula in formulas for name in _names(piece, formula)}
            chance = math.exp(min(_log_shown(piece, formula) for formula in formulas)) if formulas else 0.0
            rows += piece.query.manifest.rows
            expected += piece.query.manifest.rows * chance
        if len(names) > FEW and expected < min(LEAST_ROWS, rows):
            _refuse(sorted(names), rows, expected)
    return plan


def first_names(names: Sequence[str]) -> str:
    """Names for a message: the first of them where there are many.

    >>> first_names(["a", "b"]), first_names("abcdefgh")
    ('a, b', 'a, b, c, d, e and 3 more')
    """
    return f"{', '.join(names[:5])} and {len(names) - 5} more" if len(names) > 6 else ", ".join(names)


def _refuse(names: Sequence[str], rows: int, expected: float) -> NoReturn:
    raise Unsupported(
        f"Unsupported: it asks for {len(names)} perturbed columns at once ({first_names(names)}). If all "
        f"{rows:,} rows met these conditions, only {expected:.2g} of them would be expected to show it, "
        f"and from so few nothing can be told. "
        "Ask for fewer at a time, or for wider ranges."
    )


def _log_shown(plan: Plan, formula: Formula) -> float:
    """The logarithm of how likely a row that meets a formula is to show that it does, at least."""
    if isinstance(formula, Atom):
        return math.log(plan.axes[formula.axis].shown(formula.cells))
    chances = [_log_shown(plan, part) for part in formula.parts]
    return math.fsum(chances) if isinstance(formula, All) else min(chances, default=0.0)


def _names(plan: Plan, formula: Formula) -> Iterator[str]:
    """The perturbed columns that a formula is of."""
    for place in axes_of(formula):
        yield from plan.axes[place].may_be_hidden
