"""The order of released rows, which must tell nothing: that of a source sorted by wage would tell every wage.

Rows are ordered by exact columns that are released anyway, and where these are not unique by a keyed hash of what names
a row. The writer of the release sorts; all that it gets for this is the hash. All copies of one table that one key
releases have the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import subkey
from ppdm_udfs.draws import draw

from ppdm_sql.errors import PolicyError
from ppdm_sql.policy import Policy
from ppdm_sql.policy.model import SOURCE, TRIAL
from ppdm_sql.publishing.column import Column
from ppdm_sql.publishing.names import nearest
from ppdm_sql.publishing.writer.ordering import HASH


@dataclass(frozen=True)
class RowOrder:
    """The places of the released columns that rows are ordered by, and whether the keyed hash comes after them.

    With neither, rows stay in the source's order, which may tell of what is perturbed in a `trial` only.
    """

    places: tuple[int, ...] = ()
    keyed: bool = False
    trial: bool = False

    @property
    def as_in_source(self) -> bool:
        """Whether nothing is ordered."""
        return not (self.places or self.keyed)

    def sent(self, schema: pa.Schema) -> pa.Schema:
        """The schema of what goes to the writer, from that of what is released."""
        return schema.append(pa.field(HASH, pa.uint64())) if self.keyed else schema

    @property
    def sent_names(self) -> list[str]:
        """What the columns to sort by are called on their way."""
        return [f"c{place}" for place in self.places] + ([HASH] if self.keyed else [])

    def names(self, columns: Sequence[Column]) -> tuple[str, ...] | None:
        """For the manifest: the columns, none for a keyed hash alone; None for the source's order."""
        return None if self.as_in_source else tuple(columns[place].name for place in self.places)


def order_of(policy: Policy, columns: Sequence[Column]) -> RowOrder:
    """As the policy says; else by the identity where all of it is released as it is, else keyed."""
    if policy.order in (SOURCE, TRIAL):
        return RowOrder(trial=policy.order == TRIAL)
    exact = {column.name.casefold(): i for i, column in enumerate(columns) if column.perturbed is None}
    identity = {exact.get(name.casefold()) for name in policy.identity}
    unique = bool(identity) and None not in identity
    if policy.order is None:
        return RowOrder(tuple(exact[name.casefold()] for name in policy.identity)) if unique else RowOrder(keyed=True)
    for name in policy.order:
        if name.casefold() not in exact:
            known = nearest(name, [columns[place].name for place in exact.values()])
            raise PolicyError(f"order names column {name!r}, which is not released. {known}")
    places = tuple(exact[name.casefold()] for name in policy.order)
    return RowOrder(places, not (unique and identity <= set(places)))


def hashes(blocks: npt.NDArray[np.uint64], key: bytes, table: str) -> pa.Array:
    """A keyed hash of what names each row."""
    return pa.array(np.ascontiguousarray(draw(subkey(key, "order", table.casefold()), blocks)[:, 0]))
