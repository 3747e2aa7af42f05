"""What would give the error asked for, where the privacy asked for does not allow it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ppdm_sql.domain.domain import Values
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.retained.declare_custom import CustomPolicy
from ppdm_sql.mechanisms.retention import gamma_of_retention
from ppdm_sql.mechanisms.small_domain.declare import MAX_VALUES, NULLS
from ppdm_sql.privacy.accuracy import rows_for_error
from ppdm_sql.privacy.advice_request import AdviceRequest
from ppdm_sql.privacy.breaches import highest_posterior
from ppdm_sql.privacy.coarsening import coarser_domain
from ppdm_sql.privacy.statements import UNLIKELY
from ppdm_sql.privacy.subsets import safe_relative_prior


@dataclass(frozen=True)
class Remedies:
    """Each is enough by itself; None where nothing of the kind would do.

    `domain` says in words how to have at most `values` values; `small_domain` whether that mechanism takes the column,
    which may then have so many in each part of the table. `rows` is how many it takes, `gamma` what it takes of
    privacy. At that gamma, the breach asked about stays excluded where values of less than `relative_prior` are seen.
    """

    values: int | None
    domain: str | None
    small_domain: bool
    rows: int | None
    gamma: float
    relative_prior: float | None


def find_remedies(column: ColumnPolicy, spread: float, retain: float, needed: float, wishes: AdviceRequest) -> Remedies:
    """Remedies for a column that may keep `retain`, and would have to keep `needed`.

    `spread` is the number of its values, or one over the share of the rarest where draws are uneven.
    """
    assert wishes.error is not None
    gamma = gamma_at(retain, spread)
    # p (m - 1 + gamma) <= gamma - 1, for the retention p that is needed; NULL may be one of the m values.
    values = math.floor((gamma - 1) * (1 - needed) / needed * (1 + 1e-12))
    domain = _smaller(column, values)
    alike = np.full(wishes.predicates, retain)
    rows = float(rows_for_error(wishes.error, alike, wishes.selectivity, wishes.selectivity))
    rho1, rho2 = wishes.breach or (UNLIKELY, float(highest_posterior(gamma, UNLIKELY)))
    return Remedies(
        values=None if domain is None else values,
        domain=domain,
        small_domain=domain is not None and _parts_well(column, spread),
        rows=int(rows) if math.isfinite(rows) else None,
        gamma=gamma_at(needed, spread),
        relative_prior=safe_relative_prior(needed, rho1, rho2) if rho1 < rho2 < 1 else None,
    )


def gamma_at(retain: float, spread: float) -> float:
    """The amplification of a column; a single value has none.

    >>> gamma_at(0.5, 8), gamma_at(0.5, 1)
    (9.0, 1.0)
    """
    return 1.0 if spread == 1 else gamma_of_retention(retain, spread)


def _parts_well(column: ColumnPolicy, spread: float) -> bool:
    return not isinstance(column, CustomPolicy) and spread <= MAX_VALUES and column.nulls in NULLS


def _smaller(column: ColumnPolicy, values: int) -> str | None:
    """A domain of at most so many values, in words; draws that are more even may do, too."""
    assert column.domain is not None
    if not isinstance(column, CustomPolicy):
        return coarser_domain(column.domain, values - (column.nulls == "value"))
    if len(column.all_weights) <= values:
        return f"weights of which none is less than 1 in {values:,}"
    smaller = coarser_domain(Values(column.values), values - (column.nulls == "value"))
    return None if smaller is None else f"{smaller}, drawn evenly"
