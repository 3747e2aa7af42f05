"""Numbers as people read them."""

from __future__ import annotations

import math


def count(number: float) -> str:
    """A whole number with separators.

    >>> count(1234567.4)
    '1,234,567'
    """
    return f"{round(number):,}"


def amount(number: float) -> str:
    """A number to what matters of it.

    >>> [amount(x) for x in (0, 0.00012345, 3.14159, 1234.5, 1.5e7, 1.5e12)]
    ['0', '0.000123', '3.14', '1,234', '15,000,000', '1.5e+12']
    """
    if number == 0 or not math.isfinite(number):
        return "0" if number == 0 else "infinite"
    if abs(number) >= 1e10 or abs(number) < 1e-6:
        return f"{number:.3g}"
    if abs(number) >= 1000:
        return f"{number:,.0f}"
    return (
        f"{number:.{max(2 - math.floor(math.log10(abs(number))), 0)}f}".rstrip("0").rstrip(".")
        if number % 1
        else f"{number:.0f}"
    )


def plural(number: int, one: str, many: str | None = None) -> str:
    """A count and its noun.

    >>> plural(1, "row"), plural(3, "row"), plural(2, "query", "queries")
    ('1 row', '3 rows', '2 queries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: list[str]) -> str:
    """Names in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "none"


def chance(share: float) -> str:
    """A probability in percent, or as one in so many where that is easier to grasp.

    >>> chance(0.00946), chance(4.67e-7)
    ('0.946 %', 'one chance in 2,141,328')
    """
    return f"one chance in {count(1 / share)}" if 0 < share < 1e-5 else f"{100 * share:.3g} %"
