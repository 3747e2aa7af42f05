"""Sums over rows: an expression inside SUM becomes products of one function a column, which can be reconstructed.

A sum of expressions is a sum of totals; a CASE is a sum over its branches; a product of an exact and a perturbed column
keeps the exact one as a factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.query.understand.noise import Variable, times
from ppdm_sql.query.understand.query import Condition, Junction, Product, Query, Total, Value
from ppdm_sql.query.understand.scan import typed
from ppdm_sql.query.understand.shifts import CENTRED
from ppdm_sql.query.understand.terms import Terms
from ppdm_sql.syntax.parentheses import bare, grouped
from ppdm_sql.syntax.refuse import refuse

ALWAYS = Junction(True)
MAX_POWER = 4
"""Of a column with noise; errors need twice as much."""


class Totals:
    """Collects the totals of one query, each once."""

    def __init__(self, query: Query, terms: Terms) -> None:
        self.query = query
        self.terms = terms
        self.found: dict[Total, int] = {}

    def count(self, condition: Condition) -> int:
        """The number of the total that counts the rows meeting a condition."""
        return self._number(Total((Product(condition),)))

    def sum(self, node: exp.Expr, condition: Condition) -> int:
        """The number of the total of an expression over the rows meeting a condition; NULLs add nothing."""
        parts = [replace(part, condition=both(condition, part.condition)) for part in self._products(node)]
        return self._number(Total(tuple(parts)))

    def square(self, one: int, other: int) -> int:
        """The number of the total of the products, row by row, of two totals: what their covariance needs."""
        totals = list(self.found)
        parts = [self._multiply(a, b) for a in totals[one].products for b in totals[other].products]
        return self._number(Total(tuple(parts)))

    def known(self, node: exp.Expr) -> Condition:
        """The rows for which an expression is not NULL."""
        node = bare(node)
        noisy = self.noisy(node)
        if noisy and isinstance(node, exp.Column):
            return self.terms.present(noisy[0]) if noisy[0].keeps_null else ALWAYS
        if not noisy and len(self.query.perturbed_in(node)) + self.terms.has_exact(node) <= 1:
            return self._is_known(node)
        if isinstance(node, exp.Neg) or _is_real(node) or _power(node) is not None:
            return self.known(node.this)
        if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
            return both(self.known(node.this), self.known(node.expression))
        if isinstance(node, exp.Case | exp.If):
            return Junction(False, tuple(both(when, self.known(then)) for when, then in self._branches(node)))
        return self._refuse(node) if noisy or self.terms.has_exact(node) else self._is_known(node)

    def _is_known(self, node: exp.Expr) -> Condition:
        return self.terms.condition(exp.Not(this=exp.Is(this=grouped(node.copy()), expression=exp.Null())))

    def _number(self, total: Total) -> int:
        return self.found.setdefault(total, len(self.found))

    def _products(self, node: exp.Expr) -> list[Product]:
        node = bare(node)
        perturbed = self.query.perturbed_in(node)
        if not perturbed:
            return [Product(ALWAYS, (), typed(node.copy(), "DOUBLE"))]
        noisy = self.noisy(node)
        if noisy and isinstance(node, exp.Column):
            centre = noisy[0].middle if node.meta.get(CENTRED) else 0.0
            return [Product(ALWAYS, powers=((Variable(noisy[0].name, centre), 1),))]
        if len(perturbed) == 1 and not noisy and not self.terms.has_exact(node):
            return [Product(ALWAYS, (self.terms.value(typed(node.copy(), "DOUBLE"), perturbed),))]
        if isinstance(node, exp.Neg):
            return self._scaled(node.this, exp.Literal.number(-1))
        if _is_real(node):
            return self._products(node.this)
        power = _power(node)
        if noisy and power is not None:
            return self._raised(self._products(node.this), power)
        if isinstance(node, exp.Add | exp.Sub):
            left, right = node.this, node.expression
            parts = [self._given(part, self.known(right)) for part in self._products(left)]
            others = self._scaled(right, exp.Literal.number(-1)) if isinstance(node, exp.Sub) else self._products(right)
            return parts + [self._given(part, self.known(left)) for part in others]
        if isinstance(node, exp.Mul):
            return [self._multiply(a, b) for a in self._products(node.this) for b in self._products(node.expression)]
        if isinstance(node, exp.Div) and not self.query.perturbed_in(node.expression):
            inverse = exp.Div(this=exp.Literal.number("1e0"), expression=grouped(node.expression.copy()))
            return self._scaled(node.this, inverse)
        if isinstance(node, exp.Case | exp.If):
            return [self._given(part, when) for when, then in self._branches(node) for part in self._products(then)]
        if not noisy and not self.terms.has_exact(node):
            return [Product(ALWAYS, (self.terms.value(typed(node.copy(), "DOUBLE"), perturbed),))]
        return self._refuse(node)

    def _branches(self, node: exp.Expr) -> list[tuple[Condition, exp.Expr]]:
        """Every outcome of a CASE with the condition that leads there; a missing ELSE is NULL and leads nowhere."""
        earlier: list[Condition] = []
        branches = []
        ifs = node.args["ifs"] if isinstance(node, exp.Case) else [node]
        for branch in ifs:
            test = branch.this
            if isinstance(node, exp.Case) and node.this is not None:
                test = exp.EQ(this=grouped(node.this.copy()), expression=grouped(test.copy()))
            then = branch.args["true"]
            branches.append((Junction(True, (*earlier, self.terms.condition(test))), then))
            earlier.append(self.terms.condition(test, otherwise=True))
        default = node.args.get("default") or node.args.get("false")
        if default is not None:
            branches.append((Junction(True, tuple(earlier)), default))
        return [(when, then) for when, then in branches if not isinstance(then, exp.Null)]

    def _raised(self, parts: list[Product], power: int) -> list[Product]:
        result = parts
        for _ in range(power - 1):
            result = [self._multiply(a, b) for a in result for b in parts]
        return result

    def _scaled(self, node: exp.Expr, factor: exp.Expr) -> list[Product]:
        scale = Product(ALWAYS, (), factor)
        return [self._multiply(part, scale) for part in self._products(node)]

    def _given(self, part: Product, condition: Condition) -> Product:
        return replace(part, condition=both(part.condition, condition))

    def noisy(self, node: exp.Expr) -> list[PerturbedColumn]:
        """The columns with Gaussian noise below a node."""
        return [column for column in self.query.perturbed_in(node) if column.adds_noise]

    def _multiply(self, one: Product, other: Product) -> Product:
        """The product of two parts; two values of one column become one value."""
        values: dict[int, Value] = {value.axis: value for value in one.values}
        for value in other.values:
            if value.axis in values:
                values[value.axis] = self.terms.product(values[value.axis], value)
            else:
                values[value.axis] = value
        factors = [part.factor for part in (one, other) if part.factor is not None]
        factor = exp.Mul(this=factors[0].copy(), expression=factors[1].copy()) if len(factors) == 2 else None
        return Product(
            both(one.condition, other.condition),
            tuple(values[axis] for axis in sorted(values)),
            factor or (factors[0] if factors else None),
            times(one.powers, other.powers),
        )

    def _refuse(self, node: exp.Expr) -> NoReturn:
        names = " and ".join(column.name for column in self.query.perturbed_in(node))
        noisy = self.noisy(node)
        if noisy:
            refuse(
                self.query.sql,
                node,
                f"Gaussian noise on {noisy[0].name} can be taken out of sums, products and small powers of it only.",
                "Write it as such, or count ranges.",
            )
        refuse(
            self.query.sql,
            node,
            f"it is not a sum of products of {names} and exact columns.",
            "Sum expressions of one perturbed column, or products of such.",
        )


def _is_real(node: exp.Expr) -> bool:
    """Whether it is a cast that loses nothing of a number."""
    return type(node) is exp.Cast and node.to.this in (exp.DType.DOUBLE, exp.DType.FLOAT)


def _power(node: exp.Expr) -> int | None:
    """The exponent, if it is a small whole number."""
    if isinstance(node, exp.Pow) and isinstance(bare(node.expression), exp.Literal):
        text = bare(node.expression).this
        return int(text) if text.isdigit() and 1 <= int(text) <= MAX_POWER else None
    return None


def both(*conditions: Condition) -> Condition:
    """All of the conditions."""
    parts: Sequence[Condition] = [c for c in conditions if c != ALWAYS]
    return parts[0] if len(parts) == 1 else Junction(True, tuple(parts))
