"""How noisy numbers are counted, for deconvolution."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ppdm_sql.reconstruct.deconvolution import Bins, chances


@dataclass(frozen=True)
class NoisyCounting:
    """The intervals in which noisy numbers are counted, and the bins that originals are counted in.

    `name` is that of the column, `deviation` that of its noise, `cell` has the axis's cell of each bin.
    """

    origin: float
    width: float
    intervals: int
    bins: Bins
    name: str
    deviation: float
    cell: npt.NDArray[np.int64] = field(compare=False)

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The chance that a number of each bin is seen in each interval."""
        seen = self.origin + self.width * np.arange(1, self.intervals, dtype=np.float64)
        return chances(self.bins.edges, seen, self.deviation)
