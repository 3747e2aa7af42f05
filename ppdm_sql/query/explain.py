"""What a query will do, in words: columns, cells, shares, method, and the SQL that runs."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.channels.cells import Cell, total_weight
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.column import RetainedColumn
from ppdm_sql.mechanisms.self_replaced.column import SelfReplacedColumn
from ppdm_sql.query.execute.answer import statements
from ppdm_sql.query.execute.ranges import layout_of
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import BasketAxis, JointAxis, PlannedAxis
from ppdm_sql.query.statement import Statement
from ppdm_sql.reconstruct.deconvolution import BIN
from ppdm_sql.syntax.dialects import ANALYST

_SHOWN_BOUNDS = 8
METHODS = {
    "inversion": "inversion: unbiased, an estimate of a small count may fall below zero",
    "deconvolution": "deconvolution, iterative Bayes over bins: biased, smooths what is sharper than the noise; errors "
    "by replicates, with room for the bias",
    "bayes": "iterative Bayes: never negative, biased where counts are near zero; errors by replicates",
}


def explain_rewritten(statement: Statement) -> str:
    """The explanation of one statement, as text."""
    if not statement.plans:
        return f"{statement.why}\nSQL:\n  {statement.sql.strip()}"
    parts = [_explain_plan(plan) for plan in statement.plans]
    if len(parts) > 1:
        parts = [f"part {number}\n{part}" for number, part in enumerate(parts, start=1)]
    return "\n\n".join(parts)


def _explain_plan(plan: Plan) -> str:
    lines = [f"release: {plan.query.manifest.table} ({plan.query.manifest.rows:,} rows)"]
    axes = [axis for piece in plan.pieces for axis in piece.axes]
    perturbed = [a for a in axes if a.column is not None or a.noisy is not None or isinstance(a, BasketAxis)]
    for axis in perturbed:
        lines += _axis_lines(axis) if axis.noisy is None else _noisy_lines(axis)
    noisy = _noisy_sums(plan)
    lines += noisy
    if not perturbed and not noisy:
        lines.append("no perturbed column takes part: the answer is exact")
    asked = " (chosen by auto)" if plan.query.settings.method == "auto" else ""
    lines.append(f"method: {METHODS[plan.method]}{asked}")
    for statement in statements(plan):
        lines += ["SQL:", _indent(statement)]
    return "\n".join(lines)


def _basket_lines(axis: BasketAxis) -> list[str]:
    basket = axis.basket
    items = ", ".join(str(basket.item(number)) for number in axis.items) or "every one"
    stored = "lists" if basket.code is None else f"seeds, for itemsets of up to {basket.code.itemsets} items"
    return [
        f"column: {basket.name}, baskets of up to {basket.largest} of {basket.items.size:,} items, as {stored}",
        f"  items asked for: {items}",
    ]


def _axis_lines(axis: PlannedAxis) -> list[str]:
    if isinstance(axis, BasketAxis):
        return _basket_lines(axis)
    lines = [
        f"column: {column.name} {column.type.name}, retention {column.retain:.6g}, {_drawn(column)}"
        for column in _columns(axis)
    ]
    for number, term in enumerate(axis.terms):
        lines.append(f"  term {number + 1}: {term.sql(dialect=ANALYST)}")
    words = {True: "true", False: "false", None: "null"}
    for cell in axis.cells:
        truth = ", ".join(words[value] for value in cell.truth)
        lines.append(f"  cell ({truth}): {_share(axis, cell)}")
    return lines


def _drawn(column: RetainedColumn) -> str:
    """What replacements are drawn from."""
    if isinstance(column, SelfReplacedColumn):
        return "replaced by its own values, counted in the release"
    return f"{column.size:,} values in its domain"


def _noisy_lines(axis: PlannedAxis) -> list[str]:
    layout = layout_of(axis)
    column, edges = layout.column, layout.bins.edges
    lines = [f"column: {column.name}, Gaussian noise of standard deviation {column.deviation:.6g}"]
    for number, term in enumerate(axis.terms):
        lines.append(f"  term {number + 1}: {term.sql(dialect=ANALYST)}")
    bounds = [f"{bound:.6g}" for bound in axis.runs.bounds] if axis.runs is not None else []
    shown = ", ".join(bounds[:_SHOWN_BOUNDS]) + (", .." if len(bounds) > _SHOWN_BOUNDS else "")
    lines.append(f"  bounds: {shown or 'none'}")
    lines.append(
        f"  bins: {len(edges) - 1} from {edges[0]:.6g} to {edges[-1]:.6g}, about {BIN:g} of the deviation wide, so "
        f"that every bound is an edge; noisy values are counted in {layout.intervals} intervals of {layout.width:.6g}"
    )
    return lines


def _noisy_sums(plan: Plan) -> list[str]:
    """The columns with noise that are added up, and what is known of their noise."""
    names = {v.name for total in plan.totals for part in total.products for v, _ in part.powers}
    columns = [c for c in plan.query.manifest.perturbed if isinstance(c, NoisyColumn) and c.name in names]
    return [
        f"column: {c.name}, Gaussian noise of standard deviation {c.deviation:.6g}, rounded to {c.step}: "
        "its variance and covariances are taken out of squares and products"
        for c in columns
    ]


def _share(axis: PlannedAxis, cell: Cell) -> str:
    if cell.fixed:
        return "NULL, never replaced"
    total = total_weight(axis.cells)  # 0 where a column's own values are drawn and there are none
    share = f"share {cell.weight / total if total else 0:.6g}"
    if isinstance(axis.column, SelfReplacedColumn):
        return f"{int(cell.weight):,} rows of the release, {share}"
    if any(column.weights is not None for column in _columns(axis)):
        return share
    return f"{int(cell.weight):,} {'pairs of ' if isinstance(axis, JointAxis) else ''}values, {share}"


def _columns(axis: PlannedAxis) -> tuple[RetainedColumn, ...]:
    assert axis.column is not None
    return axis.columns if isinstance(axis, JointAxis) else (axis.column,)


def _indent(statement: exp.Expr) -> str:
    text = statement.sql(dialect=ANALYST, pretty=True)
    return "\n".join(f"  {line}" for line in text.splitlines())
