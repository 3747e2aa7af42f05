"""One perturbed column of a query, cut into cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Shares are quotients of counts of grid points: their sum is 1 up to a few roundings, never up to 1e-9.
_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Axis:
    """One column of a query: its cells, the share of the replacing distribution in each, and what stays put.

    Parameters
    ----------
    retain : float
        The probability p, in (0, 1], that a value is kept; 1 for an exact column.
    shares : tuple of float, length m
        R of each cell. They sum to 1 over the cells that are replaced. With ``retain`` = 1 nothing is ever
        replaced and the sum is not looked at.
    fixed : tuple of int
        Cells that never change and that no other cell becomes (the NULL cell of a column with
        ``nulls = "keep"``). Their share is 0.

    Raises
    ------
    ValueError
        If a rule above is broken; the message says which.

    Notes
    -----
    A share of 0 without ``fixed`` is something else: such a cell is left when its value is replaced, and is
    never entered.
    """

    retain: float
    shares: tuple[float, ...]
    fixed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 < self.retain <= 1:
            raise ValueError(f"retain must lie in (0, 1], not {self.retain}")
        if not self.shares:
            raise ValueError("an axis needs at least one cell: shares is empty")
        for cell, share in enumerate(self.shares):
            if not (math.isfinite(share) and share >= 0):
                raise ValueError(f"the share of cell {cell} must be a number of at least 0, not {share}")
        if len(set(self.fixed)) != len(self.fixed):
            raise ValueError(f"fixed names a cell twice: {self.fixed}")
        for cell in self.fixed:
            if not 0 <= cell < self.cells:
                raise ValueError(f"fixed names cell {cell}, but the cells are 0 to {self.cells - 1}")
            if self.shares[cell] != 0:
                raise ValueError(f"cell {cell} is fixed, so its share must be 0, not {self.shares[cell]}")
        replaced = self.retain < 1 and len(self.fixed) < self.cells
        total = math.fsum(self.shares)
        if replaced and abs(total - 1) > _SUM_TOLERANCE:
            raise ValueError(f"the shares of the cells that are replaced must sum to 1, not {total}")

    @property
    def cells(self) -> int:
        """The number of cells, m."""
        return len(self.shares)

    def transition(self) -> NDArray[np.float64]:
        """Give the dense matrix of the channel between cells; for tests and tiny problems.

        Returns
        -------
        ndarray, shape (m, m)
            ``A[i, j]`` is the probability that a value of original cell i is observed in cell j.
        """
        matrix = self.retain * np.eye(self.cells) + (1 - self.retain) * np.asarray(self.shares)
        for cell in self.fixed:
            matrix[cell] = 0.0
            matrix[cell, cell] = 1.0
        return matrix if self.retain < 1 else np.eye(self.cells)
