"""The ways to reconstruct groups, in the order they are tried: the first that applies to a plan is taken."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.mechanisms.registry import capability
from ppdm_sql.query.execute.bayes_groups import BayesGroups
from ppdm_sql.query.execute.domain_groups import DomainGroups
from ppdm_sql.query.execute.inverted_groups import InvertedGroups
from ppdm_sql.query.execute.quantiles import Quantiles
from ppdm_sql.query.execute.ranges import Ranges
from ppdm_sql.query.execute.strategy import Strategy
from ppdm_sql.query.plan.parts import PARTS, added
from ppdm_sql.query.plan.plan import Plan


class OwnGroups:
    """Groups by a column whose mechanism has a strategy of its own: by the items that its values hold."""

    def applies(self, plan: Plan) -> bool:
        """Where a query groups by such a column."""
        return _own(plan) is not None

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """Those of the mechanism."""
        strategy = _own(plan)
        assert strategy is not None
        return strategy.statements(plan)

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """The groups that the mechanism finds."""
        strategy = _own(plan)
        assert strategy is not None
        return strategy.run(engine, plan)


def _own(plan: Plan) -> Strategy | None:
    columns = (column for axis in plan.key_axes for column in plan.axes[axis].columns)
    found: Iterator[Strategy] = (capability(c.mechanism, "groups") for c in columns if c.holds_items)
    return next(found, None)


class AddedParts:
    """Each part of a plan by a strategy of its own, and their groups added up."""

    def applies(self, plan: Plan) -> bool:
        """Unions, and tables in parts."""
        return bool(plan.parts)

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """Those of the parts."""
        return [statement for part in plan.parts for statement in strategy_of(part).statements(part)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """The groups of all parts, added up where they have the same keys."""
        tables = [strategy_of(part).run(engine, part) for part in plan.parts]
        below = pa.concat_tables([_decoded(table) for table in tables], promote_options="permissive")
        return engine.table(added(plan, exp.to_table(PARTS), below.column_names), {PARTS: below})


STRATEGIES: tuple[Strategy, ...] = (
    OwnGroups(),
    AddedParts(),
    Ranges(),
    Quantiles(),
    DomainGroups(),
    InvertedGroups(),
    BayesGroups(),
)


def strategy_of(plan: Plan) -> Strategy:
    """The one that reconstructs the groups of a plan."""
    return next(strategy for strategy in STRATEGIES if strategy.applies(plan))


def _decoded(table: pa.Table) -> pa.Table:
    """ENUMs as text: those of two parts may differ."""
    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(place, table.column_names[place], column.cast(column.type.value_type))
    return table
