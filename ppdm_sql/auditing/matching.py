"""Which row of a release is which row of the original.

Where releases keep the order of their source, or have that of an identity that is released, rows are taken side by
side, and the exact columns must agree in every row. Where they do not, the identity joins them, or an exact column that
names rows (unique, never NULL). Of rows in keyed order nobody without the key knows which is which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ppdm_sql.auditing.tables import ROWS_A_BATCH, Copy, Original, in_memory
from ppdm_sql.domain.types import parse_type
from ppdm_sql.errors import SourceError
from ppdm_sql.policy import ReleasedColumn
from ppdm_sql.publishing.safe_read import guarded
from ppdm_sql.syntax.quoting import quote_name

Batches = Iterator[tuple[pa.RecordBatch, ...]]
"""A batch of the original and one of each copy, row by row the same."""
MARK = "ppdm_exact"


@dataclass(frozen=True)
class Matching:
    """How rows are matched: by position where `key` is empty. `checked` are the exact columns that must agree."""

    checked: tuple[ReleasedColumn, ...]
    key: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """For a reader."""
        if self.key:
            return f"by {', '.join(self.key)}"
        if not self.checked:
            return "by position (no exact column could be compared)"
        return "by position; the exact columns agree in every row"


@dataclass(frozen=True)
class Wanted:
    """An expression of the original, and one of each copy, to be read side by side."""

    theirs: str
    ours: tuple[str, ...]

    @staticmethod
    def of(original: Original, copies: Sequence[Copy], column: ReleasedColumn, present: Sequence[int]) -> Wanted:
        """A column as a release types it; NULL where a copy has no such column that matters."""
        name = quote_name(column.name)
        return Wanted(_cast(original, column), tuple(name if c in present else "NULL" for c in range(len(copies))))


def match(original: Original, copies: Sequence[Copy]) -> Matching:
    """By position if the exact columns allow it, else by a column that names rows; SourceError where neither does."""
    shared = [
        column
        for column in copies[0].manifest.columns
        if column.perturbed is None
        and column.type.family != "other"
        and column.name.casefold() in original.names
        and all(_exact(copy, column) for copy in copies[1:])
    ]
    by_position = Matching(tuple(shared))
    names = {column.name for column in shared}
    identity = copies[0].manifest.identity
    identified = bool(identity) and names.issuperset(identity)
    reason: str | None = "these are in an order that only the key tells"
    if identified or all(copy.manifest.order is None for copy in copies):
        reason = _difference(original, copies, by_position)
    if reason is None:
        return by_position
    if identified:
        return Matching(tuple(shared), identity)
    for column in shared:
        if _names_rows(copies[0], column.name):
            return Matching(tuple(shared), (column.name,))
    raise SourceError(
        f"{original.where}: its rows cannot be matched with those of {copies[0].path!r}: {reason}, and no exact column "
        'names rows. Take the table that was published, and a copy made with order = "source", which you keep.'
    )


def rows_of(original: Original, copies: Sequence[Copy], matching: Matching, wanted: Sequence[Wanted]) -> Batches:
    """What is wanted of matched rows, of the original and of every copy, as c0, c1, .."""
    theirs = _named([each.theirs for each in wanted])
    ours = [_named([each.ours[c] for each in wanted]) for c in range(len(copies))]
    if matching.key:
        return _joined(original, copies, matching.key, theirs, ours, len(wanted))
    return _side_by_side(original, copies, theirs, ours)


def _named(expressions: Sequence[str]) -> str:
    return ", ".join(f"{expression} AS c{i}" for i, expression in enumerate(expressions))


def _side_by_side(original: Original, copies: Sequence[Copy], theirs: str, ours: Sequence[str]) -> Batches:
    """A select list of the original, and one of every copy."""
    readers = [copy.read(select) for copy, select in zip(copies, ours, strict=True)]
    return _aligned(original, [original.read(theirs), *readers])


def _aligned(original: Original, readers: Sequence[pa.RecordBatchReader]) -> Batches:
    """Cut the readers' batches to common lengths."""
    held: list[pa.RecordBatch | None] = [None] * len(readers)
    while True:
        held = [_further(original, reader, batch) for reader, batch in zip(readers, held, strict=True)]
        here = [batch for batch in held if batch is not None]
        if not here:
            return
        if len(here) < len(readers):
            raise _Uneven
        rows = min(batch.num_rows for batch in here)
        yield tuple(batch.slice(0, rows) for batch in here)
        held = [batch.slice(rows) for batch in here]


