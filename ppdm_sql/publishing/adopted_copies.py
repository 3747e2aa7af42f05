"""Copies that were released before, read once and kept in memory by the identities of their rows.

That is 16 bytes a row, and 8 for each adopted column.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import KernelError, RowError, encode, position_blocks, row_blocks
from ppdm_udfs.gaussian import numbers_of

from ppdm_sql.errors import SourceError
from ppdm_sql.mechanisms.gaussian.column import NoisyColumn
from ppdm_sql.mechanisms.retained.publish_uniform import UniformColumn
from ppdm_sql.policy import Policy
from ppdm_sql.publishing.layout import Layout, naming
from ppdm_sql.publishing.perturber import Rows
from ppdm_sql.publishing.safe_read import batches_of, guarded
from ppdm_sql.publishing.sources import Source
from ppdm_sql.syntax.quoting import quote_name

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
Read: TypeAlias = UniformColumn | NoisyColumn
"""What tells how a column of a copy is read: its kernel, or its step."""

FEW = 10
"""One row in so many must be known by its identity, of the copy's or of the source's, whichever has fewer."""


@dataclass(frozen=True)
class Copy:
    """A copy of one column, or of several that belong together: its rows in the order of their identities.

    `level` is the retention, or the noise; `columns` has the values by number, or noisy numbers with NaN for NULL.
    """

    where: str
    level: float
    rows: Words
    columns: tuple[npt.NDArray[Any], ...]

    @property
    def digest(self) -> str:
        """Tells copies apart."""
        return hashlib.sha256(self.rows.tobytes() + b"".join(column.tobytes() for column in self.columns)).hexdigest()

    def find(self, blocks: Words) -> Places:
        """The places of rows in the copy, -1 where it has none of that identity."""
        if not len(self.rows):
            return np.full(len(blocks), -1)
        low = self.rows[:, 0]
        places = np.minimum(np.searchsorted(low, blocks[:, 0]), len(low) - 1)
        return np.where((self.rows[places] == blocks).all(axis=1), places, -1)


class Matching:
    """Which rows of the source the copies have, and how many did so far."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self.copies = copies
        self._rows = self._known = 0

    def find(self, rows: Rows) -> tuple[npt.NDArray[np.bool_], list[Places]]:
        """Which rows are in the copies, and where in each; SourceError where one is in some of them only."""
        places = [copy.find(rows.blocks) for copy in self.copies]
        known = places[0] >= 0
        for copy, found in zip(self.copies, places, strict=True):
            odd = (found >= 0) != known
            if odd.any():
                raise SourceError(
                    f"{rows.where}: row {rows.before + int(odd.argmax()) + 1:,} is in some of the copies that are "
                    f"adopted and not in others ({copy.where}): adopt copies of the same rows."
                )
        self._rows += len(known)
        self._known += int(np.count_nonzero(known))
        return known, [found[known] for found in places]

    def check(self) -> None:
        """Refuse copies of which hardly a row is one of the source's."""
        for copy in self.copies:
            count = len(copy.rows)
            if self._known * FEW < min(count, self._rows):
                raise SourceError(
                    f"{copy.where}: {self._known:,} of its {count:,} rows have an identity that is found among the "
                    f"{self._rows:,} rows of the source. Its rows are known by something else, or it is no copy of "
                    "this table: give it the identity that the source has, written alike. Rows that are no longer in "
                    "the source may stay in it, as long as one in ten is."
                )


