"""The analyst's own SELECT, evaluated on groups that now carry estimates.

The statement has three levels: the scan counts, the middle turns counts into estimates and standard errors, the outer
one is what the analyst wrote, with estimates in the place of aggregates.
"""

from __future__ import annotations

from statistics import NormalDist

from sqlglot import exp

from ppdm_sql.rewrite.counts import estimate_by_counts, states
from ppdm_sql.rewrite.formula import FALSE, TRUE, Formula
from ppdm_sql.rewrite.plan import Plan
from ppdm_sql.rewrite.query import Query
from ppdm_sql.rewrite.refuse import misread, refuse
from ppdm_sql.rewrite.scan import Scan, count_rows, error_name, estimate_name, inner, key_name, named, number, typed
from ppdm_sql.rewrite.shape import PPDM_FUNCTIONS
from ppdm_sql.rewrite.weights import estimate_by_weights

MAX_COUNTED_STATES = 8
"""Measured: up to here counting conjunctions beats summing weights."""


def inversion_statement(plan: Plan) -> exp.Select:
    """One statement from the perturbed table to the answer."""
    scan = Scan(plan.query)
    columns: list[exp.Expr] = [exp.column(key_name(i)) for i in range(len(plan.query.keys))]
    for i, (aggregate, formula) in enumerate(zip(plan.query.aggregates, plan.formulas, strict=True)):
        if formula is None:
            columns.append(named(scan.add(aggregate.node), estimate_name(i)))
            continue
        estimate, variance = _estimate(scan, plan, formula, needs_error(plan, i))
        columns.append(named(typed(estimate, "DOUBLE"), estimate_name(i)))
        if variance is not None:
            columns.append(named(standard_error(variance), error_name(i)))
    middle = exp.Select(expressions=columns, from_=exp.From(this=inner(scan.select(), "ppdm_scan")))
    return answer_statement(plan, inner(middle, "ppdm_groups"))


def standard_error(variance: exp.Expr) -> exp.Expr:
    """The root of a variance estimate, which chance may take a little below zero."""
    return exp.Sqrt(this=exp.Greatest(this=typed(variance, "DOUBLE"), expressions=[number(0.0)]))


def _estimate(scan: Scan, plan: Plan, formula: Formula, with_error: bool) -> tuple[exp.Expr, exp.Expr | None]:
    if formula == TRUE:
        return scan.add(count_rows()), number(0.0)
    if formula == FALSE:
        scan.add(count_rows())
        return number(0.0), number(0.0)
    if states([plan.axes[i] for i in plan.axes_used(formula)]) <= MAX_COUNTED_STATES:
        return estimate_by_counts(scan, plan, formula)
    return estimate_by_weights(scan, plan, formula, with_error)


def needs_error(plan: Plan, index: int) -> bool:
    """Whether somebody looks at the aggregate's error; otherwise the scan need not compute it."""
    if plan.query.settings.errors != "off":
        return True
    text = _text(plan.query.aggregates[index].node)
    return any(
        call.name.lower() in PPDM_FUNCTIONS and any(_text(a.unnest()) == text for a in call.expressions)
        for call in plan.query.tree.find_all(exp.Anonymous)
    )


def answer_statement(plan: Plan, groups: exp.Expr) -> exp.Select:
    """The outer SELECT over `groups`, a relation with the keys, estimates and errors under their names."""
    query, tree = plan.query, plan.query.tree
    outer = _Outer(plan)
    items: list[exp.Expr] = []
    for item in tree.expressions:
        name = output_name(item)
        items.append(named(outer.rewrite(item.unalias()), name, quoted=True))
        items.extend(outer.interval_columns(item.unalias(), name))
    statement = exp.Select(expressions=items, from_=exp.From(this=groups))
    having = tree.args.get("having")
    if having is not None:
        statement.set("where", exp.Where(this=outer.rewrite(having.this)))
    for part in ("order", "limit", "offset"):
        node = tree.args.get(part)
        if node is not None:
            statement.set(part, outer.rewrite(node))
    if not query.keys and having is None and not query.aggregates:
        misread(query.sql, tree, "it has neither an aggregate nor a group.")
    return statement


def output_name(item: exp.Expr) -> str:
    """The name DuckDB gives a column of the result."""
    if isinstance(item, exp.Alias | exp.Column):
        return item.alias_or_name
    text = item.sql(dialect="duckdb", normalize_functions="lower", comments=False)
    return text.replace("count(*)", "count_star()").replace('"', "")


def _text(node: exp.Expr) -> str:
    return node.sql(dialect="duckdb")


class _Outer:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.query: Query = plan.query
        self.keys = {_text(key.unnest()): i for i, key in enumerate(self.query.keys)}
        self.aggregates = {_text(a.node): i for i, a in enumerate(self.query.aggregates)}
        self.quantile = NormalDist().inv_cdf(0.5 + self.query.settings.confidence / 2)

    def rewrite(self, node: exp.Expr) -> exp.Expr:
        """The expression with keys and aggregates replaced by the columns that hold them."""
        if isinstance(node, exp.Anonymous) and node.name.lower() in PPDM_FUNCTIONS:
            return self.bound(node)
        text = _text(node)
        if text in self.aggregates:
            return exp.column(estimate_name(self.aggregates[text]))
        if text in self.keys:
            return exp.column(key_name(self.keys[text]))
        if isinstance(node, exp.Column) and not node.meta.get("alias"):
            misread(self.query.sql, node, "it must appear in GROUP BY, or inside an aggregate.")
        copy = node.copy()
        for name, value in node.args.items():
            if isinstance(value, exp.Expr):
                copy.set(name, self.rewrite(value))
            elif isinstance(value, list):
                copy.set(name, [self.rewrite(v) if isinstance(v, exp.Expr) else v for v in value])
        return copy

    def bound(self, call: exp.Anonymous) -> exp.Expr:
        """ppdm_error, ppdm_low or ppdm_high of an aggregate."""
        if len(call.expressions) != 1:
            misread(self.query.sql, call, "it takes exactly one aggregate, such as count(*).")
        index = self.aggregates.get(_text(call.expressions[0].unnest()))
        if index is None:
            refuse(
                self.query.sql,
                call,
                "the error of this expression is not known yet.",
                "Ask for that of count(*) or count(column) itself.",
            )
        return self.bounds(index)[PPDM_FUNCTIONS.index(call.name.lower())]

    def bounds(self, index: int) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
        """Standard error, lower and upper end of the interval of an aggregate."""
        estimate = exp.column(estimate_name(index))
        if self.plan.formulas[index] is None:
            return number(0.0), estimate, estimate.copy()
        error = exp.column(error_name(index))
        width = exp.Mul(this=number(self.quantile), expression=error)
        return (
            error.copy(),
            exp.Paren(this=exp.Sub(this=estimate, expression=width)),
            exp.Paren(this=exp.Add(this=estimate.copy(), expression=width.copy())),
        )

    def interval_columns(self, item: exp.Expr, name: str) -> list[exp.Expr]:
        """With SET ppdm_errors = 'columns': the ends of the interval, beside each estimate."""
        index = self.aggregates.get(_text(item.unnest()))
        if self.query.settings.errors != "columns" or index is None or self.plan.formulas[index] is None:
            return []
        _, low, high = self.bounds(index)
        return [
            named(low, f"{name}_low", quoted=True),
            named(high, f"{name}_high", quoted=True),
        ]
