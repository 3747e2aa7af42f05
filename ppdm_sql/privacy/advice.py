"""What a policy can keep of each column under a promise, and how good counts will be: from the policy alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.retained.declare_custom import CustomPolicy
from ppdm_sql.mechanisms.retained.domain_size import domain_size
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.policy.model import Policy
from ppdm_sql.privacy.accuracy import count_error, retention_for_error
from ppdm_sql.privacy.advice_request import AdviceRequest, advised_columns, promise_of_each, rounded_down, rounded_up
from ppdm_sql.privacy.bounds import bound_error, condition_number, likely_error
from ppdm_sql.privacy.channel import RetentionChannel, UniformChannel
from ppdm_sql.privacy.remedies import Remedies, find_remedies, gamma_at

MISS = 0.05
"""Errors "with 95 %" are exceeded this often."""


@dataclass(frozen=True)
class ColumnAdvice:
    """One perturbed column.

    `declared` is the retention as the policy stands, `retain` the advised one: the largest that keeps the promise, the
    least that gives the error where only that was asked, else the declared one. `error` is the standard error of a
    count by conditions on columns kept as this one, as a share of all rows, and `needed` the retention that the error
    asked for takes. What cannot be known before the column's type is, is None. `levels` are the column's own, lowered
    to `retain` where they are above it and a promise was asked for. `weights` are those of uneven draws.
    """

    name: str
    size: int | None
    weights: tuple[float, ...]
    condition: str
    declared: float | None
    promise: Retention | None
    retain: float | None
    gamma: float | None
    error: float | None
    likely_error: float | None
    bound_error: float | None
    condition_number: float | None
    needed: float | None
    both: bool | None
    remedies: Remedies | None
    levels: Mapping[str, float]

    @property
    def epsilon(self) -> float | None:
        """The logarithm of gamma."""
        return None if self.gamma is None else math.log(self.gamma)

    @property
    def channel(self) -> UniformChannel | RetentionChannel | None:
        """The column at the advised retention; None where it is not known."""
        if self.retain is None or (self.size is None and not self.weights):
            return None
        if self.weights:
            return RetentionChannel(self.retain, np.asarray(self.weights) / math.fsum(self.weights))
        return UniformChannel(self.retain, self.size or 1)


@dataclass(frozen=True)
class Advice:
    """All columns that are kept or replaced, and the row they make.

    `others` are perturbed columns of other mechanisms, on which there is no advice. `row_epsilon` is the sum over the
    columns, `row_error` the standard error of the worst count by as many conditions as were asked for; None where
    that of a column is not known. `levels` holds of each level of the policy the retention that keeps the promise for
    every column: its own where that does, else less.
    """

    table: str
    wishes: AdviceRequest
    columns: tuple[ColumnAdvice, ...]
    others: tuple[str, ...]
    row_epsilon: float | None
    row_error: float | None
    levels: Mapping[str, float]

    @property
    def both(self) -> bool | None:
        """Whether every column has the promise and the error asked for; None where it was not asked, or not known."""
        found = [column.both for column in self.columns]
        return None if not found or None in found else all(found)


def advise(
    policy: Policy,
    *,
    rows: int,
    rho1: float | None = None,
    rho2: float | None = None,
    gamma: float | None = None,
    epsilon: float | None = None,
    whole_row: bool = False,
    error: float | None = None,
    predicates: int = 1,
    selectivity: float = 0.5,
    types: Mapping[str, str] | None = None,
) -> Advice:
    """Advise on a policy before anything is published.

    Parameters
    ----------
    policy : Policy
    rows : int
        Of the table.
    rho1, rho2, gamma, epsilon : float, optional
        The privacy asked for: the pair, or one of the others; or none of them.
    whole_row : bool
        Whether it is asked for the row as a whole. Its epsilon is then split evenly over the perturbed columns.
    error : float, optional
        The largest standard error of a count, as a share of all rows.
    predicates : int
        By how many conditions, each on a perturbed column of its own.
    selectivity : float
        The share of the domain for which such a condition holds, and of the rows.
    types : mapping of column name to SQL type, optional
        Where known. A domain whose size depends on it is else counted as the type that it looks made for.

    Raises
    ------
    PolicyError
        If what is asked for cannot be meant.

    Examples
    --------
    >>> from ppdm_sql.policy import load_policy
    >>> age = {"mechanism": "uniform", "domain": {"min": 17, "max": 90}, "retain": 0.3}
    >>> advice = advise(load_policy({"table": "t", "columns": {"age": age}}), rows=100_000, gamma=9, error=0.01)
    >>> advice.columns[0].retain.__round__(4), advice.columns[0].error.__round__(4), advice.both
    (0.0976, 0.0161, False)
    >>> advice.columns[0].remedies.domain, advice.columns[0].remedies.rows
    ('step = 2, max = 91 (38 values)', 260157)
    """
    wishes = AdviceRequest.checked(
        policy, rows=rows, rho1=rho1, rho2=rho2, gamma=gamma, epsilon=epsilon, whole_row=whole_row, error=error,
        predicates=predicates, selectivity=selectivity,
    )  # fmt: skip
    known = {name.casefold(): type_name for name, type_name in (types or {}).items()}
    advised = advised_columns(policy)
    promise = promise_of_each(wishes, len(policy.perturbed))
    columns = tuple(_column(c, wishes, promise, known.get(c.name.casefold())) for c in advised)
    others = tuple(c.name for c in policy.perturbed if c not in advised)
    epsilons = [c.epsilon for c in columns]
    return Advice(
        policy.table,
        wishes,
        columns,
        others,
        None if others or None in epsilons else math.fsum(e for e in epsilons if e is not None),
        _row_error([c.retain for c in columns], wishes),
        _levels(policy, columns) if promise is not None else dict(policy.levels),
    )


def _column(
    column: ColumnPolicy, wishes: AdviceRequest, promise: Retention | None, type_name: str | None
) -> ColumnAdvice:
    size = domain_size(column, type_name)
    weights = column.all_weights if isinstance(column, CustomPolicy) else ()
    drawn = len(weights) or size.drawn
    spread = math.fsum(weights) / min(weights) if weights else drawn
    needed = None if wishes.error is None else _needed(wishes, wishes.error)
    declared = _probability(column.retention, spread)
    advised = promise
    if promise is None:
        advised = column.retention if needed is None else Retention("retain", min(1.0, rounded_up(needed)))
    retain = _probability(advised, spread)
    if retain == 0:
        raise PolicyError(f"column {column.name!r}: the privacy asked for keeps nothing of it at all.")
    error = None if retain is None else _error(retain, wishes)
    both = None if error is None or wishes.error is None else error <= wishes.error * (1 + 1e-9)
    return ColumnAdvice(
        name=column.name,
        size=drawn,
        weights=weights,
        condition="" if weights else size.condition,
        declared=declared,
        promise=advised,
        retain=retain,
        gamma=None if retain is None or spread is None else gamma_at(retain, spread),
        error=error,
        likely_error=None if error is None else float(likely_error(error, MISS)),
        bound_error=None if retain is None or wishes.predicates > 1 else float(bound_error(wishes.rows, retain, MISS)),
        condition_number=None if retain is None else _magnified(retain, wishes),
        needed=needed,
        both=both,
        remedies=_remedies(column, spread, retain, wishes) if both is False else None,
        levels=dict(column.levels) if promise is None else _capped(column.levels, retain),
    )


def _remedies(column: ColumnPolicy, spread: float | None, retain: float | None, wishes: AdviceRequest) -> Remedies:
    assert spread is not None and retain is not None and wishes.error is not None
    return find_remedies(column, spread, retain, _needed(wishes, wishes.error), wishes)


def _levels(policy: Policy, columns: Sequence[ColumnAdvice]) -> dict[str, float]:
    """The policy's levels, which are those of every column that does not name the level itself."""
    result: dict[str, float] = {}
    for name, retain in policy.levels.items():
        caps = (c.retain for c in columns if name not in c.levels and c.retain is not None)
        result |= _capped({name: retain}, min(caps, default=None))
    return result


