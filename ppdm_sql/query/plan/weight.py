"""What a row adds to an estimate, as SQL."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.query.understand.scan import number, typed


@dataclass(frozen=True)
class Weight:
    """`scale` times the SQL expression; None stands for 1. Scales are taken out of the sum over rows."""

    scale: float
    sql: exp.Expr | None = None
    factors: int = 0

    @property
    def body(self) -> exp.Expr:
        """The expression to add up."""
        return number(1.0) if self.sql is None else self.sql.copy()


@dataclass(frozen=True)
class WeightStyle:
    """How weights are written: in which SQL type, and whether for any engine."""

    sql_type: str
    portable: bool

    def constant(self, value: float) -> exp.Expr:
        """A constant of the weights' type."""
        return typed(number(value), self.sql_type)

    def indicator(self, test: exp.Expr, nullable: bool) -> exp.Expr:
        """1 where the test is TRUE, else 0: a cast is quicker than a CASE, but not every engine casts truth values."""
        if self.portable:
            return exp.Case(ifs=[exp.If(this=test, true=self.constant(1.0))], default=self.constant(0.0))
        known = exp.Coalesce(this=test, expressions=[exp.false()]) if nullable else test
        return typed(known, self.sql_type)
