"""Quantiles as an analyst asks for them, and the query that counts the values one lies among."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from ppdm_sql.query.understand.query import Query, conjuncts
from ppdm_sql.query.understand.scan import PREFIX, count_rows
from ppdm_sql.syntax.refuse import refuse

QUANTILES = (exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)


@dataclass(frozen=True)
class Asked:
    """One fraction of one argument, over the rows that WHERE and a FILTER leave."""

    argument: exp.Expr
    fraction: float
    interpolated: bool
    from_top: bool = False
    condition: exp.Expr | None = None


def quantile_name(index: int, part: str = "") -> str:
    """Name of a quantile between the steps; `part` is `_low`, `_high` or `_error`."""
    return f"{PREFIX}q{index}{part}"


def is_quantile(node: exp.Expr) -> bool:
    """Whether an aggregate is a quantile."""
    return isinstance(node, QUANTILES) or (isinstance(node, exp.WithinGroup) and isinstance(node.this, QUANTILES))


def read_quantile(query: Query, node: exp.Expr, condition: exp.Expr | None) -> tuple[list[Asked], bool]:
    """What a quantile asks for, and whether it is a list.

    >>> import sqlglot
    >>> call = sqlglot.parse_one("QUANTILE_CONT(a, [0.1, 0.9])", dialect="duckdb")
    >>> [one.fraction for one in read_quantile(None, call, None)[0]]
    [0.1, 0.9]
    """
    function, argument, order = node, node.this, None
    if isinstance(node, exp.WithinGroup):
        function = node.this
        order, share = node.expression, function.this
        argument = order.expressions[0].this
    else:
        share = function.args.get("expression") or function.args.get("quantile")
        if isinstance(share, exp.Order):
            order, share = share, share.this
    if isinstance(argument, exp.Distinct) or (order is not None and len(order.expressions) > 1):
        refuse(query.sql, node, "a quantile of distinct values, or by several, cannot be reconstructed.", "")
    if order is not None and order.expressions[0].this != argument:
        refuse(query.sql, node, "a quantile ordered by something else cannot be reconstructed.", "")
    downwards = order is not None and bool(order.expressions[0].args.get("desc"))
    interpolated = isinstance(function, exp.Median | exp.PercentileCont | exp.ApproxQuantile)
    shares = share.expressions if isinstance(share, exp.Array) else [share]
    if not shares:
        refuse(query.sql, node, "its list of fractions is empty.", "Name one at least.")
    fractions = [0.5 if isinstance(function, exp.Median) else _fraction(query, node, one) for one in shares]
    found = [
        Asked(argument, 1 - q if downwards and interpolated else q, interpolated, downwards, condition)
        for q in fractions
    ]
    return found, isinstance(share, exp.Array)


def _fraction(query: Query, node: exp.Expr, share: exp.Expr | None) -> float:
    if not isinstance(share, exp.Literal) or share.is_string:
        refuse(query.sql, node, "the fraction of a quantile must be a number written out.", "")
    fraction = float(share.this)
    if not 0 < fraction < 1:
        why = "the fraction must lie between 0 and 1: an extreme value belongs to one row, and no row can be trusted."
        refuse(query.sql, node, why, "Ask for 0.01 or 0.99.")
    return fraction


def counting(query: Query, asked: Asked, label: exp.Expr) -> Query:
    """The query that counts rows by the value, or by `label` in its place, with the errors of the counts."""
    counted = exp.Select(
        expressions=[count_rows(), exp.Anonymous(this="ppdm_error", expressions=[count_rows()])],
        from_=exp.From(this=query.table.copy()),
    )
    further = conjuncts(asked.condition)
    return replace(
        query,
        tree=counted,
        settings=replace(query.settings, method="inversion", errors="off"),
        keys=(*(query.keys[i] for i in query.present_keys), label),
        sets=(),
        absent=frozenset(),
        exact=(*query.exact, *(part for part in further if not query.perturbed_in(part))),
        hidden=(*query.hidden, *(part for part in further if query.perturbed_in(part))),
        quantiles=(),
        natives=(),
        labels={},
    )


def quantiles_in(node: exp.Expr) -> Iterator[str]:
    """The names of the quantiles that an expression over aggregates mentions."""
    return (column.name for column in node.find_all(exp.Column) if column.name.startswith(f"{PREFIX}q"))
