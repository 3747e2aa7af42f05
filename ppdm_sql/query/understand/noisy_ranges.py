"""Which conditions on columns with Gaussian noise can be answered: ranges of one such column, counted."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.query.understand.query import Query, QueryAxis
from ppdm_sql.syntax.refuse import refuse

DECONVOLUTION = "deconvolution"
"""The method for ranges of a column with noise."""


def check_ranges(query: Query) -> None:
    """Refuse what deconvolution cannot answer: anything but counts, over ranges of one column with noise."""
    noisy = [axis for axis in query.axes if any(column.ranges_only for column in axis.columns)]
    if not noisy:
        return
    node, name = _first(noisy[0]), _name(noisy[0])
    if len(noisy) > 1:
        refuse(
            query.sql,
            _first(noisy[1]),
            f"{name} and {_name(noisy[1])} both have Gaussian noise, and ranges of one such column only are "
            "reconstructed at a time.",
            "Ask for a range of one of them.",
        )
    others = [axis for axis in query.axes if axis.columns and axis is not noisy[0]]
    if others:
        refuse(
            query.sql,
            node,
            f"a range of {name}, which has Gaussian noise, cannot be reconstructed together with conditions on or sums "
            f"of {_name(others[0])}, which is perturbed otherwise.",
            "Ask for one of them at a time.",
        )
    if not all(total.is_count for total in query.totals):
        refuse(
            query.sql,
            node,
            f"{name} has Gaussian noise, and over a range of it rows are counted only, not added up.",
            "Use COUNT, or a condition on other columns.",
        )
    if query.settings.method == "inversion":
        refuse(
            query.sql,
            node,
            f"{name} has Gaussian noise, and no unbiased estimate, or single statement, counts a range of it.",
            "Use SET ppdm_method = 'auto'.",
        )


def _first(axis: QueryAxis) -> exp.Expr:
    return (*axis.terms, *axis.labels, *axis.values)[0]


def _name(axis: QueryAxis) -> str:
    return axis.columns[0].name
