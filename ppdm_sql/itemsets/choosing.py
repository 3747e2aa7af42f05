"""Choose an operator for a required gamma: as much is kept as the condition allows, and small supports can be found.

For every rho the best p[j] has one jump (the paper's Statement 2): b[j] is 1 up to j* and gamma above, up to a common
factor. What is left are rho and j*. They are chosen such that the largest of the variances that decide whether an
itemset of 1, 2 or 3 items can be told from an absent one is as small as can be. Neither the data nor the number of
baskets takes part, so that a table that grows keeps its operators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ppdm_sql.itemsets.operator import Array, Operator, default_probabilities, kept_products

MINED_ITEMS = 3
"""The choice looks at itemsets of up to this many items."""

RHOS = tuple(mantissa / 10.0**place for place in range(7, 2, -1) for mantissa in range(10, 100)) + tuple(
    i / 100 for i in range(10, 100)
)
"""The values that are tried: two digits are within a hundredth of the best, and no rounding can move the choice."""

_TIES = 9  # digits to which two choices are compared: what is below comes from how a library adds


def extremal(size: int, gamma: float, rho: float, jump: int) -> Operator:
    """The operator with gamma * b[0] = .. = gamma * b[jump] = b[jump + 1] = .. = b[m].

    >>> extremal(5, 19.0, 0.5, 4).amplification
    19.0
    """
    balanced = np.where(np.arange(size + 1) > jump, gamma, 1.0)
    keep = balanced * default_probabilities(size, np.array([rho]))[0]
    return Operator(rho, tuple((keep / keep.sum()).tolist()))


@lru_cache(maxsize=4096)
def best_operator(size: int, gamma: float, rhos: tuple[float, ...] = RHOS) -> Operator:
    """The operator for baskets of one size whose amplification is `gamma`; `rhos` are the values to choose among.

    A basket without items has nothing to hide, as its size is public: nothing is added to it.
    """
    if size == 0:
        return Operator(0.0, (1.0,))
    tried = np.array(rhos)
    worst = np.max(np.stack(list(_variances(size, gamma, tried))), axis=0)
    # Among equals the first: the smallest rho, which adds least, and then the smallest jump.
    place, jump = np.unravel_index(int(np.argmin(_rounded(worst))), worst.shape)
    return extremal(size, gamma, float(tried[place]), int(jump))


def _variances(size: int, gamma: float, rhos: Array) -> Sequence[Array]:
    """For itemsets of 1, 2 and 3 items, a basket's variance where it holds none of them; shape (rhos, jumps)."""
    default = default_probabilities(size, rhos)
    above = _from_the_end(default)
    scale = 1 + (gamma - 1) * above
    result = []
    for items in range(1, min(MINED_ITEMS, size) + 1):
        contrast = (gamma - 1) * _from_the_end(default * kept_products(size, items, rhos)) / scale
        with np.errstate(divide="ignore", over="ignore"):
            result.append((rhos * (1 - rhos))[:, None] ** items / contrast**2)
    return result


def _from_the_end(values: Array) -> Array:
    """Sums over j > jump, for jump = 0 .. m - 1."""
    result: Array = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return result


def _rounded(values: Array) -> Array:
    digits = np.floor(np.log10(values, where=np.isfinite(values) & (values > 0), out=np.zeros_like(values)))
    factor = 10.0 ** (_TIES - digits)
    result: Array = np.where(np.isfinite(values), np.round(values * factor) / factor, np.inf)
    return result
