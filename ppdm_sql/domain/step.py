"""Steps in time: `"1 hour"`, `"15 minutes"`, `"7 days"`."""

from __future__ import annotations

import re
from datetime import timedelta

from ppdm_sql.errors import PolicyError

UNITS = {
    "microsecond": timedelta(microseconds=1),
    "millisecond": timedelta(milliseconds=1),
    "second": timedelta(seconds=1),
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}


def parse_time_step(where: str, text: str) -> timedelta:
    """Read a step in time.

    >>> parse_time_step("x", "15 minutes")
    datetime.timedelta(seconds=900)
    """
    match = re.fullmatch(r"\s*(\d+)?\s*([a-zA-Z]+?)s?\s*", text)
    unit = UNITS.get(match.group(2).lower()) if match else None
    if match is None or unit is None:
        raise PolicyError(
            f"{where}: step {text!r} is not a length of time. Write a whole number and one of "
            f"{', '.join(UNITS)}, such as '1 hour' (months and years have no fixed length)."
        )
    count = int(match.group(1) or 1)
    if count == 0:
        raise PolicyError(f"{where}: step {text!r} must be longer than nothing.")
    return count * unit


def microseconds(span: timedelta) -> int:
    """Exact length in microseconds."""
    return (span.days * 86_400 + span.seconds) * 1_000_000 + span.microseconds


def describe_microseconds(length: int) -> str:
    """The length as a person would say it, in the largest unit that divides it.

    >>> describe_microseconds(7_200_000_000)
    '2 hours'
    """
    for name, unit in reversed(UNITS.items()):
        size = microseconds(unit)
        if length % size == 0:
            return f"{length // size} {name}{'' if length == size else 's'}"
    raise AssertionError("every length is a whole number of microseconds")
