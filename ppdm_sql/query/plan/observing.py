"""How columns of a mechanism take part in queries: the contract of the module `observe` in a mechanism's folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from sqlglot import exp

from ppdm_sql.channels.cells import Cells
from ppdm_sql.mechanisms.base import PerturbedColumn
from ppdm_sql.mechanisms.registry import capability
from ppdm_sql.query.plan.measuring import Asked, Measuring
from ppdm_sql.query.plan.planned_axis import PlannedAxis
from ppdm_sql.query.understand.query import Query, QueryAxis


@dataclass(frozen=True)
class AxisQuestion:
    """An axis of a query that is to be planned.

    `labels` tell its cells apart by value; with `told_values`, the values that are summed are the last of them.
    """

    query: Query
    axis: QueryAxis
    labels: tuple[exp.Expr, ...]
    told_values: bool


class Observer(ABC):
    """What a plan asks of the columns of one mechanism."""

    def measured(self, question: AxisQuestion) -> Asked | None:
        """What is to be measured of the axis together with all others; None where it measures by itself, if at all."""
        return None

    @abstractmethod
    def planned(self, question: AxisQuestion, engine: Measuring, found: Cells | None) -> PlannedAxis:
        """The axis with its cells; `found` is what was measured."""

    def sum_line(self, column: PerturbedColumn) -> str | None:
        """What an explanation says of a column whose powers are added up; None where it says it of an axis."""
        return None


def observer_of(column: PerturbedColumn) -> Observer:
    """What a plan asks of the mechanism of a column."""
    found: Observer = capability(column.mechanism, "observe")
    return found
