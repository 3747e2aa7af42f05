"""Inversion as a sum of row weights: any number of columns, no states.

A row's weight is the product over columns of (1[in cell] - (1 - p) R) / p; AND multiplies, OR is the complement of a
product of complements. Where one column stands in several places that share others, the formula is split on that
column's cells first, so that every product has each column once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.formula import (
    FALSE,
    TRUE,
    All,
    Atom,
    Formula,
    components,
    most_shared_axis,
    restrict,
    simplify,
)
from ppdm_sql.query.plan.plan import Plan, PlannedProduct, PlannedTotal
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.plan.seldom_shown import first_names
from ppdm_sql.query.plan.weight import Weight, WeightStyle
from ppdm_sql.query.sql.noise_weight import noise_weight
from ppdm_sql.query.understand.query import Value
from ppdm_sql.query.understand.scan import Scan, conjunction, number, total, typed
from ppdm_sql.syntax.parentheses import grouped

FLOAT_ROWS = 10**8
"""Up to here the rounding of FLOAT weights stays below a hundredth of the standard error; DOUBLE is a sixth slower."""

FLOAT_SCALE, DOUBLE_SCALE = 1e12, 1e140
"""How much weights of each type may be scaled up: their squares underflow beyond, and errors would come out as none."""

MAX_FACTORS = 2_000
"""A formula that needs more is refused rather than sent as a statement of megabytes."""


def estimate_by_weights(scan: Scan, plan: Plan, total: PlannedTotal) -> exp.Expr:
    """The estimate from the sum of the weights."""
    weight = RowWeights(plan).of_total(total)
    return exp.Mul(this=number(weight.scale), expression=scan.add(_sum(weight.body)))


def covariance_by_weights(scan: Scan, plan: Plan, one: PlannedTotal, other: PlannedTotal, square: exp.Expr) -> exp.Expr:
    """The covariance from the sum of the products of the weights; `square` estimates that of the true ones."""
    v, w = (RowWeights(plan).of_total(total) for total in (one, other))
    products = scan.add(_sum(exp.Mul(this=exp.Paren(this=v.body), expression=exp.Paren(this=w.body))))
    scaled = exp.Mul(this=number(v.scale * w.scale), expression=products)
    return exp.Sub(this=scaled, expression=exp.Paren(this=square))


class RowWeights:
    """Builds the weights of rows towards the totals of a plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        counts = all(total.counted is not None for total in plan.totals)
        scale = self.largest_scale()
        narrow = (
            counts
            and scale <= FLOAT_SCALE
            and plan.query.manifest.rows <= FLOAT_ROWS
            and not plan.query.settings.portable
            and all(axis.fits_float for axis in plan.axes)
        )
        self.style = WeightStyle("FLOAT" if narrow else "DOUBLE", plan.query.settings.portable)
        self.cells = plan.cell_counts
        self.perturbed = frozenset(i for i, axis in enumerate(plan.axes) if axis.perturbed)

    def largest_scale(self) -> float:
        """The scale of a weight in which every perturbed column takes part; refused where DOUBLE cannot hold it."""
        retains = [math.prod(axis.retentions.values()) for axis in self.plan.axes]
        scale = math.prod(1 / retain for retain in retains)
        if scale > DOUBLE_SCALE:
            names = sorted({name for axis in self.plan.axes for name in axis.retentions})
            raise Unsupported(
                f"Unsupported: it asks for {len(names)} perturbed columns at once ({first_names(names)}), so that an "
                f"estimate would be made of numbers 10^{math.log10(scale):.0f} times as large as itself. "
                "Ask for fewer at a time."
            )
        return scale

    def of_total(self, total: PlannedTotal) -> Weight:
        """What a row adds to the estimate of a total."""
        parts = [self.of_product(product) for product in total.products]
        return self.total(parts) if parts else Weight(0.0)

    def of_product(self, product: PlannedProduct) -> Weight:
        """What a row adds to one part of it: the formula is split on the columns whose values are added up."""
        if product.powers:
            noise = Weight(1.0, *noise_weight(product.powers, self.plan.query.noise_covariance))
            return self.product([noise, self.of_product(replace(product, powers=()))])
        if product.factor is None:
            return self.valued(product.formula, product.values)
        exact, rest = self.exact_part(product.formula)
        factor: exp.Expr = exp.Coalesce(this=typed(product.factor.copy(), "DOUBLE"), expressions=[number(0.0)])
        if exact:  # the factor may be infinite, or an error, for rows that it is not meant for
            factor = exp.Case(ifs=[exp.If(this=conjunction(exact), true=factor)], default=number(0.0))
        return self.product([Weight(1.0, factor, 1), self.valued(rest, product.values)])

    def exact_part(self, formula: Formula) -> tuple[list[exp.Expr], Formula]:
        """The exact conditions that a formula needs, as tests, and what is left of it."""
        parts = formula.parts if isinstance(formula, All) else (formula,)
        exact = [part for part in parts if isinstance(part, Atom) and part.axis not in self.perturbed]
        tests = [grouped(self.plan.axes[part.axis].test(part.cells)) for part in exact]
        return tests, simplify(All(tuple(part for part in parts if part not in exact)), self.cells)

    def valued(self, formula: Formula, values: tuple[Value, ...]) -> Weight:
        """The weight of a row towards the sum of a product of values over the rows that meet a formula."""
        if not values:
            return self.weight(formula)
        first, rest = values[0], values[1:]
        return self.total(
            [
                self.product([self.value(first, frozenset(cells)), self.valued(remaining, rest)])
                for remaining, cells in self.branches(formula, first.axis).items()
            ]
        )

    def value(self, value: Value, inside: frozenset[int]) -> Weight:
        """What a row adds to the sum of a value over the rows in some cells of its axis."""
        return self.plan.axes[value.axis].value_weight(value.index, inside, self.style)

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
        """What a row adds to the number of rows in some cells of an axis."""
        return axis.weight(inside, self.style)

    def split(self, formula: Formula, axis: int) -> Weight:
        """Sum over the cells of one axis, those with the same remaining formula taken together."""
        return self.total(
            [
                self.product([self.atom(self.plan.axes[axis], frozenset(cells)), self.weight(rest)])
                for rest, cells in self.branches(formula, axis).items()
            ]
        )

    def branches(self, formula: Formula, axis: int) -> dict[Formula, set[int]]:
        """What remains of a formula in the cells of an axis, where it can still be met."""
        found: dict[Formula, set[int]] = {}
        for cell in range(self.cells[axis]):
            found.setdefault(restrict(formula, axis, cell, self.cells), set()).add(cell)
        found.pop(FALSE, None)
        return found

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
        if len(weights) < 2:
            return weights[0] if weights else Weight(0.0)
        body = exp.Paren(this=total([self.scaled(weight) for weight in weights]))
        return self.checked(Weight(1.0, body, sum(weight.factors for weight in weights)))

    def complement(self, weight: Weight) -> Weight:
        """1 - weight."""
        body = exp.Paren(this=exp.Sub(this=self.style.constant(1.0), expression=self.scaled(weight)))
        return Weight(1.0, body, weight.factors)

    def scaled(self, weight: Weight) -> exp.Expr:
        """The weight with its scale inside."""
        scale = self.style.constant(weight.scale)
        return scale if weight.sql is None else exp.Mul(this=scale, expression=weight.sql)

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
