"""Whether every row has an identity of its own: two rows that share one would share their coins.

Exact for any number of rows in bounded memory. Batches of whole numbers that follow one another need no memory at all;
others go to a file that has no name and vanishes with the process, encrypted with a key that exists only here.
"""

from __future__ import annotations

import math
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt
from ppdm_udfs.draws import draw

from ppdm_sql.errors import SourceError, TargetError

Blocks: TypeAlias = npt.NDArray[np.uint64]

ROWS_AT_ONCE = 1 << 21
"""Rows whose identities are sorted at once: 32 MB."""
_BLOCK = 16


@dataclass(frozen=True)
class Segment:
    """A batch's identities: consecutive numbers from `first` on, or `count` blocks at `offset` of the file."""

    start: int
    count: int
    first: int | None = None
    offset: int = 0


class Identities:
    """The identities of a stream of rows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._key = secrets.token_bytes(32)
        self._file: BinaryIO | None = None
        self._segments: list[Segment] = []
        self._ranges: list[tuple[int, int]] | None = []  # None once a batch is not in ascending order
        self._rows = 0
        self._stored = 0

    def add(self, blocks: Blocks) -> None:
        """Take a batch into account."""
        if not len(blocks):
            return
        ascending = _range_if_ascending(blocks)
        if ascending is None:
            self._ranges = None
        elif self._ranges is not None:
            self._ranges.append(ascending)
        if ascending is not None and ascending[1] - ascending[0] == len(blocks) - 1:
            self._segments.append(Segment(self._rows, len(blocks), first=ascending[0]))
        else:
            self._segments.append(Segment(self._rows, len(blocks), offset=self._stored))
            self._store(draw(self._key, blocks))
        self._rows += len(blocks)

    def check(self, where: str) -> None:
        """SourceError where two rows share an identity; it names a row, never a value."""
        if self._ranges is not None and _disjoint(self._ranges):
            return
        duplicates, example = 0, None
        for blocks in self._partitions():
            count, block = _duplicates(blocks)
            duplicates += count
            example = block if example is None else example
        if example is not None:
            raise SourceError(
                f"{where}: {duplicates:,} rows repeat the identity of an earlier row, such as row "
                f"{self._second_row(example):,}. Rows that share one identity would share their coins, and one would "
                "give the other away: add columns to identity until it is unique, or remove the repeated rows."
            )

    def close(self) -> None:
        """Forget everything."""
        if self._file is not None:
            _close(self._file)

    def _store(self, blocks: Blocks) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._directory)  # noqa: SIM115 - lives as long as the stream
        self._file.seek(self._stored)
        _write(self._file, blocks)
        self._stored += blocks.nbytes

    def _stored_blocks(self) -> Iterator[tuple[int, Blocks]]:
        """Encrypted identities in row order, each piece with the number of its first row."""
        for segment in self._segments:
            if segment.first is None:
                assert self._file is not None
                yield segment.start, _read(self._file, segment.offset, segment.count)
            else:
                plain = np.zeros((segment.count, 2), dtype=np.uint64)
                plain[:, 0] = np.arange(segment.first, segment.first + segment.count, dtype=np.uint64)
                yield segment.start, draw(self._key, plain)

    def _partitions(self) -> Iterator[Blocks]:
        """All identities in parts that fit in memory; equal ones are in the same part."""
        bits = max(0, math.ceil(math.log2(max(1, self._rows / ROWS_AT_ONCE))))
        if bits == 0:
            yield np.concatenate([blocks for _, blocks in self._stored_blocks()])
            return
        with _temporary_file(self._directory) as file:
            offsets = []
            for _, blocks in self._stored_blocks():
                part = (blocks[:, 0] >> np.uint64(64 - bits)).astype(np.uint16)  # encrypted, so parts are equally large
                begin = file.tell()
                _write(file, blocks[np.argsort(part, kind="stable")])
                counts = np.bincount(part, minlength=1 << bits)
                offsets.append((begin + _BLOCK * (np.cumsum(counts) - counts), counts))
            for part_number in range(1 << bits):
                yield np.concatenate(
                    [_read(file, int(starts[part_number]), int(counts[part_number])) for starts, counts in offsets]
                )

    def _second_row(self, block: Blocks) -> int:
        """Number, from 1, of the second row with this encrypted identity."""
        seen = 0
        for start, blocks in self._stored_blocks():
            rows = np.flatnonzero((blocks == block).all(axis=1))
            if seen + len(rows) >= 2:
                return int(start + rows[1 - seen] + 1)
            seen += len(rows)
        raise AssertionError("the identity was found twice")


def _range_if_ascending(blocks: Blocks) -> tuple[int, int] | None:
    """First and last number where the blocks are non-negative numbers in strictly ascending order."""
    numbers = blocks[:, 0]
    if blocks[0, 1] or blocks[:, 1].any() or not bool((numbers[1:] > numbers[:-1]).all()):
        return None
    return int(numbers[0]), int(numbers[-1])


def _disjoint(ranges: list[tuple[int, int]]) -> bool:
    ordered = sorted(ranges)
    return all(before[1] < after[0] for before, after in pairwise(ordered))


def _duplicates(blocks: Blocks) -> tuple[int, Blocks | None]:
    """How many blocks repeat another one, and one of those."""
    words = np.sort(blocks[:, 0])
    repeated = np.unique(words[1:][words[1:] == words[:-1]])
    if not len(repeated):
        return 0, None
    suspects = blocks[np.isin(blocks[:, 0], repeated)]
    distinct, counts = np.unique(suspects, axis=0, return_counts=True)
    several = np.flatnonzero(counts > 1)
    return len(suspects) - len(distinct), distinct[several[0]] if len(several) else None


def _write(file: BinaryIO, blocks: Blocks) -> None:
    try:
        file.write(np.ascontiguousarray(blocks).data)
        file.flush()
    except OSError as error:
        raise TargetError(
            f"identities cannot be kept beside the target ({error.strerror}): they need 16 bytes a row there, twice "
            "that while they are compared. Make room."
        ) from None


@contextmanager
def _temporary_file(directory: Path) -> Iterator[BinaryIO]:
    file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - closed below
    try:
        yield file
    finally:
        _close(file)


def _close(file: BinaryIO) -> None:
    """Without a word on what a full disk did not take: that was said when it was written."""
    with suppress(OSError):
        file.close()


def _read(file: BinaryIO, offset: int, count: int) -> Blocks:
    file.seek(offset)
    return np.frombuffer(file.read(count * _BLOCK), dtype=np.uint64).reshape(count, 2)