def read_copy(
    where: str,
    opened: Source,
    places: Sequence[int],
    how: Mapping[int, Read],
    layout: Layout,
    policy: Policy,
    key: bytes,
) -> tuple[Words, dict[int, npt.NDArray[Any]]]:
    """The identities of a copy's rows, in order, and the values of columns by their places."""
    names = {name.casefold(): name for name in opened.names}
    mine = [(place, names[layout.columns[place].name.casefold()]) for place in places]
    columns = [f"CAST({quote_name(name)} AS {layout.columns[place].type})" for place, name in mine]
    query = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*columns, *_identity(where, opened, policy)]))
    reader = guarded(where, lambda: opened.relation.project(query).to_arrow_reader(layout.batch_rows))
    rows: list[Words] = [np.empty((0, 2), dtype=np.uint64)]
    found: dict[int, list[npt.NDArray[Any]]] = {place: [] for place in places}
    before = 0
    for batch in batches_of(where, reader):
        identity = batch.columns[len(mine) :]
        count = batch.num_rows
        rows.append(_blocks(where, identity, key, policy.table) if identity else position_blocks(before, count))
        for i, (place, _) in enumerate(mine):
            found[place].append(_values(where, how[place], batch.column(i)))
        before += count
    if not before:
        raise SourceError(f"{where} has no rows: there is nothing to be coupled with.")
    blocks = np.concatenate(rows)
    order = np.argsort(blocks[:, 0], kind="stable")
    blocks = blocks[order]
    if len(blocks) > 1 and (blocks[1:, 0] == blocks[:-1, 0]).any():
        raise SourceError(f"{where}: two of its rows have one identity, so that they cannot be told apart.")
    return blocks, {place: np.concatenate(parts)[order] for place, parts in found.items()}


def named(source: Any, opened: Source) -> str:
    """What a copy is called in messages."""
    return f"adopted copy {str(source)!r}" if isinstance(source, str | Path) else f"adopted copy ({opened.where})"


def _identity(where: str, opened: Source, policy: Policy) -> list[str]:
    names = {name.casefold(): name for name in opened.names}
    kinds = dict(zip(opened.names, opened.types, strict=True))
    for name in policy.naming:
        if name.casefold() not in names:
            raise SourceError(f"{where} has no column {name!r}, by which its rows would be known. Add it to the copy.")
    return [naming(names[name.casefold()], kinds[names[name.casefold()]]) for name in policy.naming]


def _blocks(where: str, identity: Sequence[pa.Array], key: bytes, table: str) -> Words:
    try:
        return row_blocks(identity, key, table)
    except (RowError, KernelError):
        pass
    raise SourceError(f"{where}: a row of it has no identity, for a column of it is NULL, or of another type.")


def _values(where: str, how: Read, array: pa.Array) -> npt.NDArray[Any]:
    return _noisy(where, how, array) if isinstance(how, NoisyColumn) else _numbers(where, how, array)


def _numbers(where: str, perturber: UniformColumn, array: pa.Array) -> Words:
    kernel = perturber.kernel
    try:
        return encode(array, kernel.domain, kernel.nulls)
    except RowError:
        pass
    raise SourceError(
        f"{where}: column {perturber.name!r} has values outside its declared domain, or NULL where there is none: it "
        "is no copy under this policy."
    )


def _noisy(where: str, column: NoisyColumn, array: pa.Array) -> npt.NDArray[np.float64]:
    """Multiples of the step, to the last bit; NaN for NULL."""
    values, nulls = numbers_of(array)
    if nulls is not None and column.nulls == "error":
        raise SourceError(f'{where}: column {column.name!r} is NULL, where nulls = "error" of its policy allows none.')
    units, scale = column.units
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(values / (units / 10**scale))
        whole = np.abs(steps) <= (1 << 53) // units
        exact = np.where(whole, steps, 0.0).astype(np.int64) * units / 10.0**scale
        near = np.abs(values - exact) <= 1e-6 * units / 10**scale + 4 * np.spacing(np.abs(exact))
    if not (whole & near).all():
        raise SourceError(
            f"{where}: column {column.name!r} has numbers that are no multiples of its step, {column.step}: it is no "
            "copy under this policy. Say the step that the copy was rounded to; a copy that was never rounded cannot "
            "be adopted."
        )
    return exact if nulls is None else np.where(nulls, np.nan, exact)
