"""What a query will do, in words: columns, cells, shares, method, and the SQL that runs."""

from __future__ import annotations

from sqlglot import exp

from ppdm_sql.query.execute.answer import statements
from ppdm_sql.query.plan.observing import observer_of
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.statement import Statement
from ppdm_sql.syntax.dialects import ANALYST

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
    perturbed = [axis for axis in axes if axis.columns]
    for axis in perturbed:
        lines += axis.described()
    noisy = _noisy_sums(plan)
    lines += noisy
    if not perturbed and not noisy:
        lines.append("no perturbed column takes part: the answer is exact")
    asked = " (chosen by auto)" if plan.query.settings.method == "auto" else ""
    lines.append(f"method: {METHODS[plan.method]}{asked}")
    for statement in statements(plan):
        lines += ["SQL:", _indent(statement)]
    return "\n".join(lines)


def _noisy_sums(plan: Plan) -> list[str]:
    """The columns with noise that are added up, and what is known of their noise."""
    names = {v.name for total in plan.totals for part in total.products for v, _ in part.powers}
    lines = [observer_of(c).sum_line(c) for c in plan.query.manifest.perturbed if c.name in names]
    return [line for line in lines if line is not None]


def _indent(statement: exp.Expr) -> str:
    text = statement.sql(dialect=ANALYST, pretty=True)
    return "\n".join(f"  {line}" for line in text.splitlines())
