"""Adopt copies that were released before, without our key: they become levels, and new ones fit in between.

A copy is read once and kept in memory by the identities of its rows: 24 bytes a row, and 8 for each perturbed column.
What is drawn between two copies, or above or below all of them, follows from the key and the copies alone, so that
later levels need no record of earlier ones (`ppdm_udfs.bridge`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from ppdm_udfs import Gap, KernelError, KeyedRows, RowError, bridge, decode, encode, position_blocks, row_blocks
from ppdm_udfs.coins import digest

from ppdm_sql.engines.quoting import quote_name
from ppdm_sql.errors import PolicyError, SourceError
from ppdm_sql.policy import Policy
from ppdm_sql.publishing.layout import Layout, naming
from ppdm_sql.publishing.mechanisms.uniform import UniformColumn
from ppdm_sql.publishing.perturber import Perturber, Rows, SingleColumn
from ppdm_sql.publishing.reading import batches_of, guarded
from ppdm_sql.publishing.sources import Source, open_source

Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Copy:
    """A copy of one column: the identities of its rows in order, and their values by number."""

    where: str
    retain: float
    rows: Words
    index: Words

    @property
    def digest(self) -> str:
        """Tells copies apart."""
        return hashlib.sha256(self.rows.tobytes() + self.index.tobytes()).hexdigest()

    def find(self, blocks: Words) -> npt.NDArray[np.int64]:
        """The places of rows in the copy, -1 where it has none of that identity."""
        if not len(self.rows):
            return np.full(len(blocks), -1)
        low = self.rows[:, 0]
        places = np.minimum(np.searchsorted(low, blocks[:, 0]), len(low) - 1)
        return np.where((self.rows[places] == blocks).all(axis=1), places, -1)


class AdoptingColumn(SingleColumn):
    """A column of which copies are out already."""

    def __init__(self, plain: UniformColumn, copies: Sequence[Copy]) -> None:
        super().__init__(plain.columns[0], plain.name)
        self._plain = plain
        self.copies = sorted(copies, key=lambda copy: -copy.retain)

    def values(self, array: pa.Array | pa.ChunkedArray, rows: Rows) -> pa.Array:
        """Rows that are in the copies are drawn between them, new ones as ever."""
        kernel = self._plain.kernel
        original = encode(array, kernel.domain, kernel.nulls, kernel.outside)
        places = [copy.find(rows.blocks) for copy in self.copies]
        known = places[0] >= 0
        for copy, found in zip(self.copies, places, strict=True):
            odd = (found >= 0) != known
            if odd.any():
                raise SourceError(
                    f"{rows.where}: row {rows.before + int(odd.argmax()) + 1:,} is in some of the copies that are "
                    f"adopted and not in others ({copy.where}): adopt copies of the same rows."
                )
        result = encode(self._plain.values(array, rows), kernel.domain, kernel.nulls)
        if known.any():
            chosen = [copy.index[found[known]] for copy, found in zip(self.copies, places, strict=True)]
            result[known] = self._between(original[known], chosen, rows.keyed[known], rows)
        return decode(result, kernel.domain, array.type)

    def _between(self, original: Words, copies: Sequence[Words], known: KeyedRows, rows: Rows) -> Words:
        kernel = self._plain.kernel
        levels = [(1.0, original), *((copy.retain, index) for copy, index in zip(self.copies, copies, strict=True))]
        for retain, index in levels:
            if retain == kernel.retain:
                return index
        upper = min((level for level in levels if level[0] > kernel.retain), key=lambda level: level[0])
        lower = max((level for level in levels if level[0] < kernel.retain), key=lambda level: level[0], default=None)
        gap = Gap(upper[0], None if lower is None else lower[0])
        below = None if lower is None else lower[1]
        return bridge(
            upper[1],
            below,
            gap,
            kernel,
            key=rows.key,
            table=rows.table,
            column=self.name,
            rows=known,
            parameters=self._plain.parameters,
        )

    def coins(self) -> Mapping[int, str]:
        """Those of the column without copies, and the copies."""
        words = (word for copy in self.copies for word in (copy.retain.hex(), copy.digest))
        return {self.columns[0]: digest("adopted", self._plain.parameters, *words)}

    def perturb(self, arrays: Sequence[pa.Array], rows: Rows) -> list[pa.Array]:
        """The released array; the spacing of the original values is looked at as ever."""
        result = super().perturb(arrays, rows)
        self._plain.look_at_spacing(arrays[0])
        return result

    def check(self, where: str) -> None:
        """As without copies."""
        self._plain.check(where)

    def remedy(self) -> str:
        """As without copies."""
        return self._plain.remedy()


def adopted_pairs(adopt: Mapping[Any, float] | Iterable[tuple[Any, float]]) -> list[tuple[Any, float]]:
    """The copies and their retentions; PolicyError where one is no retention, or two are the same."""
    pairs = list(adopt.items() if isinstance(adopt, Mapping) else adopt)
    for name, retain in pairs:
        if isinstance(retain, bool) or not isinstance(retain, int | float) or not 0 < retain < 1:
            raise PolicyError(f"adopted copy {str(name)!r}: its retention is a number above 0 and below 1.")
    if len({retain for _, retain in pairs}) < len(pairs):
        raise PolicyError("two adopted copies have one retention: of coupled copies these would be one and the same.")
    return [(name, float(retain)) for name, retain in pairs]


def adopting(
    perturbers: Sequence[Perturber],
    pairs: Sequence[tuple[Any, float]],
    layout: Layout,
    policy: Policy,
    key: bytes,
) -> tuple[list[Perturber], dict[str, tuple[float, ...]]]:
    """The perturbers with the copies taken into account, and for each column the retentions of its copies."""
    if not pairs:
        return list(perturbers), {}
    copies: dict[int, list[Copy]] = {}
    for source, retain in pairs:
        for place, copy in _read(source, retain, perturbers, layout, policy, key).items():
            copies.setdefault(place, []).append(copy)
    result: list[Perturber] = []
    retentions = {}
    for perturber in perturbers:
        place = perturber.columns[0]
        if isinstance(perturber, UniformColumn) and place in copies:
            result.append(AdoptingColumn(perturber, copies[place]))
            retentions[perturber.name] = tuple(sorted((copy.retain for copy in copies[place]), reverse=True))
        else:
            result.append(perturber)
    return result, retentions


def _read(
    source: Any, retain: float, perturbers: Sequence[Perturber], layout: Layout, policy: Policy, key: bytes
) -> dict[int, Copy]:
    """The copies of the columns that a file has, by their places in the release."""
    with open_source(source, policy) as opened:
        where = f"adopted copy {str(source)!r}" if isinstance(source, str | Path) else f"adopted copy ({opened.where})"
        names = {name.casefold(): name for name in opened.names}
        mine = [p for p in perturbers if isinstance(p, UniformColumn) and p.name.casefold() in names]
        if not mine:
            raise SourceError(f"{where} has none of the columns that this policy perturbs by uniform or custom.")
        columns = [f"CAST({quote_name(names[p.name.casefold()])} AS {layout.columns[p.columns[0]].type})" for p in mine]
        query = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*columns, *_identity(where, opened, policy)]))
        reader = guarded(where, lambda: opened.relation.project(query).to_arrow_reader(layout.batch_rows))
        rows: list[Words] = [np.empty((0, 2), dtype=np.uint64)]
        found: list[list[Words]] = [[np.empty(0, dtype=np.uint64)] for _ in mine]
        before = 0
        for batch in batches_of(where, reader):
            identity = batch.columns[len(mine) :]
            count = batch.num_rows
            rows.append(_blocks(where, identity, key, policy.table) if identity else position_blocks(before, count))
            for i, perturber in enumerate(mine):
                found[i].append(_numbers(where, perturber, batch.column(i)))
            before += count
    blocks = np.concatenate(rows)
    order = np.argsort(blocks[:, 0], kind="stable")
    blocks = blocks[order]
    if len(blocks) > 1 and (blocks[1:, 0] == blocks[:-1, 0]).any():
        raise SourceError(f"{where}: two of its rows have one identity, so that they cannot be told apart.")
    indices = (np.concatenate(parts)[order] for parts in found)
    return {p.columns[0]: Copy(where, retain, blocks, index) for p, index in zip(mine, indices, strict=True)}


def _identity(where: str, opened: Source, policy: Policy) -> list[str]:
    names = {name.casefold(): name for name in opened.names}
    kinds = dict(zip(opened.names, opened.types, strict=True))
    for name in policy.naming:
        if name.casefold() not in names:
            raise SourceError(f"{where} has no column {name!r}, by which its rows would be known. Add it to the copy.")
    return [naming(names[name.casefold()], kinds[names[name.casefold()]]) for name in policy.identity]


def _blocks(where: str, identity: Sequence[pa.Array], key: bytes, table: str) -> Words:
    try:
        return row_blocks(identity, key, table)
    except (RowError, KernelError):
        pass
    raise SourceError(f"{where}: a row of it has no identity, for a column of it is NULL, or of another type.")


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