def _further(original: Original, reader: pa.RecordBatchReader, batch: pa.RecordBatch | None) -> pa.RecordBatch | None:
    """What is left of a batch, or the next one that has rows; None at the end."""
    while batch is None or not batch.num_rows:
        batch = guarded(original.where, lambda: next(reader, None))
        if batch is None:
            return None
    return batch


class _Uneven(Exception):
    """One reader has more rows than another."""


def _difference(original: Original, copies: Sequence[Copy], matching: Matching) -> str | None:
    """Why rows cannot be matched by position; None if they can."""
    counts = {copy.manifest.rows for copy in copies} | ({original.rows} if original.rows is not None else set())
    if len(counts) > 1:
        return "they have different numbers of rows"
    theirs = [_cast(original, column) for column in matching.checked]
    ours = [quote_name(column.name) for column in matching.checked]
    differing = 0
    try:
        for batches in _side_by_side(original, copies, _mark(theirs), [_mark(ours)] * len(copies)):
            marks = [batch.column(0).to_numpy(zero_copy_only=False) for batch in batches]
            differing += int(np.any([mark != marks[0] for mark in marks[1:]], axis=0).sum())
    except _Uneven:
        return "they have different numbers of rows"
    return f"their exact columns differ in {differing:,} rows" if differing else None


def _mark(expressions: Sequence[str]) -> str:
    """One number that stands for the values of all exact columns."""
    return f"hash({', '.join(expressions) or '0'}) AS {MARK}"


def _cast(original: Original, column: ReleasedColumn) -> str:
    return f"CAST({quote_name(original.name(column.name))} AS {column.type.name})"


def _joined(
    original: Original, copies: Sequence[Copy], key: Sequence[str], theirs: str, ours: Sequence[str], width: int
) -> Batches:
    keyed = [next(c for c in copies[0].manifest.columns if c.name == name) for name in key]
    with in_memory() as con:
        con.register("t0", original.read(f"{theirs}, row({', '.join(_cast(original, c) for c in keyed)}) AS k"))
        for i, (copy, select) in enumerate(zip(copies, ours, strict=True), 1):
            con.register(f"t{i}", copy.read(f"{select}, row({', '.join(map(quote_name, key))}) AS k"))
        wanted = ", ".join(f"t{t}.c{i}" for t in range(len(copies) + 1) for i in range(width))
        joins = " ".join(f"JOIN t{i} ON t{i}.k = t0.k" for i in range(1, len(copies) + 1))
        reader = guarded(
            original.where, lambda: con.sql(f"SELECT {wanted} FROM t0 {joins}").to_arrow_reader(ROWS_A_BATCH)
        )
        names = [f"c{i}" for i in range(width)]
        for batch in reader:
            parts = [batch.columns[t * width : (t + 1) * width] for t in range(len(copies) + 1)]
            yield tuple(pa.RecordBatch.from_arrays(part, names=names) for part in parts)


def _exact(copy: Copy, column: ReleasedColumn) -> bool:
    """Whether a copy has the column as it is, too, and of the same type."""
    for each in copy.manifest.columns:
        if each.name.casefold() == column.name.casefold():
            return each.perturbed is None and parse_type(each.type.name) == column.type
    return False


def _names_rows(copy: Copy, name: str) -> bool:
    column = quote_name(name)
    counted = copy.cursor.sql(f"SELECT count(DISTINCT {column}) = count(*) FROM {copy.table}").fetchall()
    return bool(counted[0][0])