def _capped(levels: Mapping[str, float], cap: float | None) -> dict[str, float]:
    return {name: retain if cap is None or retain <= cap else rounded_down(cap) for name, retain in levels.items()}


def _row_error(retains: Sequence[float | None], wishes: AdviceRequest) -> float | None:
    """Of the count by conditions on the columns that keep least: no other by as many has a larger one."""
    least = sorted(p for p in retains if p is not None)[: wishes.predicates]
    if None in retains or len(least) < wishes.predicates:
        return None
    return float(count_error(wishes.rows, least, wishes.selectivity, wishes.selectivity))


def _needed(wishes: AdviceRequest, error: float) -> float:
    found = retention_for_error(error, wishes.rows, wishes.selectivity, wishes.selectivity, wishes.predicates)
    return float(found)


def _error(retain: float, wishes: AdviceRequest) -> float:
    alike = np.full(wishes.predicates, retain)
    return float(count_error(wishes.rows, alike, wishes.selectivity, wishes.selectivity))


def _magnified(retain: float, wishes: AdviceRequest) -> float:
    with np.errstate(over="ignore"):
        return float(condition_number(np.full(wishes.predicates, retain), wishes.selectivity))


def _probability(retention: Retention | None, spread: float | None) -> float | None:
    """The retention, None where it needs a size that is not known."""
    if retention is None or (spread is None and retention.asked != "retain"):
        return None
    return retention.probability(spread or 1)
