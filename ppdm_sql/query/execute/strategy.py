"""What a way to reconstruct groups has to say of itself."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ppdm_sql.engine.base import Engine
from ppdm_sql.query.plan.plan import Plan


class Strategy(Protocol):
    """One way; `statements` runs nothing, and refuses whatever `run` would refuse without looking at a row."""

    def applies(self, plan: Plan) -> bool:
        """Whether it is this one's task, where no strategy before it applies."""

    def statements(self, plan: Plan) -> list[exp.Expr]:
        """What reads the release."""

    def run(self, engine: Engine, plan: Plan) -> pa.Table:
        """The groups with their totals and their covariances, under the names that the outer SELECT reads."""
