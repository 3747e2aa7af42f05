"""The analyst's own SELECT, evaluated on groups that now carry estimates.

The statement has three levels: the scan counts, the middle turns counts into totals and their covariances, the outer
one is what the analyst wrote, with expressions over totals in the place of aggregates.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import NormalDist

from sqlglot import exp

from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.derivative import NoDerivative, derivative
from ppdm_sql.query.sql.groups import groups_select
from ppdm_sql.query.sql.interval_ends import interval_ends, is_kinked
from ppdm_sql.query.sql.union_intervals import END
from ppdm_sql.query.understand.estimates import holds_estimate
from ppdm_sql.query.understand.grouping_sets import CALLS, SET, grouping_call, union
from ppdm_sql.query.understand.names import CORRELATED
from ppdm_sql.query.understand.quantiles import quantiles_in
from ppdm_sql.query.understand.query import ALIAS, Query, path_column, totals_in
from ppdm_sql.query.understand.scan import (
    PREFIX,
    conjunction,
    covariance_name,
    disjunction,
    estimate_name,
    inner,
    key_name,
    named,
    number,
    product,
    total,
    typed,
)
from ppdm_sql.query.understand.shape import PPDM_FUNCTIONS, is_windowed
from ppdm_sql.syntax.dialects import ANALYST
from ppdm_sql.syntax.output_names import output_name
from ppdm_sql.syntax.parentheses import bare, grouped
from ppdm_sql.syntax.refuse import misread, refuse

UNGROUPED = "it must appear in GROUP BY, or inside an aggregate."


def inversion_statement(plans: Sequence[Plan]) -> exp.Select:
    """One statement from the perturbed table to the answer; several plans are those of grouping sets."""
    if len(plans) == 1:
        groups: exp.Expr = groups_select(plans[0])
    else:
        groups = union([groups_select(plan) for plan in plans])
    return answer_statement(plans, inner(groups, "ppdm_groups"))


def answer_statement(plans: Sequence[Plan], groups: exp.Expr) -> exp.Select:
    """The outer SELECT over `groups`, a relation with keys, totals and covariances under their names."""
    query, tree = plans[0].query, plans[0].query.tree
    outer = _Outer(plans, groups)
    items: list[exp.Expr] = []
    for item in tree.expressions:
        name = output_name(item)
        outer.places.append(len(items) + 1)
        items.append(named(outer.rewrite(item.unalias()), name, quoted=True))
        items.extend(outer.interval_columns(item.unalias(), name))
    statement = exp.Select(expressions=items)
    having = tree.args.get("having")
    wheres = [*_present(query), *([outer.rewrite(having.this)] if having is not None else [])]
    if wheres:
        wheres = [grouped(where) for where in wheres] if len(wheres) > 1 else wheres
        statement.set("where", exp.Where(this=conjunction(wheres)))
    for part in ("distinct", "qualify", "order", "limit", "offset"):
        node = tree.args.get(part)
        if node is not None:  # a number of rows is no group, though a group may be a constant that is like it
            statement.set(part, node.copy() if part in ("limit", "offset") else outer.rewrite(node))
    if not query.keys and having is None and not query.aggregates:
        misread(query.sql, tree, "it has neither an aggregate nor a group.")
    statement.set("from_", exp.From(this=outer.with_slopes()))
    return statement


def _present(query: Query) -> list[exp.Expr]:
    """That a group has a row, where it is known; the group of all rows is there anyway."""
    if query.present is None:
        return []
    own = exp.GT(this=exp.column(estimate_name(query.present)), expression=number(0.5))
    everything = [
        exp.EQ(this=exp.column(SET), expression=exp.Literal.number(i)) for i, s in enumerate(query.sets) if not s
    ]
    return [disjunction([own, *everything])]


def _text(node: exp.Expr) -> str:
    return node.sql(dialect=ANALYST)


class _Outer:
    def __init__(self, plans: Sequence[Plan], groups: exp.Expr) -> None:
        self.plans = plans
        self.groups = groups
        self.places: list[int] = []
        self.slopes: dict[exp.Expr, str] = {}
        self.query: Query = plans[0].query
        self.keys = {_text(bare(key)): i for i, key in enumerate(self.query.keys)}
        self.quantile = NormalDist().inv_cdf(0.5 + self.query.settings.confidence / 2)

    def rewrite(self, node: exp.Expr) -> exp.Expr:
        """The expression with keys and aggregates replaced by the columns that hold them."""
        if isinstance(node, exp.Anonymous) and node.name.lower() in PPDM_FUNCTIONS:
            return self.bound(node)
        counted = isinstance(node, exp.Star) and isinstance(node.parent, exp.Count) and is_windowed(node.parent)
        if counted or node.meta.get(ALIAS):
            return node.copy()
        plain = bare(node) if isinstance(node, exp.Subquery) else node
        text = "" if isinstance(node, exp.Ordered) else _text(plain)  # ascending, it reads like what it orders by
        if isinstance(node, CALLS):
            return grouping_call(self.query, node)
        if text in self.query.aggregates and not is_windowed(node):
            return self.query.aggregates[text].copy()
        if text in self.keys:
            return self.key(self.keys[text])
        if isinstance(node, exp.Query):
            return self.subquery(node)
        if isinstance(node, exp.Ordered) and isinstance(node.this, exp.Literal) and node.this.this.isdigit():
            return self.by_position(node)
        self.check(node)
        copy = node.copy()
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                copy.set(name, self.rewrite(value))
            elif isinstance(value, list):
                copy.set(name, [self.rewrite(v) if isinstance(v, exp.Expr) else v for v in value])
        return copy

    def check(self, node: exp.Expr) -> None:
        """Refuse what means nothing beside aggregates, and `count(*) // 7`: an estimate is a DOUBLE."""
        if isinstance(node, exp.Star) or node.is_star:
            misread(self.query.sql, node, "a star has no meaning beside aggregates.")
        if isinstance(node, exp.Column):
            misread(self.query.sql, node, UNGROUPED)
        whole = node.find_all(exp.Count, exp.CountIf, exp.Sum) if isinstance(node, exp.IntDiv) else ()
        if any(totals_in(self.query.aggregates.get(_text(call), exp.null())) for call in whole):
            why = "an estimate has decimals, and // leaves out those of whole numbers only."
            refuse(self.query.sql, node, why, "Divide by / and put floor(..) around it.")

    def subquery(self, node: exp.Expr) -> exp.Expr:
        """A subquery, with the groups' keys in the place of the columns that it has of the query around it."""
        found = node.copy()
        for below in list(found.walk(prune=lambda one: self.correlated_key(one) is not None)):
            index = self.correlated_key(below)
            if index is not None:
                below.replace(self.key(index))
            elif below.meta.get(CORRELATED):
                misread(self.query.sql, below, UNGROUPED)
        return found

    def correlated_key(self, node: exp.Expr) -> int | None:
        """The key that an expression inside a subquery is, whose columns are all of the query around it."""
        columns = list(node.find_all(exp.Column))
        if not columns or not all(column.meta.get(CORRELATED) for column in columns):
            return None
        plain = exp.Paren(this=node.copy())
        for column in list(plain.find_all(exp.Column)):
            column.replace(path_column(column.parts[1:]))
        return self.keys.get(_text(bare(plain)))

    def by_position(self, node: exp.Ordered) -> exp.Expr:
        """ORDER BY a position: that of the item among the columns of the result, to which intervals may be added."""
        moved = node.copy()
        if 1 <= int(node.this.this) <= len(self.places):
            moved.set("this", exp.Literal.number(self.places[int(node.this.this) - 1]))
        return moved

    def key(self, index: int) -> exp.Expr:
        """A key; an ENUM that went through Arrow is text, and is given its order back."""
        column = exp.column(key_name(index))
        node = bare(self.query.keys[index])
        released = self.query.column(node.name) if isinstance(node, exp.Column) else None
        if released is None or released.type.family != "enum" or isinstance(self.groups, exp.Subquery):
            return column
        return exp.Cast(this=column, to=exp.DataType.build(released.type.name, dialect=ANALYST))

    def bound(self, call: exp.Anonymous) -> exp.Expr:
        """ppdm_error, ppdm_low or ppdm_high of an expression over aggregates."""
        if len(call.expressions) != 1:
            misread(self.query.sql, call, "it takes exactly one expression, such as count(*).")
        if any(inner.name.lower() in PPDM_FUNCTIONS for inner in call.find_all(exp.Anonymous) if inner is not call):
            misread(self.query.sql, call, "the error of an error is not known.")
        try:
            return self.bounds(call.expressions[0])[PPDM_FUNCTIONS.index(call.name.lower())]
        except NoDerivative:
            refuse(
                self.query.sql,
                call,
                "the error of this expression is not known.",
                "Ask for that of the aggregates in it, or of sums, products and ratios of them.",
            )

    def bounds(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """Standard error, lower and upper end of the interval of an expression over aggregates."""
        if holds_estimate(node):  # whose own error is not at hand
            raise NoDerivative(node)
        value = exp.Paren(this=self.rewrite(node))
        quantiles = list(quantiles_in(value))
        if quantiles:
            if not isinstance(value.this, exp.Column):
                raise NoDerivative(node)
            name = quantiles[0]
            return exp.column(f"{name}_error"), exp.column(f"{name}_low"), exp.column(f"{name}_high")
        if is_kinked(node, self.is_column):
            return self.kinked(node)
        error = self.error(value.this)
        if error is None:
            return number(0.0), value, value.copy()
        width = exp.Mul(this=number(self.quantile), expression=error)
        return (
            error.copy(),
            exp.Paren(this=exp.Sub(this=value, expression=width)),
            exp.Paren(this=exp.Add(this=value.copy(), expression=width.copy())),
        )

    def is_column(self, node: exp.Expr) -> bool:
        """Whether an expression is an aggregate that was reconstructed, or a group's key."""
        text = _text(node)
        return text in self.query.aggregates or text in self.keys

    def kinked(self, node: exp.Expr) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """Likewise of an expression that has a kink: by the ends of the intervals of what is in it."""

        def smooth(below: exp.Expr) -> tuple[exp.Expr, exp.Expr] | None:
            if is_kinked(below, self.is_column):
                return None
            error, low, high = self.bounds(below)
            return None if isinstance(error, exp.Literal) else (low, high)

        ends = interval_ends(node, self.rewrite, smooth, self.is_column)
        if ends is None:
            value = exp.Paren(this=self.rewrite(node))
            return number(0.0), value, value.copy()
        low, high = (typed(end, "DOUBLE") for end in ends)
        width = exp.Paren(this=exp.Sub(this=high.copy(), expression=low.copy()))
        return exp.Div(this=width, expression=number(2 * self.quantile), typed=False, safe=False), low, high

    def error(self, value: exp.Expr) -> exp.Expr | None:
        """The standard error by the delta method: the gradient on both sides of the covariance matrix.

        It is infinite where a count that something is divided by cannot be told from zero: there may be nobody, and
        nothing is known of an average over nobody.
        """
        variance = self.variance(value)
        if variance is None:
            return None
        error = exp.Sqrt(this=exp.Greatest(this=typed(variance, "DOUBLE"), expressions=[number(0.0)]))
        bottoms = {ratio.expression: None for ratio in value.find_all(exp.Div)}
        unsure = [test for bottom in bottoms if (test := self.may_be_zero(bottom)) is not None]
        if not unsure:
            return error
        infinite = exp.If(this=disjunction(unsure), true=typed(exp.Literal.string("Infinity"), "DOUBLE"))
        return exp.Case(ifs=[infinite], default=error)

    def may_be_zero(self, bottom: exp.Expr) -> exp.Expr | None:
        """Whether zero is inside the interval of a denominator; None where it is certain."""
        if not totals_in(bottom):
            return None
        variance = self.variance(bottom)
        if variance is None:
            return None
        square = product([exp.Paren(this=bottom.copy()), exp.Paren(this=bottom.copy())])
        spread = exp.Mul(this=number(self.quantile**2), expression=exp.Abs(this=variance))
        return exp.Paren(this=exp.LTE(this=square, expression=spread))

    def variance(self, value: exp.Expr) -> exp.Expr | None:
        """The gradient on both sides of the covariance matrix; None where the value is certain."""
        uncertain = [i for i in sorted(totals_in(value)) if not self.certain(i)]
        found = {i: derivative(value, estimate_name(i)) for i in uncertain}
        slopes = {i: self.slope(one) for i, one in found.items() if one is not None}
        parts: list[exp.Expr] = []
        for (i, first), (j, second) in itertools.combinations_with_replacement(slopes.items(), 2):
            twice = [] if i == j else [number(2.0)]
            parts.append(product([*twice, first.copy(), second.copy(), exp.column(covariance_name(i, j))]))
        return exp.Paren(this=total(parts)) if parts else None

    def certain(self, index: int) -> bool:
        """Whether a total is exact in every grouping set."""
        return all(piece.certain(piece.totals[index]) for plan in self.plans for piece in plan.pieces)

    def slope(self, expression: exp.Expr) -> exp.Expr:
        """A derivative by name: in a variance of many totals each is used many times, and may be long."""
        if isinstance(expression, exp.Literal | exp.Column):
            return expression
        return exp.column(self.slopes.setdefault(expression, f"{PREFIX}d{len(self.slopes)}"))

    def with_slopes(self) -> exp.Expr:
        """The groups, with the derivatives as further columns."""
        if not self.slopes:
            return self.groups
        columns = [exp.Star(), *(named(slope, name) for slope, name in self.slopes.items())]
        return inner(exp.Select(expressions=columns, from_=exp.From(this=self.groups)), "ppdm_sloped")

    def interval_columns(self, item: exp.Expr, name: str) -> list[exp.Expr]:
        """With SET ppdm_errors = 'columns': the ends of the interval, beside each estimate."""
        if self.query.settings.errors != "columns" or any(
            call.name.lower() in PPDM_FUNCTIONS for call in item.find_all(exp.Anonymous)
        ):
            return []
        try:
            error, low, high = self.bounds(item)
        except NoDerivative:
            return []
        if isinstance(error, exp.Literal):
            return []
        ends: list[exp.Expr] = [named(low, f"{name}_low", quoted=True), named(high, f"{name}_high", quoted=True)]
        for end in ends:
            end.meta[END] = True
        return ends
