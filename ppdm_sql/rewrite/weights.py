"""Inversion as a sum of row weights: any number of columns, no states.

A row's weight is the product over columns of (1[in cell] - (1 - p) R) / p; AND multiplies, OR is the complement of a
product of complements. Where one column stands in several places that share others, the formula is split on that
column's cells first, so that every product has each column once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.errors import Unsupported
from ppdm_sql.rewrite.formula import FALSE, TRUE, All, Atom, Formula, components, most_shared_axis, restrict, simplify
from ppdm_sql.rewrite.plan import Plan, PlannedAxis
from ppdm_sql.rewrite.scan import Scan, number, total, typed

FLOAT_ROWS = 10**8
"""Up to here the rounding of FLOAT weights stays below a hundredth of the standard error; DOUBLE is a sixth slower."""

MAX_FACTORS = 2_000
"""A formula that needs more is refused rather than sent as a statement of megabytes."""


@dataclass(frozen=True)
class Weight:
    """`scale` times the SQL expression; None stands for 1. Scales are taken out of the sum over rows."""

    scale: float
    sql: exp.Expr | None = None
    factors: int = 0


def estimate_by_weights(scan: Scan, plan: Plan, formula: Formula, with_error: bool) -> tuple[exp.Expr, exp.Expr | None]:
    """The estimate, and its variance if asked for, from the sums of the weights and of their squares."""
    rows = plan.query.manifest.rows
    weight = _Builder(plan, "FLOAT" if rows <= FLOAT_ROWS else "DOUBLE").weight(formula)
    body = weight.sql if weight.sql is not None else number(1.0)
    estimate = exp.Mul(this=number(weight.scale), expression=scan.add(_sum(body)))
    if not with_error:
        return estimate, None
    squares = scan.add(_sum(exp.Mul(this=exp.Paren(this=body.copy()), expression=exp.Paren(this=body.copy()))))
    square = exp.Mul(this=number(weight.scale**2), expression=squares)
    return estimate, exp.Sub(this=square, expression=exp.Paren(this=estimate.copy()))


class _Builder:
    def __init__(self, plan: Plan, sql_type: str) -> None:
        self.plan = plan
        self.sql_type = sql_type
        self.cells = plan.cell_counts
        self.perturbed = frozenset(i for i, axis in enumerate(plan.axes) if axis.axis.retain < 1)

    def weight(self, formula: Formula) -> Weight:
        """The weight of a row towards the count of `formula`."""
        if formula == TRUE:
            return Weight(1.0)
        if formula == FALSE:
            return Weight(0.0)
        if isinstance(formula, Atom):
            return self.atom(self.plan.axes[formula.axis], formula.cells)
        groups = components(formula.parts, self.perturbed)
        if len(groups) == 1:
            return self.split(formula, most_shared_axis(formula.parts, self.perturbed))
        kind = type(formula)
        parts = [simplify(kind(tuple(group)), self.cells) for group in groups]
        if isinstance(formula, All):
            return self.product([self.weight(part) for part in parts])
        return self.complement(self.product([self.complement_of(part) for part in parts]))

    def complement_of(self, formula: Formula) -> Weight:
        """1 - weight; the complement of an atom is an atom."""
        if isinstance(formula, Atom):
            axis = self.plan.axes[formula.axis]
            return self.atom(axis, frozenset(range(len(axis.cells))) - formula.cells)
        return self.complement(self.weight(formula))

    def atom(self, axis: PlannedAxis, inside: frozenset[int]) -> Weight:
        """(1[in cells] - (1 - p) R) / p; rows in a fixed cell count as they are."""
        retain = axis.axis.retain
        share = sum(axis.axis.shares[i] for i in inside)
        test = axis.test(inside)
        if axis.nullable:
            test = exp.Coalesce(this=test, expressions=[exp.false()])
        indicator: exp.Expr = typed(test, self.sql_type)
        shift = (1 - retain) * share
        if shift == 0 or axis.whole(inside):
            return Weight(1.0, indicator, 1)
        shifted = exp.Paren(this=exp.Sub(this=indicator, expression=self.constant(shift)))
        if not axis.axis.fixed:
            return Weight(1 / retain, shifted, 1)
        assert axis.column is not None
        null = exp.Is(this=exp.column(exp.to_identifier(axis.column.name, quoted=True)), expression=exp.Null())
        kept = self.constant(retain if set(axis.axis.fixed) <= inside else 0.0)
        choice = exp.Case(ifs=[exp.If(this=null, true=kept)], default=shifted)
        return Weight(1 / retain, choice, 1)

    def split(self, formula: Formula, axis: int) -> Weight:
        """Sum over the cells of one axis, those with the same remaining formula taken together."""
        branches: dict[Formula, set[int]] = {}
        for cell in range(self.cells[axis]):
            branches.setdefault(restrict(formula, axis, cell, self.cells), set()).add(cell)
        weights = [
            self.product([self.atom(self.plan.axes[axis], frozenset(cells)), self.weight(rest)])
            for rest, cells in branches.items()
            if rest != FALSE
        ]
        return self.total(weights)

    def product(self, weights: Sequence[Weight]) -> Weight:
        """The product of weights."""
        scale, body, factors = 1.0, None, 0
        for weight in weights:
            scale *= weight.scale
            factors += weight.factors
            if weight.sql is not None:
                body = weight.sql if body is None else exp.Mul(this=body, expression=weight.sql)
        return self.checked(Weight(scale, body, factors))

    def total(self, weights: Sequence[Weight]) -> Weight:
        """The sum of weights."""
        if len(weights) == 1:
            return weights[0]
        body = exp.Paren(this=total([self.scaled(weight) for weight in weights]))
        return self.checked(Weight(1.0, body, sum(weight.factors for weight in weights)))

    def complement(self, weight: Weight) -> Weight:
        """1 - weight."""
        body = exp.Paren(this=exp.Sub(this=self.constant(1.0), expression=self.scaled(weight)))
        return Weight(1.0, body, weight.factors)

    def scaled(self, weight: Weight) -> exp.Expr:
        """The weight with its scale inside."""
        scale = self.constant(weight.scale)
        return scale if weight.sql is None else exp.Mul(this=scale, expression=weight.sql)

    def constant(self, value: float) -> exp.Expr:
        """A constant of the weights' type."""
        return typed(number(value), self.sql_type)

    def checked(self, weight: Weight) -> Weight:
        """Refuse a statement that would grow without end."""
        if weight.factors > MAX_FACTORS:
            raise Unsupported(
                f"Unsupported: the conditions on perturbed columns are so entangled that a row's weight has more than "
                f"{MAX_FACTORS} factors. Ask for parts that exclude each other, and add them up."
            )
        return weight


def _sum(body: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=exp.Sum(this=body), expressions=[number(0.0)])
