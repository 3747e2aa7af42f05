"""Advice on columns with noise and on small domains: what they hide, what they cost, and what plain uniform would."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ppdm_sql.errors import PolicyError
from ppdm_sql.mechanisms.base import ColumnPolicy
from ppdm_sql.mechanisms.gaussian.column import NoisePolicy
from ppdm_sql.mechanisms.retained.domain_size import domain_size
from ppdm_sql.mechanisms.retention import Retention
from ppdm_sql.mechanisms.small_domain.declare import SmallDomainPolicy
from ppdm_sql.policy.model import Policy
from ppdm_sql.privacy.accuracy import count_error
from ppdm_sql.privacy.advice_request import AdviceRequest, rounded_up
from ppdm_sql.privacy.gaussian import distortion as distortion_of
from ppdm_sql.privacy.gaussian import magnitude_for_distortion
from ppdm_sql.privacy.partitioning import partition

MOST_VALUES = 4_096
"""Larger domains are parted when they are published; here it would take too long."""


@dataclass(frozen=True)
class NoiseAdvice:
    """A column with Gaussian noise; `noise` is the advised magnitude, None where none was said.

    `distortion` is the square error that is left to the best linear guess, and `mean_error` the standard error of the
    mean of all rows: in shares of the column's variance, and of its spread. Both hold where the spread that noise is
    declared for is the column's own.
    """

    name: str
    declared: float | None
    noise: float | None
    distortion: float | None
    mean_error: float | None


@dataclass(frozen=True)
class PartsAdvice:
    """A column in small domains beside the same in one, under one promise.

    `parts` has the values, the rows and the retention of each part. Errors are those of a count by one condition, as
    shares of all rows. `equal` says that no shares were known, and all values were taken to be as common. `problem`
    says why there are no parts.
    """

    name: str
    rho1: float
    rho2: float
    size: int | None
    equal: bool
    plain: float | None
    plain_error: float | None
    parts: tuple[tuple[int, int, float], ...] = ()
    error: float | None = None
    problem: str | None = None


def noise_advice(policy: Policy, wishes: AdviceRequest, distortion: float | None = None) -> tuple[NoiseAdvice, ...]:
    """Of every column with noise: as declared, or so much that guesses are left with the distortion asked for."""
    if distortion is not None and not 0 < distortion < 1:
        raise PolicyError(
            f"distortion = {distortion:g} must be above 0 and below 1: the square error that guesses are left with, as "
            "a share of the column's variance."
        )
    found = []
    for column in policy.perturbed:
        if not isinstance(column, NoisePolicy):
            continue
        noise = column.noise if distortion is None else rounded_up(magnitude_for_distortion(distortion))
        left = None if noise is None else distortion_of([noise])
        mean = None if noise is None else math.sqrt(noise / wishes.rows)
        found.append(NoiseAdvice(column.name, column.noise, noise, left, mean))
    return tuple(found)


def parts_advice(policy: Policy, wishes: AdviceRequest, counts: Mapping[str, Sequence[int]]) -> tuple[PartsAdvice, ...]:
    """Of every column in small domains, and of those kept or redrawn whose counts are known, where a breach is asked.

    `counts` has by column how many rows have each value of its domain.
    """
    found = []
    for column in policy.perturbed:
        known = counts.get(column.name)
        breach = _breach(column, wishes)
        if breach is not None and (isinstance(column, SmallDomainPolicy) or known is not None):
            found.append(_parts(column, breach, known, wishes))
    return tuple(found)


def _breach(column: ColumnPolicy, wishes: AdviceRequest) -> tuple[float, float] | None:
    if wishes.breach is not None:
        return wishes.breach
    retention = column.retention
    if retention is None or retention.rho2 is None:
        return None
    return retention.value, retention.rho2


def _parts(
    column: ColumnPolicy, breach: tuple[float, float], known: Sequence[int] | None, wishes: AdviceRequest
) -> PartsAdvice:
    size = domain_size(column).drawn if known is None else len(known)
    if size is None:
        return PartsAdvice(column.name, *breach, None, True, None, None, problem="the size of its domain is not known")
    plain = Retention("privacy", *breach).probability(size)
    plain_error = _error(wishes.rows, plain, wishes)
    told = (column.name, *breach, size, known is None, plain, plain_error)
    if size > MOST_VALUES:
        return PartsAdvice(*told, problem=f"more than {MOST_VALUES:,} values are parted only when they are published")
    counted = np.full(size, max(wishes.rows // size, 1)) if known is None else np.asarray(known)
    try:
        parts = partition(counted.tolist(), *breach)
    except PolicyError as error:
        return PartsAdvice(*told, problem=str(error).removesuffix("."))
    total = sum(part.rows for part in parts)
    rows = [part.rows * wishes.rows / total for part in parts]
    spread = math.fsum((n * _error(n, part.retention, wishes)) ** 2 for n, part in zip(rows, parts, strict=True))
    listed = tuple((len(part.values), part.rows, part.retention) for part in parts)
    return PartsAdvice(*told, listed, math.sqrt(spread) / wishes.rows)


def _error(rows: float, retain: float, wishes: AdviceRequest) -> float:
    return float(count_error(rows, retain, wishes.selectivity, wishes.selectivity))
