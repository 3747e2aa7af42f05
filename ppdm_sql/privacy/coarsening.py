"""A coarser domain in a publisher's words: a step, or how many groups of values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import count
from math import ceil
from typing import Any

from ppdm_sql.domain.domain import Range, Values
from ppdm_sql.domain.step import describe_microseconds, microseconds

_TIMES = (
    *(timedelta(seconds=n) for n in (1, 5, 15, 30)),
    *(timedelta(minutes=n) for n in (1, 5, 15, 30)),
    *(timedelta(hours=n) for n in (1, 2, 3, 6, 12)),
    *(timedelta(days=n) for n in (1, 7, 14, 28)),
)


def coarser_domain(domain: Range | Values, points: int) -> str | None:
    """How a domain could be declared with at most `points` values; None where two values are already too many.

    >>> coarser_domain(Range(17, 90), 12)
    'step = 10, max = 97 (9 values)'
    >>> coarser_domain(Range(date(1950, 1, 1), date(2009, 12, 31)), 100)
    'step = "500 days", max = 2010-03-27 (45 values)'
    >>> coarser_domain(Values(("a", "b", "c")), 2)
    'groups of its 3 values, at most 2 of them'
    """
    if points < 2:
        return None
    if isinstance(domain, Values):
        return f"groups of its {domain.size:,} values, at most {points:,} of them"
    low: Any = domain.low
    span: Any = domain.high - low
    for step in _steps(domain):
        steps = ceil(span / step)
        if steps + 1 <= points:
            return f"step = {_written(step)}{_end(low, steps * step)} ({steps + 1:,} values)"
    raise AssertionError("steps grow without end")


def _steps(domain: Range) -> Iterator[Any]:
    """Steps that a person would choose, each at least the declared one and a multiple of it."""
    if isinstance(domain.low, datetime):
        least = domain.step if isinstance(domain.step, timedelta) else timedelta(microseconds=1)
        usual = [step for step in _TIMES if step >= least and not step % least]
        yield from usual
        yield from (n * (usual[-1] if usual else least) for n in _round_numbers())
        return
    if isinstance(domain.low, date):
        days = domain.step.days if isinstance(domain.step, timedelta) else domain.step or 1
        yield from (timedelta(days=int(days) * n) for n in _round_numbers())
        return
    # A domain without a step is one of whole numbers, or of a DECIMAL's own digits.
    one = domain.step if isinstance(domain.step, int | Decimal) else 1
    yield from (one * n for n in _round_numbers())


def _end(low: Any, span: Any) -> str:
    try:
        high = low + span
    except OverflowError:  # beyond the last day there is
        return ""
    return f", max = {high.isoformat() if isinstance(high, date) else _written(high)}"


def _round_numbers() -> Iterator[int]:
    for power in count():
        yield from (n * 10**power for n in (1, 2, 5))


def _written(value: Any) -> str:
    if isinstance(value, timedelta):
        return f'"{describe_microseconds(microseconds(value))}"'
    if isinstance(value, Decimal):
        return str(int(value)) if value == int(value) else f"{value.normalize():f}"
    return str(value)
