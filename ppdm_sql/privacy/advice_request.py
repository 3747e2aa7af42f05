"""What is asked of a policy: privacy, accuracy or both; checked once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.baskets.declare import BasketPolicy
from ppdm_sql.mechanisms.gaussian.column import NoisePolicy
from ppdm_sql.mechanisms.retention import STRICTLY_BELOW, Retention, check_breach, check_retention, gamma_for_breach
from ppdm_sql.mechanisms.small_domain.declare import SmallDomainPolicy
from ppdm_sql.policy.model import Policy

ADVISED = ("uniform", "custom")
"""Mechanisms that keep a value or replace it, by a distribution that the policy itself declares."""
_ADVISED = " or ".join(ADVISED)
TOLD = (BasketPolicy, NoisePolicy, SmallDomainPolicy)
"""Columns of other mechanisms of which something is told beside the advice."""
MAX_ROWS = 2**63
_DIGITS = 6


@dataclass(frozen=True)
class AdviceRequest:
    """The privacy and the error asked for, and of which counts.

    An error is a standard error as a share of all rows, of counts by `predicates` conditions on different perturbed
    columns that each hold for the share `selectivity` of the domain and of the rows.
    """

    rows: int
    promise: Retention | None
    whole_row: bool
    error: float | None
    predicates: int
    selectivity: float

    @property
    def breach(self) -> tuple[float, float] | None:
        """The pair rho1, rho2 where privacy was asked for by it."""
        if self.promise is None or self.promise.rho2 is None:
            return None
        return self.promise.value, self.promise.rho2

    @staticmethod
    def checked(
        policy: Policy,
        *,
        rows: int,
        rho1: float | None,
        rho2: float | None,
        gamma: float | None,
        epsilon: float | None,
        whole_row: bool,
        error: float | None,
        predicates: int,
        selectivity: float,
    ) -> AdviceRequest:
        """The wishes, if they can be meant; PolicyError otherwise."""
        promise = _promise(rho1, rho2, gamma, epsilon)
        if whole_row and promise is None:
            raise PolicyError(
                "a row as a whole gets the privacy that is asked for: give rho1 and rho2, gamma or epsilon."
            )
        others = [c.name for c in policy.perturbed if c.mechanism not in ADVISED]
        if whole_row and others:
            raise PolicyError(
                f"column {others[0]!r} is not of mechanism {_ADVISED}, so what is promised of a row as a whole is not "
                "known: ask for privacy of each column."
            )
        if not 1 <= rows <= MAX_ROWS:
            raise PolicyError("rows must be at least 1 and at most 2^63: the number of rows that will be published.")
        if error is not None and not 0 < error < 1:
            raise PolicyError(f"error = {error:g} must be above 0 and below 1: a share of all rows, such as 0.01.")
        if not 0 < selectivity < 1:
            raise PolicyError(f"selectivity = {selectivity:g} must be above 0 and below 1: a share of the rows.")
        columns = len(advised_columns(policy))
        others_told = any(isinstance(column, TOLD) for column in policy.perturbed)
        if not columns and not others_told:
            raise PolicyError(f"the policy has no column of mechanism {_ADVISED}, so there is nothing to advise on.")
        if not 1 <= predicates <= (columns or 1):
            raise PolicyError(
                f"predicates = {predicates} must be from 1 to {columns}, the number of columns of mechanism "
                f"{_ADVISED}: each condition is on a column of its own."
            )
        return AdviceRequest(rows, promise, whole_row, error, predicates, selectivity)


def advised_columns(policy: Policy) -> tuple[ColumnPolicy, ...]:
    """The columns that can be advised on: their channel is known from the policy alone."""
    return tuple(column for column in policy.perturbed if column.mechanism in ADVISED)


def promise_of_each(wishes: AdviceRequest, columns: int) -> Retention | None:
    """What each column must promise, so that what was asked for holds."""
    if wishes.promise is None or not wishes.whole_row:
        return wishes.promise
    return Retention("epsilon", rounded_down(_epsilon(wishes.promise) / columns))


def rounded_down(number: float) -> float:
    """As short as a person would write it, and never more.

    >>> rounded_down(2 / 3), rounded_up(2 / 3)
    (0.666666, 0.666667)
    """
    return float(Context(_DIGITS, ROUND_FLOOR).create_decimal_from_float(number))


def rounded_up(number: float) -> float:
    """As short as a person would write it, and never less."""
    return float(Context(_DIGITS, ROUND_CEILING).create_decimal_from_float(number))


def _epsilon(promise: Retention) -> float:
    if promise.asked == "epsilon":
        return promise.value
    if promise.rho2 is None:
        return math.log(promise.value)
    return math.log1p((gamma_for_breach(promise.value, promise.rho2) - 1) * STRICTLY_BELOW)


def _promise(rho1: float | None, rho2: float | None, gamma: float | None, epsilon: float | None) -> Retention | None:
    if (rho1 is None) != (rho2 is None):
        raise PolicyError("rho1 and rho2 belong together: what was at most rho1 likely never gets as likely as rho2.")
    said = [name for name, value in (("rho1", rho1), ("gamma", gamma), ("epsilon", epsilon)) if value is not None]
    if len(said) > 1:
        raise PolicyError(f"privacy is asked for twice ({', '.join(said)}): give rho1 and rho2, gamma or epsilon.")
    if rho1 is not None and rho2 is not None:
        check_breach("the privacy asked for", rho1, rho2)
        return Retention("privacy", rho1, rho2)
    if gamma is not None:
        return Retention("gamma", check_retention("the privacy asked for", "gamma", gamma))
    if epsilon is not None:
        return Retention("epsilon", check_retention("the privacy asked for", "epsilon", epsilon))
    return None
