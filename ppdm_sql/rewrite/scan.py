"""The one aggregate over the perturbed table: which columns it computes, under which names."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.rewrite.query import Query

PREFIX = "ppdm_"


class Scan:
    """Collects what the scan has to compute, each expression once."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self._columns: dict[str, tuple[str, exp.Expr]] = {}

    def add(self, expression: exp.Expr) -> exp.Column:
        """Ask for an aggregate; returns the name under which the scan gives it."""
        text = expression.sql(dialect="duckdb")
        if text not in self._columns:
            self._columns[text] = (f"{PREFIX}n{len(self._columns)}", expression)
        return exp.column(self._columns[text][0])

    def select(self, extra: tuple[exp.Expr, ...] = ()) -> exp.Select:
        """The statement; `extra` are further grouping expressions."""
        keys = [exp.alias_(key.copy(), key_name(i)) for i, key in enumerate(self.query.keys)]
        cells = [exp.alias_(cell.copy(), cell_name(i)) for i, cell in enumerate(extra)]
        columns = [exp.alias_(expression.copy(), name) for name, expression in self._columns.values()]
        if not (keys or cells or columns):
            columns = [exp.alias_(count_rows(), f"{PREFIX}n0")]
        statement = exp.select(*keys, *cells, *columns).from_(self.query.table.copy())
        if self.query.exact:
            statement = statement.where(*(condition.copy() for condition in self.query.exact))
        grouping = [key.copy() for key in (*self.query.keys, *extra)]
        return statement.group_by(*grouping) if grouping else statement


def key_name(index: int) -> str:
    """Name of a grouping expression between the steps."""
    return f"{PREFIX}k{index}"


def cell_name(index: int) -> str:
    """Name of an axis's cell between the steps."""
    return f"{PREFIX}c{index}"


def estimate_name(index: int) -> str:
    """Name of an aggregate's value between the steps."""
    return f"{PREFIX}e{index}"


def error_name(index: int) -> str:
    """Name of an estimate's standard error between the steps."""
    return f"{PREFIX}s{index}"


def count_rows() -> exp.Count:
    """COUNT(*)."""
    return exp.Count(this=exp.Star(), big_int=True)


def number(value: float) -> exp.Expr:
    """A DOUBLE constant; without an exponent SQL would read a DECIMAL."""
    text = repr(abs(float(value)))
    literal = exp.Literal.number(text if "e" in text else f"{text}e0")
    return exp.Neg(this=literal) if value < 0 else literal
