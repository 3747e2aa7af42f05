"""delta-growth: by how much a posterior can exceed its prior, whatever the property and the prior.

The upward curve of `breaches` lies highest above the diagonal at the prior 1/(1 + sqrt(gamma)).
"""

from __future__ import annotations

import math


def largest_growth(gamma: float) -> float:
    """The most by which a probability can rise, and by which one can fall; attained.

    >>> largest_growth(9)
    0.5
    """
    if not gamma >= 1:
        raise ValueError("gamma is at least 1")
    root = math.sqrt(gamma)
    return 1.0 if math.isinf(root) else (root - 1) / (root + 1)


def prior_that_grows_most(gamma: float) -> float:
    """The prior at which the largest growth happens; it falls most from one minus this.

    >>> prior_that_grows_most(9)
    0.25
    """
    if not gamma >= 1:
        raise ValueError("gamma is at least 1")
    return 1 / (1 + math.sqrt(gamma))


def gamma_for_growth(delta: float) -> float:
    """The amplification below which every growth stays below delta.

    >>> round(gamma_for_growth(0.5), 9)
    9.0
    """
    if not 0 < delta < 1:
        raise ValueError("delta lies in (0, 1)")
    return ((1 + delta) / (1 - delta)) ** 2
