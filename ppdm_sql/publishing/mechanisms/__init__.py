"""How each mechanism publishes, one module each; this table is all that publishing asks."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ppdm_sql.policy import PerturbedColumn
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.mechanisms import custom, gaussian, identity, select_a_size, small_domain, swap, uniform
from ppdm_sql.publishing.perturber import Perturber, Publishing

PUBLISHING: dict[str, Publishing] = {
    "uniform": uniform.PUBLISHING,
    "custom": custom.PUBLISHING,
    "identity": identity.PUBLISHING,
    "swap": swap.PUBLISHING,
    "gaussian": gaussian.PUBLISHING,
    "small_domain": small_domain.PUBLISHING,
    "select_a_size": select_a_size.PUBLISHING,
}


def perturbers_of(columns: Sequence[Column], kinds: Sequence[pa.DataType]) -> list[Perturber]:
    """What perturbs the columns of a release; PolicyError where one does not fit its type, before any row is read."""
    found: list[Perturber] = []
    for name, publishing in PUBLISHING.items():
        mine = [i for i, c in enumerate(columns) if c.perturbed is not None and c.perturbed.mechanism == name]
        if mine:
            found += publishing.perturbers(columns, kinds, mine)
    return found


def added_columns(columns: Sequence[PerturbedColumn]) -> list[Column]:
    """The public columns that mechanisms add to a release."""
    return [
        column
        for name, publishing in PUBLISHING.items()
        if (mine := [c for c in columns if c.mechanism == name])
        for column in publishing.added(mine)
    ]
