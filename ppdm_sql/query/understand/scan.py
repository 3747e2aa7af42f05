"""The one aggregate over the perturbed table: which columns it computes, under which names."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from ppdm_sql.query.understand.query import TOTAL, Query
from ppdm_sql.syntax.parentheses import grouped, is_number

PREFIX = "ppdm_"


class Scan:
    """Collects what the scan has to compute, each expression once."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._columns: dict[exp.Expr, str] = {}

    def add(self, expression: exp.Expr) -> exp.Column:
        """Ask for an aggregate; returns the name under which the scan gives it."""
        name = self._columns.setdefault(expression, f"{PREFIX}n{len(self._columns)}")
        return exp.column(name)

    def __len__(self) -> int:
        return len(self._columns)

    def select(self, extra: tuple[exp.Expr, ...] = ()) -> exp.Select:
        """The statement, grouped by the exact keys; `extra` are further grouping expressions."""
        grouping_keys = self.query.grouping or self.query.keys
        exact = [grouping_keys[i] for i in self.query.exact_keys]
        keys = [named(key.copy(), key_name(i)) for i, key in zip(self.query.exact_keys, exact, strict=True)]
        cells = [named(cell.copy(), cell_name(i)) for i, cell in enumerate(extra)]
        columns = [named(expression, name) for expression, name in self._columns.items()]
        if not (keys or cells or columns):
            columns = [named(count_rows(), f"{PREFIX}n0")]
        statement = exp.Select(expressions=[*keys, *cells, *columns], from_=exp.From(this=self.query.table.copy()))
        if self.query.exact:
            conditions = [grouped(condition.copy()) for condition in self.query.exact]
            statement.set("where", exp.Where(this=conjunction(conditions)))
        grouping = [no_position(key.copy()) for key in (*exact, *extra)]
        if grouping:
            statement.set("group", exp.Group(expressions=grouping))
        return statement


def no_position(key: exp.Expr) -> exp.Expr:
    """A constant that is grouped by would be read as the position of a column."""
    return exp.Coalesce(this=key, expressions=[key.copy()]) if is_number(key) else key


def key_name(index: int) -> str:
    """Name of a grouping expression between the steps."""
    return f"{PREFIX}k{index}"


def cell_name(index: int) -> str:
    """Name of an axis's cell between the steps."""
    return f"{PREFIX}c{index}"


def estimate_name(index: int) -> str:
    """Name of a total between the steps."""
    return f"{TOTAL}{index}"


def covariance_name(one: int, other: int) -> str:
    """Name of the covariance of two totals between the steps; of one with itself, its variance."""
    return f"{PREFIX}v{min(one, other)}_{max(one, other)}"


# sqlglot's own builders copy what they are given, at every level of a tree; these do not.


def named(expression: exp.Expr, name: str, quoted: bool = False) -> exp.Alias:
    """expression AS name."""
    return exp.Alias(this=expression, alias=exp.Identifier(this=name, quoted=quoted))


def typed(expression: exp.Expr, type_name: str) -> exp.Cast:
    """CAST(expression AS type)."""
    return exp.Cast(this=expression, to=exp.DataType(this=getattr(exp.DType, type_name)))


def conjunction(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by AND; TRUE without any."""
    return _joined(exp.And, conditions) if conditions else exp.true()


def disjunction(conditions: Sequence[exp.Expr]) -> exp.Expr:
    """The conditions joined by OR; FALSE without any."""
    return _joined(exp.Or, conditions) if conditions else exp.false()


def total(parts: Sequence[exp.Expr]) -> exp.Expr:
    """The parts joined by +."""
    return _joined(exp.Add, parts) if parts else number(0.0)


def product(parts: Sequence[exp.Expr]) -> exp.Expr:
    """The parts joined by *."""
    return _joined(exp.Mul, parts)


def _joined(kind: type[exp.Binary], parts: Sequence[exp.Expr]) -> exp.Expr:
    result = parts[0]
    for part in parts[1:]:
        result = kind(this=result, expression=part)
    return result


def inner(statement: exp.Expr, name: str) -> exp.Subquery:
    """(statement) AS name."""
    return exp.Subquery(this=statement, alias=exp.TableAlias(this=exp.to_identifier(name)))


def count_rows() -> exp.Count:
    """COUNT(*)."""
    return exp.Count(this=exp.Star(), big_int=True)


def number(value: float) -> exp.Expr:
    """A DOUBLE constant; without an exponent SQL would read a DECIMAL."""
    text = repr(abs(float(value)))
    literal = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal
