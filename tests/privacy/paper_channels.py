"""The randomizations of Example 1 of Evfimievski, Gehrke and Srikant (2003), on the numbers 0 to 1000."""

from __future__ import annotations

import numpy as np

from ppdm_sql.privacy import MatrixChannel

SIZE = 1001
PRIOR = np.full(SIZE, 0.00099)
PRIOR[0] = 0.01
IS_ZERO = np.arange(SIZE) == 0
OUTSIDE = (np.arange(SIZE) < 200) | (np.arange(SIZE) > 800)


def others() -> MatrixChannel:
    """R1: kept with 20 %, else one of the other numbers."""
    matrix = np.full((SIZE, SIZE), 0.8 / (SIZE - 1))
    np.fill_diagonal(matrix, 0.2)
    return MatrixChannel(matrix)


def noise() -> MatrixChannel:
    """R2: a whole number from -100 to 100 is added, around the clock."""
    distance = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    near = np.minimum(distance, SIZE - distance) <= 100
    return MatrixChannel(near / 201)


def mixed() -> MatrixChannel:
    """R3: R2 half of the time, else any number."""
    return MatrixChannel(noise().matrix() / 2 + 0.5 / SIZE)
