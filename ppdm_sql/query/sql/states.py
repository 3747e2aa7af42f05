"""State counts for Bayes: what to ask of the perturbed table, and how the answer becomes a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from ppdm_sql.errors import Unsupported
from ppdm_sql.query.plan.formula import target_tensor
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.sql.counts import conjunction_counts, counts_to_states, states
from ppdm_sql.query.understand.scan import Scan, cell_name, count_rows, key_name

MAX_CONJUNCTIONS = 16
"""Up to here the states are counted by conjunctions, above by grouping."""

MAX_STATES = 65_536
"""No more states are reconstructed in one group."""

Tensor = npt.NDArray[np.float64]
GROUP = "ppdm_group"
ROWS = "ppdm_rows"


@dataclass(frozen=True)
class Observation:
    """A statement that counts states, the axes of its tensor, and the columns to find the counts in."""

    statement: exp.Select
    axes: tuple[PlannedAxis, ...]
    grouped: bool
    columns: tuple[str, ...]

    def tensor(self, table: dict[str, npt.NDArray[np.int64]], groups: int) -> Tensor:
        """The observed counts, shape (groups, m_1, .., m_k), from the statement's result by column name."""
        if not self.grouped:
            if not groups:
                return np.zeros((0, *(len(axis.cells) for axis in self.axes)))
            return counts_to_states(np.stack([table[name] for name in self.columns], axis=-1).astype(float), self.axes)
        shape = (groups, *(len(axis.cells) for axis in self.axes))
        observed = np.zeros(shape)
        place = tuple(table[name] for name in (GROUP, *self.columns))
        np.add.at(observed, place, table[ROWS])
        return observed


def axes_of_answer(plan: Plan) -> tuple[int, ...]:
    """The axes of every total that the answer needs."""
    return tuple(sorted({axis for i in plan.query.answered for axis in plan.totals[i].axes}))


def targets(plan: Plan, used: Sequence[int]) -> dict[int, Tensor]:
    """For each total that the answer needs, the states it counts, as a tensor over the axes of `solved_axes`."""
    found = {}
    for i in sorted(plan.query.answered):
        formula = plan.totals[i].counted
        assert formula is not None
        found[i] = _spread_out(plan, used, target_tensor(formula, used, plan.cell_counts).astype(float))
    return found


def solved_axes(plan: Plan, used: Sequence[int]) -> tuple[PlannedAxis, ...]:
    """The axes along which states are reconstructed: of two columns that an expression spans, both, value by value."""
    return tuple(one for i in used for one in plan.axes[i].single_values())


def _spread_out(plan: Plan, used: Sequence[int], target: Tensor) -> Tensor:
    """From cells of two columns together to pairs of their values."""
    for place in reversed(range(len(used))):
        target = plan.axes[used[place]].spread_out(target, place)
    return target


def observe(plan: Plan) -> Observation:
    """The statement that counts the states of an answer in every group, in the order of `group_statement`."""
    used = axes_of_answer(plan)
    axes = solved_axes(plan, used)
    if states(axes) > MAX_STATES:
        raise Unsupported(
            f"Unsupported: the query tells {states(axes):,} states apart, and Bayes reconstructs at most "
            f"{MAX_STATES:,}. Use SET ppdm_method = 'inversion', or fewer conditions."
        )
    scan = Scan(plan.query)
    if states(axes) <= MAX_CONJUNCTIONS and len(axes) == len(used):
        names = tuple(scan.add(count).name for count in conjunction_counts(axes))
        return Observation(_ordered(scan.select(), plan), axes, False, names)
    cells = tuple(axis.cell_number() for axis in axes)
    scan.add(count_rows())
    names = tuple(cell_name(i) for i in range(len(axes)))
    inner = scan.select(cells).subquery("ppdm_scan")
    keys = [exp.column(key_name(i)) for i in plan.query.exact_keys]
    statement = exp.select(
        exp.alias_(rank(keys), GROUP), *(exp.column(name) for name in names), exp.alias_(exp.column("ppdm_n0"), ROWS)
    ).from_(inner)
    return Observation(statement, axes, True, names)


def rank(keys: Sequence[exp.Column]) -> exp.Expr:
    """The number of a row's group, in the order of `group_statement`."""
    if not keys:
        return exp.Literal.number(0)
    window = exp.Window(this=exp.Anonymous(this="dense_rank"), order=exp.Order(expressions=_ascending(keys)))
    return exp.Sub(this=window, expression=exp.Literal.number(1))


def group_statement(plan: Plan) -> exp.Select:
    """The groups themselves, with the aggregates that are exact, in a fixed order."""
    scan = Scan(plan.query)
    for node in plan.query.natives:
        scan.add(node)
    scan.add(count_rows())
    return _ordered(scan.select(), plan)


def _ordered(statement: exp.Select, plan: Plan) -> exp.Select:
    keys = [exp.column(key_name(i)) for i in plan.query.exact_keys]
    return statement.order_by(*_ascending(keys)) if keys else statement


def _ascending(keys: Sequence[exp.Column]) -> list[exp.Expr]:
    """An order with NULL in a stated place: the default differs between engines."""
    return [exp.Ordered(this=key.copy(), desc=False, nulls_first=False) for key in keys]
