"""Totals by inversion, each a sum of weights: one statement gives all groups."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.query.plan.plan import Plan
from ppdm_sql.query.sql.groups import groups_select


class InvertedGroups:
    """Nothing is left to be done outside the engine."""

    def applies(self, plan: Plan) -> bool:
        """By inversion, whatever the groups."""
        return plan.method == "inversion"

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """The one."""
        return [groups_select(plan)]

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """Its result."""
        return engine.table(groups_select(plan))
