"""What a page asks of a column of its own values: how many rows have the commonest."""

from __future__ import annotations

from ppdm_sql.auditing.tables import SCANNED, Original
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.report.questions import Question, braced
from ppdm_sql.syntax.quoting import quote_name, quote_text


def commonest(original: Original, column: SelfReplacedColumn) -> Question | None:
    """The value that most rows have: no other is less of a secret."""
    select = f"CAST({quote_name(original.name(column.name))} AS {column.type.name}) AS v"
    found = original.ask(
        select, f"SELECT v FROM {SCANNED} WHERE v IS NOT NULL GROUP BY v ORDER BY count(*) DESC, v LIMIT 1"
    )
    if not found or isinstance(found[0][0], bool):
        return (column.name, braced(quote_name(column.name))) if found else None
    value, name = found[0][0], braced(quote_name(column.name))
    literal = f"CAST({quote_text(str(value))} AS {column.type.name})"
    return f"{column.name} {value}", f"{name} = {braced(literal)}"


MECHANISMS = {"identity": commonest, "swap": commonest}
