"""What DuckDB calls the columns of a result."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.syntax.dialects import ANALYST


def output_name(item: exp.Expr) -> str:
    """The name DuckDB gives a column of the result."""
    if isinstance(item, exp.Alias | exp.Column):
        return item.alias_or_name
    text = item.sql(dialect=ANALYST, normalize_functions="lower", comments=False)
    return text.replace("count(*)", "count_star()").replace('"', "")
