"""Lowest discoverable support: the smallest that lies four standard errors from zero once it is reconstructed."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ppdm_sql.itemsets.operator import Operator

SEPARATION = 4.0


def lowest_discoverable(operator: Operator, items: int, baskets: float) -> float:
    """The lowest discoverable support of itemsets of k items among baskets of one size; infinite where there is none.

    Its items are taken to come together or not at all: baskets that hold a part of it change little.

    >>> from ppdm_sql.itemsets.choosing import best_operator
    >>> round(100 * lowest_discoverable(best_operator(5, 19.0), 3, 5e6), 2)
    0.5
    """
    return lowest_discoverable_of_sizes({operator.size: (operator, baskets)}, items)


def lowest_discoverable_of_sizes(sizes: Mapping[int, tuple[Operator, float]], items: int) -> float:
    """The same for baskets of several sizes, each with its operator and number of baskets.

    Baskets with fewer items than the itemset cannot hold it, and add nothing to its error.
    """
    total = sum(count for _, count in sizes.values())
    able = sum(count for operator, count in sizes.values() if operator.size >= items)
    if able == 0:
        return math.inf
    absent = present = 0.0
    for operator, count in sizes.values():
        if operator.size < items:
            continue
        if operator.contrast(items) == 0:
            return math.inf
        squares = operator.weights(items) ** 2
        transition = operator.transition(items)
        absent += count / total * float(transition[0] @ squares)
        present += count / able * (float(transition[items] @ squares) - 1)
    # s = 4 sqrt((absent (1 - s) + present s) / N), solved for s.
    scale = SEPARATION**2 / total
    half = scale * (present - absent) / 2
    found = half + math.sqrt(half * half + scale * absent)
    return found if found <= able / total else math.inf
