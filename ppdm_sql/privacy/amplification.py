"""Amplification: gamma and its logarithm epsilon, of one column and of a row.

Columns are perturbed independently of each other, so the largest ratio for a whole row is the product of the columns'
largest ratios, and is attained: epsilons add up. In the language of local differential privacy a channel with
amplification gamma is ln(gamma)-private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ppdm_sql.privacy.channel import Amplifying


def epsilon(channel: Amplifying) -> float:
    """The natural logarithm of gamma.

    >>> from ppdm_sql.privacy.channel import UniformChannel
    >>> round(epsilon(UniformChannel(0.3, 74)), 3)
    3.488
    """
    return math.log(channel.gamma)


def epsilon_of_row(channels: Iterable[Amplifying]) -> float:
    """The epsilon of a row whose columns are perturbed independently: the sum. An exact column makes it infinite.

    >>> from ppdm_sql.privacy.channel import UniformChannel
    >>> round(epsilon_of_row([UniformChannel(0.3, 74), UniformChannel(0.5, 2)]), 3)
    4.586
    """
    return math.fsum(epsilon(channel) for channel in channels)


def gamma_of_row(channels: Iterable[Amplifying]) -> float:
    """The gamma of a row: the product; infinite where it is beyond what a double holds.

    >>> from ppdm_sql.privacy.channel import MatrixChannel
    >>> bit = MatrixChannel([[0.75, 0.25], [0.25, 0.75]])
    >>> gamma_of_row([bit, bit])
    9.0
    """
    return math.prod(channel.gamma for channel in channels)
