"""What a row adds to the sum of a product of columns with Gaussian noise, as SQL."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from ppdm_sql.query.understand.noise import Powers, Variable, corrected
from ppdm_sql.query.understand.scan import number, product, total


def noise_weight(powers: Powers, covariance: Callable[[str, str], float]) -> tuple[exp.Expr, int]:
    """The product, less what noise adds to it on average, and the number of its terms; 0 where a column is NULL.

    >>> noise_weight(((Variable("pay"), 2),), lambda one, other: 9.0)[0].sql()
    'COALESCE(("pay" * "pay" + -9.0e0), 0.0e0)'
    """
    parts = []
    for term, value in corrected(powers, covariance).items():
        factors = [_sql(variable) for variable, power in term for _ in range(power)]
        parts.append(product([*([] if factors and value == 1 else [number(value)]), *factors]))
    return exp.Coalesce(this=exp.Paren(this=total(parts)), expressions=[number(0.0)]), len(parts)


def _sql(variable: Variable) -> exp.Expr:
    column = exp.column(exp.to_identifier(variable.name, quoted=True))
    return exp.Paren(this=exp.Sub(this=column, expression=number(variable.centre))) if variable.centre else column
